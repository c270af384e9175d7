import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAddressHolders } from './address-holders.ts';
import type { NodeView } from './node-view.ts';

const internal = (address: string) => ({ type: 'InternalIP', address });
const external = (address: string) => ({ type: 'ExternalIP', address });
const shows = (name: string, ...addresses: { type: string; address: string }[]) =>
  ({ type: 'added', key: name, object: { name, addresses } as unknown as NodeView }) as const;
const everyone = () => true;

describe('holders of addresses', () => {
  it('refuse an address that another living Node shows, whatever its type and spelling', () => {
    const holders = createAddressHolders();
    holders.observe(shows('a', internal('2001:db8::1'), external('192.0.2.1')));
    const refusal = { address: '2001:db8::1', holder: 'a' };
    assert.deepEqual(holders.take('b', [external('2001:DB8:0::1')], everyone), refusal);
    assert.equal(holders.take('b', [internal('192.0.2.1')], everyone)?.holder, 'a');
    assert.equal(holders.take('b', [internal('192.0.2.2')], everyone), undefined);
  });

  it('refuse an address that is being written on another Node', () => {
    const holders = createAddressHolders();
    assert.equal(holders.take('a', [internal('10.0.0.1')], everyone), undefined);
    holders.observe(shows('a', { type: 'Hostname', address: 'a' }));
    assert.equal(holders.take('b', [internal('10.0.0.1')], everyone)?.holder, 'a');
  });

  it('take nothing of a list of which one address is refused', () => {
    const holders = createAddressHolders();
    holders.observe(shows('a', internal('10.0.0.1')));
    assert.ok(holders.take('b', [internal('10.0.0.2'), internal('10.0.0.1')], everyone));
    assert.equal(holders.take('c', [internal('10.0.0.2')], everyone), undefined);
  });

  it('give an address to a Node whose former holder fell silent or is gone', () => {
    const holders = createAddressHolders();
    holders.observe(shows('a', internal('10.0.0.1')));
    assert.equal(
      holders.take('b', [internal('10.0.0.1')], (name) => name !== 'a'),
      undefined,
    );
    holders.release('b');
    holders.observe({ type: 'deleted', key: 'a', old: {} as NodeView });
    assert.equal(holders.take('c', [internal('10.0.0.1')], everyone), undefined);
  });

  it('let a Node keep its own addresses and move to others', () => {
    const holders = createAddressHolders();
    holders.observe(shows('a', internal('10.0.0.1')));
    assert.equal(holders.take('a', [internal('10.0.0.1'), internal('10.0.0.2')], everyone), undefined);
    holders.observe(shows('a', internal('10.0.0.2')));
    assert.equal(holders.take('b', [internal('10.0.0.1')], everyone), undefined);
  });

  it('ignore host names', () => {
    const holders = createAddressHolders();
    holders.observe(shows('a', { type: 'InternalDNS', address: 'same.example' }));
    assert.equal(holders.take('b', [{ type: 'InternalDNS', address: 'same.example' }], everyone), undefined);
  });
});
