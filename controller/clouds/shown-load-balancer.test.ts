import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ingressOf, unionOfMembers } from './shown-load-balancer.ts';

describe('what a Service shows of its load balancer', () => {
  it('shows the hostname in place of addresses, once there is an address', () => {
    const addresses = ['192.0.2.1', undefined];
    assert.deepEqual(ingressOf(addresses, { hostname: undefined, isProxy: true }), [
      { ip: '192.0.2.1', ipMode: 'Proxy' },
    ]);
    assert.deepEqual(ingressOf(addresses, { hostname: 'web.example', isProxy: false }), [{ hostname: 'web.example' }]);
    assert.deepEqual(ingressOf([undefined], { hostname: 'web.example', isProxy: false }), []);
  });
});

describe('the members of several sets', () => {
  it('lists each member once, and as draining only where no set has it otherwise', () => {
    const member = (name: string, draining: boolean) => ({ providerID: name, draining, healthy: undefined });
    const sets = [
      [member('a', true), member('b', false)],
      [member('a', false), member('b', true), member('c', true)],
    ];
    assert.deepEqual(unionOfMembers(sets), [member('a', false), member('b', false), member('c', true)]);
  });
});
