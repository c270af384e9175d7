import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeView } from '../model/node-view.ts';
import { exampleNode, uninitializedTaint } from '../model/testing/example-node.ts';
import { createAddressHolders } from './address-holders.ts';

const internal = (address: string) => ({ type: 'InternalIP', address });
const external = (address: string) => ({ type: 'ExternalIP', address });
const created = Date.parse('2026-01-01T00:00:00Z');
/** This Node, created so many seconds after the first. */
const aged = (name: string, seconds = 0) => ({ name, createdAtMs: created + seconds * 1000 });
const shows = (name: string, ...addresses: { type: string; address: string }[]) => showsWith({ name }, ...addresses);
const showsWith = (changes: Partial<NodeView>, ...addresses: { type: string; address: string }[]) => {
  const object = exampleNode({ createdAtMs: created, ...changes, addresses });
  return { type: 'added', key: object.name, object } as const;
};
const everyone = () => true;

describe('holders of addresses', () => {
  it('refuses an address that another live Node has, in any type and spelling', () => {
    const holders = createAddressHolders();
    holders.observe(shows('a', internal('2001:db8::1'), external('192.0.2.1')));
    const refusal = { address: '2001:db8::1', holder: 'a' };
    assert.deepEqual(holders.take(aged('b'), [external('2001:DB8:0::1')], everyone), refusal);
    assert.equal(holders.take(aged('b'), [internal('192.0.2.1')], everyone)?.holder, 'a');
    assert.equal(holders.take(aged('b'), [internal('192.0.2.2')], everyone), undefined);
  });

  it('refuses an address that is being written to another Node', () => {
    const holders = createAddressHolders();
    assert.equal(holders.take(aged('a'), [internal('10.0.0.1')], everyone), undefined);
    holders.observe(shows('a', { type: 'Hostname', address: 'a' }));
    assert.equal(holders.take(aged('b'), [internal('10.0.0.1')], everyone)?.holder, 'a');
  });

  it('claims no address of a list with one refused address', () => {
    const holders = createAddressHolders();
    holders.observe(shows('a', internal('10.0.0.1')));
    assert.ok(holders.take(aged('b'), [internal('10.0.0.2'), internal('10.0.0.1')], everyone));
    assert.equal(holders.take(aged('c'), [internal('10.0.0.2')], everyone), undefined);
  });

  it('gives an address to another Node when its holder is silent or deleted', () => {
    const holders = createAddressHolders();
    holders.observe(shows('a', internal('10.0.0.1')));
    assert.equal(
      holders.take(aged('b'), [internal('10.0.0.1')], (name) => name !== 'a'),
      undefined,
    );
    holders.release('b');
    holders.observe({ type: 'deleted', key: 'a', old: {} as NodeView });
    assert.equal(holders.take(aged('c'), [internal('10.0.0.1')], everyone), undefined);
  });

  it('lets a Node keep its own addresses and change to others', () => {
    const holders = createAddressHolders();
    holders.observe(shows('a', internal('10.0.0.1')));
    assert.equal(holders.take(aged('a'), [internal('10.0.0.1'), internal('10.0.0.2')], everyone), undefined);
    holders.observe(shows('a', internal('10.0.0.2')));
    assert.equal(holders.take(aged('b'), [internal('10.0.0.1')], everyone), undefined);
  });

  it('ignores host names', () => {
    const holders = createAddressHolders();
    holders.observe(shows('a', { type: 'InternalDNS', address: 'same.example' }));
    assert.equal(holders.take(aged('b'), [{ type: 'InternalDNS', address: 'same.example' }], everyone), undefined);
  });

  describe('of which two living Nodes show one address', () => {
    const shared = internal('10.0.0.1');
    const victim = aged('victim');
    const rogue = aged('aaa', 60);
    const waits = { taints: [uninitializedTaint] };

    it('lets the initialised Node keep an address that a later Node shows, initialised or not', () => {
      for (const changes of [waits, {}]) {
        const holders = createAddressHolders();
        holders.observe(showsWith(victim, shared));
        holders.observe(showsWith({ ...rogue, ...changes }, shared));
        assert.equal(holders.take(victim, [shared], everyone), undefined);
        assert.deepEqual(holders.take(rogue, [shared], everyone), { address: '10.0.0.1', holder: 'victim' });
        assert.equal(holders.take(victim, [shared], everyone), undefined);
      }
    });

    it('lets the older Node keep an address when both are observed for the first time, in any order', () => {
      for (const changes of [waits, {}]) {
        const holders = createAddressHolders();
        holders.observe(showsWith({ ...rogue, ...changes }, shared));
        holders.observe(showsWith({ ...victim, ...changes }, shared));
        assert.equal(holders.take(rogue, [shared], everyone)?.holder, 'victim');
        assert.equal(holders.take(victim, [shared], everyone), undefined);
        assert.equal(holders.take(rogue, [shared], everyone)?.holder, 'victim');
      }
    });

    it('lets the initialised Node keep an address that an older Node shows later', () => {
      const older = aged('older', -60);
      for (const changes of [waits, {}]) {
        const holders = createAddressHolders();
        holders.observe(showsWith({ ...older, ...changes }, internal('10.0.0.9')));
        holders.observe(showsWith(victim, shared));
        const { object } = showsWith({ ...older, ...changes }, internal('10.0.0.9'), shared);
        holders.observe({ type: 'updated', key: 'older', old: object, object });
        assert.equal(holders.take(victim, [shared], everyone), undefined);
        assert.equal(holders.take(older, [shared], everyone)?.holder, 'victim');
      }
    });

    it('lets the Node keep an address that it claimed, before the cache shows it', () => {
      const holders = createAddressHolders();
      assert.equal(holders.take(victim, [shared], everyone), undefined);
      holders.observe(showsWith({ ...victim, ...waits }, shared));
      holders.observe(showsWith(aged('older', -60), shared));
      assert.equal(holders.take(aged('older', -60), [shared], everyone)?.holder, 'victim');
      assert.equal(holders.take(victim, [shared], everyone), undefined);
    });

    it('returns an address to its first holder when that Node is alive again', () => {
      const holders = createAddressHolders();
      holders.observe(showsWith(victim, shared));
      assert.equal(
        holders.take(rogue, [shared], (name) => name !== 'victim'),
        undefined,
      );
      assert.equal(holders.take(victim, [shared], everyone), undefined);
      assert.equal(holders.take(rogue, [shared], everyone)?.holder, 'victim');
    });
  });
});
