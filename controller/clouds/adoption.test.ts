import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { classicName, ingressOf, shownAddresses, unionOfMembers } from './adoption.ts';

describe('what a Service shows of its load balancer', () => {
  it('has one spelling for each address', () => {
    const shown = shownAddresses({ addresses: ['2001:DB8:0::1', '192.0.2.1'] });
    assert.deepEqual(['2001:db8::1', '192.0.2.1', '192.0.2.2', undefined].map(shown.has), [true, true, false, false]);
    assert.equal(shown.isNamed, false);
  });

  it('is named where it has hostnames alone, and not where it has nothing', () => {
    assert.equal(shownAddresses({ addresses: ['web.example'] }).isNamed, true);
    assert.equal(shownAddresses({ addresses: ['web.example', '192.0.2.1'] }).isNamed, false);
    assert.equal(shownAddresses({ addresses: [] }).isNamed, false);
  });

  it('is the hostname in place of addresses, once there is an address', () => {
    const addresses = ['192.0.2.1', undefined];
    assert.deepEqual(ingressOf(addresses, { hostname: undefined, isProxy: true }), [
      { ip: '192.0.2.1', ipMode: 'Proxy' },
    ]);
    assert.deepEqual(ingressOf(addresses, { hostname: 'web.example', isProxy: false }), [{ hostname: 'web.example' }]);
    assert.deepEqual(ingressOf([undefined], { hostname: 'web.example', isProxy: false }), []);
  });
});

describe('the members of several sets', () => {
  it('are each there once, and drain only where no set has them otherwise', () => {
    const member = (name: string, draining: boolean) => ({ providerID: name, draining, healthy: undefined });
    const sets = [
      [member('a', true), member('b', false)],
      [member('a', false), member('b', true), member('c', true)],
    ];
    assert.deepEqual(unionOfMembers(sets), [member('a', false), member('b', false), member('c', true)]);
  });
});

describe('the name that Kubernetes gives by default', () => {
  it('has the UID without dashes, cut', () => {
    assert.equal(classicName('0b7ee19a-52f1-4b4e-9ac1-3de0d4f51c8d'), 'a0b7ee19a52f14b4e9ac13de0d4f51c8');
  });
});
