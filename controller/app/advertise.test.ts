import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultRouteAddress, reportUrl } from './advertise.ts';

const header = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT';
const route = (name: string, destination: string, metric: number, mask: string) =>
  `${name}\t${destination}\t0101A8C0\t0003\t0\t0\t${metric}\t${mask}\t0\t0\t0`;
const ip = (address: string, family = 'IPv4', internal = false) => ({ address, family, internal });

test('advertises the address of the default route with the lowest metric', () => {
  const routes = [
    header,
    route('cni0', '0000F40A', 0, '00FFFFFF'),
    route('eth1', '00000000', 200, '00000000'),
    route('eth0', '00000000', 100, '00000000'),
  ].join('\n');
  const interfaces = {
    lo: [ip('127.0.0.1', 'IPv4', true)],
    cni0: [ip('10.244.0.1')],
    eth1: [ip('10.0.1.5')],
    eth0: [ip('10.0.0.5')],
  };
  assert.equal(defaultRouteAddress({ routes, interfaces }), '10.0.0.5');
});

test('takes the first outward address without a default route, IPv4 before IPv6, never a link-local one', () => {
  const interfaces = {
    lo: [ip('127.0.0.1', 'IPv4', true)],
    eth0: [ip('fe80::1', 'IPv6'), ip('2001:db8::5', 'IPv6')],
    eth1: [ip('10.0.0.7')],
  };
  assert.equal(defaultRouteAddress({ routes: header, interfaces }), '10.0.0.7');
  assert.equal(defaultRouteAddress({ routes: '', interfaces: { eth0: interfaces.eth0 } }), '2001:db8::5');
  assert.equal(defaultRouteAddress({ routes: '', interfaces: { lo: interfaces.lo } }), '127.0.0.1');
});

test('puts IPv6 addresses in brackets', () => {
  assert.equal(reportUrl('2001:db8::5', 10270), 'https://[2001:db8::5]:10270');
  assert.equal(reportUrl('10.0.0.5', 10270), 'https://10.0.0.5:10270');
});
