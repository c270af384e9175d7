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
  it('refuse an address that another living Node shows, whatever its type and spelling', () => {
    const holders = createAddressHolders();
    holders.observe(shows('a', internal('2001:db8::1'), external('192.0.2.1')));
    const refusal = { address: '2001:db8::1', holder: 'a' };
    assert.deepEqual(holders.take(aged('b'), [external('2001:DB8:0::1')], everyone), refusal);
    assert.equal(holders.take(aged('b'), [internal('192.0.2.1')], everyone)?.holder, 'a');
    assert.equal(holders.take(aged('b'), [internal('192.0.2.2')], everyone), undefined);
  });

  it('refuse an address that is being written on another Node', () => {
    const holders = createAddressHolders();
    assert.equal(holders.take(aged('a'), [internal('10.0.0.1')], everyone), undefined);
    holders.observe(shows('a', { type: 'Hostname', address: 'a' }));
    assert.equal(holders.take(aged('b'), [internal('10.0.0.1')], everyone)?.holder, 'a');
  });

  it('take nothing of a list of which one address is refused', () => {
    const holders = createAddressHolders();
    holders.observe(shows('a', internal('10.0.0.1')));
    assert.ok(holders.take(aged('b'), [internal('10.0.0.2'), internal('10.0.0.1')], everyone));
    assert.equal(holders.take(aged('c'), [internal('10.0.0.2')], everyone), undefined);
  });

  it('give an address to a Node whose former holder fell silent or is gone', () => {
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

  it('let a Node keep its own addresses and move to others', () => {
    const holders = createAddressHolders();
    holders.observe(shows('a', internal('10.0.0.1')));
    assert.equal(holders.take(aged('a'), [internal('10.0.0.1'), internal('10.0.0.2')], everyone), undefined);
    holders.observe(shows('a', internal('10.0.0.2')));
    assert.equal(holders.take(aged('b'), [internal('10.0.0.1')], everyone), undefined);
  });

  it('ignore host names', () => {
    const holders = createAddressHolders();
    holders.observe(shows('a', { type: 'InternalDNS', address: 'same.example' }));
    assert.equal(holders.take(aged('b'), [{ type: 'InternalDNS', address: 'same.example' }], everyone), undefined);
  });

  describe('of which two living Nodes show one address', () => {
    const shared = internal('10.0.0.1');
    const victim = aged('victim');
    const rogue = aged('aaa', 60);
    const waits = { taints: [uninitializedTaint] };

    it('let the initialised Node keep it when a later one shows it, initialised or not', () => {
      for (const changes of [waits, {}]) {
        const holders = createAddressHolders();
        holders.observe(showsWith(victim, shared));
        holders.observe(showsWith({ ...rogue, ...changes }, shared));
        assert.equal(holders.take(victim, [shared], everyone), undefined);
        assert.deepEqual(holders.take(rogue, [shared], everyone), { address: '10.0.0.1', holder: 'victim' });
        assert.equal(holders.take(victim, [shared], everyone), undefined);
      }
    });

    it('let the older one keep it when both are seen for the first time, in any order', () => {
      for (const changes of [waits, {}]) {
        const holders = createAddressHolders();
        holders.observe(showsWith({ ...rogue, ...changes }, shared));
        holders.observe(showsWith({ ...victim, ...changes }, shared));
        assert.equal(holders.take(rogue, [shared], everyone)?.holder, 'victim');
        assert.equal(holders.take(victim, [shared], everyone), undefined);
        assert.equal(holders.take(rogue, [shared], everyone)?.holder, 'victim');
      }
    });

    it('let the initialised one keep it when an older Node shows it later', () => {
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

    it('let the Node keep it that was given it, though an older one asks before the cache shows that', () => {
      const holders = createAddressHolders();
      assert.equal(holders.take(victim, [shared], everyone), undefined);
      holders.observe(showsWith({ ...victim, ...waits }, shared));
      holders.observe(showsWith(aged('older', -60), shared));
      assert.equal(holders.take(aged('older', -60), [shared], everyone)?.holder, 'victim');
      assert.equal(holders.take(victim, [shared], everyone), undefined);
    });

    it('give it back to the first when it speaks again after a silence', () => {
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
