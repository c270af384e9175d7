import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { classicName, shownAddresses } from './adoption.ts';

describe('what the status of a Service shows', () => {
  it('compares addresses in one spelling', () => {
    const shown = shownAddresses({ addresses: ['2001:DB8:0::1', '192.0.2.1'] });
    assert.deepEqual(['2001:db8::1', '192.0.2.1', '192.0.2.2', undefined].map(shown.has), [true, true, false, false]);
    assert.equal(shown.isNamed, false);
  });

  it('counts a status as named where it shows hostnames alone', () => {
    assert.equal(shownAddresses({ addresses: ['web.example'] }).isNamed, true);
    assert.equal(shownAddresses({ addresses: ['web.example', '192.0.2.1'] }).isNamed, false);
    assert.equal(shownAddresses({ addresses: [] }).isNamed, false);
  });
});

describe('the name that Kubernetes gives by default', () => {
  it('builds the default name from the UID without dashes, cut', () => {
    assert.equal(classicName('0b7ee19a-52f1-4b4e-9ac1-3de0d4f51c8d'), 'a0b7ee19a52f14b4e9ac13de0d4f51c8');
  });
});
