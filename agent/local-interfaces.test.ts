import assert from 'node:assert/strict';
import type { NetworkInterfaceInfo } from 'node:os';
import { test } from 'node:test';
import { readLocalInterfaces } from './local-interfaces.ts';

function entry(address: string, mac = '0A:00:00:00:00:01', internal = false): NetworkInterfaceInfo {
  const base = { address, mac, internal, netmask: '', cidr: null };
  return address.includes(':') ? { ...base, family: 'IPv6', scopeid: 0 } : { ...base, family: 'IPv4' };
}

test("keeps the machine's own interfaces and drops those of pods", () => {
  const found = readLocalInterfaces(() => ({
    lo: [entry('127.0.0.1', '00:00:00:00:00:00', true)],
    eth0: [entry('10.0.0.7'), entry('fe80::1%eth0')],
    ens6: [entry('10.0.1.7', '0a:00:00:00:00:02')],
    enp1s0: [entry('10.0.2.7', '0a:00:00:00:00:03')],
    veth12ab: [entry('fe80::2')],
    cali0123: [entry('fe80::3')],
    eni0a1b2c3d4: [entry('fe80::4')],
    cilium_host: [entry('10.244.0.1')],
    cni0: [entry('10.244.0.1')],
    'antrea-gw0': [entry('10.244.0.1')],
    'ovn-k8s-mp0': [entry('10.244.0.2')],
    docker0: [entry('172.17.0.1')],
    'br-0a1b2c3d4e5f': [entry('172.18.0.1')],
    'wireguard.cali': [entry('10.244.0.3')],
    'br-ex': [entry('10.0.3.7', '0a:00:00:00:00:04')],
    wg0: [entry('10.0.4.7', '0a:00:00:00:00:05')],
    dummy: [],
  }));
  assert.deepEqual(found, [
    { name: 'eth0', mac: '0a:00:00:00:00:01', addresses: ['10.0.0.7', 'fe80::1'] },
    { name: 'ens6', mac: '0a:00:00:00:00:02', addresses: ['10.0.1.7'] },
    { name: 'enp1s0', mac: '0a:00:00:00:00:03', addresses: ['10.0.2.7'] },
    { name: 'br-ex', mac: '0a:00:00:00:00:04', addresses: ['10.0.3.7'] },
    { name: 'wg0', mac: '0a:00:00:00:00:05', addresses: ['10.0.4.7'] },
  ]);
});

test("keeps the machine's own interfaces on Windows, behind a virtual switch too, and drops those of pods", () => {
  const found = readLocalInterfaces(() => ({
    'Loopback Pseudo-Interface 1': [entry('127.0.0.1', '00:00:00:00:00:00', true)],
    'vEthernet (Ethernet 2)': [entry('10.0.0.7'), entry('fe80::1%5')],
    Ethernet: [entry('10.0.1.7', '0A:00:00:00:00:02')],
    'vEthernet (nat)': [entry('172.20.0.1')],
    'vEthernet (HNS Internal NIC)': [entry('172.21.0.1')],
    'vEthernet (cbr0_ep)': [entry('10.244.0.2')],
  }));
  assert.deepEqual(found, [
    { name: 'vEthernet (Ethernet 2)', mac: '0a:00:00:00:00:01', addresses: ['10.0.0.7', 'fe80::1'] },
    { name: 'Ethernet', mac: '0a:00:00:00:00:02', addresses: ['10.0.1.7'] },
  ]);
});
