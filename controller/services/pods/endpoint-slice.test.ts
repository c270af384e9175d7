import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endpointsIn, viewEndpointSlice } from './endpoint-slice.ts';

const metadata = { name: 'web-1', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'web' } };
const pod = { kind: 'Pod', namespace: 'shop', uid: 'u' };
const at = (address: string, conditions?: object, targetRef: object = pod) => ({
  addresses: [address],
  conditions,
  targetRef,
});
const addressesOf = (slice: object) =>
  endpointsIn(viewEndpointSlice({ metadata, ...slice })).map(({ address }) => address);

describe('an EndpointSlice', () => {
  it('lists endpoints that are ready or say nothing about it, and none that terminate', () => {
    const endpoints = [
      at('10.0.0.1', { ready: true }),
      at('10.0.0.2', { ready: false, serving: true, terminating: true }),
      at('10.0.0.3'),
      at('10.0.0.4', { ready: null }),
      at('10.0.0.5', { ready: false }),
      // Of a Service with publishNotReadyAddresses.
      at('10.0.0.6', { ready: true, terminating: true }),
    ];
    assert.deepEqual(addressesOf({ addressType: 'IPv4', endpoints }), ['10.0.0.1', '10.0.0.3', '10.0.0.4']);
  });

  it('lists no endpoint that is no pod of its namespace', () => {
    const other = at('10.0.0.2', undefined, { ...pod, namespace: 'bank' });
    const node = at('10.0.0.3', undefined, { kind: 'Node', uid: 'u' });
    const endpoints = [at('10.0.0.1'), other, node, { addresses: ['10.0.0.4'] }];
    assert.deepEqual(addressesOf({ addressType: 'IPv4', endpoints }), ['10.0.0.1']);
  });

  it('lists no endpoints of other address types, and accepts a slice without endpoints, ports or Service', () => {
    assert.deepEqual(addressesOf({ addressType: 'IPv6', endpoints: [at('2001:db8::1')] }), []);
    assert.deepEqual(addressesOf({ addressType: 'FQDN', endpoints: [at('a.example')] }), []);
    assert.deepEqual(addressesOf({ addressType: 'IPv4', endpoints: null, ports: null }), []);
    const foreign = viewEndpointSlice({ metadata: { name: 'x', namespace: 'shop' }, addressType: 'IPv4' });
    assert.equal(foreign.service, undefined);
  });

  it('lists its ports by name and protocol, where they have a number', () => {
    const ports = [
      { name: '', port: 8080 },
      { name: 'dns', protocol: 'UDP', port: 53 },
      { name: 'any', port: null },
    ];
    const view = viewEndpointSlice({ metadata, addressType: 'IPv4', ports });
    assert.deepEqual(
      [...view.ports],
      [
        [' TCP', 8080],
        ['dns UDP', 53],
      ],
    );
    assert.deepEqual([view.key, view.service], ['shop/web-1', 'shop/web']);
  });
});
