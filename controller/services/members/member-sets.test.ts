import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { conditions, labels } from '../../../common/well-known.ts';
import type { NodeView } from '../../model/node-view.ts';
import { uninitializedTaint } from '../../model/testing/example-node.ts';
import { excluded, held, marked, memberHarness, memberSetsOf, named, scope } from './testing/member-harness.ts';
import { idOf, memberNode } from './testing/node-list.ts';

describe('the shared member sets', () => {
  it('decides nothing from a cache that is not synced', () => {
    const { nodes, lead } = memberHarness([memberNode('a')]);
    nodes.synced = false;
    assert.throws(() => lead(), /not synced/);
  });

  it('answers nothing before its start, nor for a scope that is not ours', () => {
    const { nodes, clock } = memberHarness([]);
    const sets = memberSetsOf(nodes, clock);
    const request = {
      service: 'x',
      trafficPolicy: 'Cluster',
      observed: [],
      maxMembers: undefined,
      drains: true,
    } as const;
    assert.equal(sets.membersFor({ ...request, scope }), undefined);
    sets.start();
    assert.deepEqual(sets.membersFor({ ...request, scope })?.members, []);
    assert.equal(sets.membersFor({ ...request, scope: 'other' }), undefined);
  });

  it('exists at once, publishes a first join at once, and gathers a hundred that follow it', async () => {
    const { clock, put, lead } = memberHarness([memberNode('a')]);
    const { changes, print } = lead();
    assert.equal(print(undefined), 'a');
    for (const name of named(100)) {
      put(name);
      await clock.advance(20);
    }
    assert.equal(changes.length, 1);
    await clock.advance(1000);
    assert.equal(changes.length, 2);
    assert.equal(print(undefined)?.split(' ').length, 101);
  });

  it('publishes the joins of one moment together', async () => {
    const { clock, put, lead } = memberHarness([memberNode('a')]);
    const { changes, print } = lead();
    for (const name of named(100)) put(name);
    await clock.advance(20);
    assert.equal(changes.length, 1);
    assert.equal(print(undefined)?.split(' ').length, 101);
    assert.equal(clock.pending, 0);
  });

  it('publishes a join at once although a change without effect came just before', async () => {
    const { clock, nodes, put, lead } = memberHarness([memberNode('a')]);
    const { changes } = lead();
    nodes.put(memberNode('new', { taints: [uninitializedTaint] }));
    await clock.advance(20);
    put('new');
    await clock.advance(20);
    assert.equal(changes.length, 1);
  });

  it('publishes every five seconds while Nodes keep joining', async () => {
    const { clock, put, lead } = memberHarness([]);
    const { changes } = lead();
    for (const name of named(16)) {
      put(name);
      await clock.advance(500);
    }
    assert.equal(changes.length, 2);
  });

  it('ignores changes that do not concern membership', async () => {
    const { clock, nodes, lead } = memberHarness([memberNode('a')]);
    const { changes } = lead();
    const notReady = { type: 'Ready', status: 'Unknown', reason: '', message: '' };
    nodes.put(memberNode('a', { conditions: [notReady], resourceVersion: '11' }));
    nodes.put(memberNode('new', { providerID: '', taints: [uninitializedTaint] }));
    await clock.advance(10_000);
    assert.deepEqual(changes, []);
    assert.equal(clock.pending, 0);
  });

  it('comes to the same hash after a restart with nothing changed', () => {
    const { lead } = memberHarness(named(50).map((name) => memberNode(name)));
    const before = lead().ask(held(named(50)));
    assert.equal(lead().ask(held(named(50)))?.hash, before?.hash);
  });

  it('answers Services with the same members with one list, also while some drain', () => {
    const { lead } = memberHarness([memberNode('a'), memberNode('b'), memberNode('l', excluded)]);
    const { ask } = lead();
    assert.equal(ask(held(['a']), 'one')?.members, ask(undefined, 'two')?.members);
    const observed = held(['a', 'b', 'l']);
    assert.equal(ask(observed, 'one')?.members.length, 3);
    assert.equal(ask(observed, 'one')?.members, ask(observed, 'two')?.members);
  });

  it('keeps a newer Node for a Service that is reconciled during a slow pass', async () => {
    const { clock, put, lead } = memberHarness([memberNode('a')]);
    const { print, sets } = lead();
    const told: (string | undefined)[] = [];
    sets.onChange(() => told.push(print(held(['a']), 'slow')));
    assert.equal(print(undefined, 'slow'), 'a');
    put('b');
    await clock.advance(1000);
    // Its first update is still in progress; each new plan uses the set of that moment.
    assert.equal(print(held(['a']), 'slow'), 'a b');
    assert.deepEqual(told, ['a b']);
    put('c');
    await clock.advance(1000);
    assert.equal(print(held(['a', 'b']), 'slow'), 'a b c');
  });

  it('changes with what makes a Node a member, as the node set of upstream does, and with nothing else', async () => {
    const { clock, nodes, lead } = memberHarness([memberNode('a'), memberNode('b')]);
    const { changes, print } = lead();
    const now = held(['a', 'b']);
    const step = async (change: () => void) => {
      change();
      await clock.advance(1000);
      return [changes.length, print(now)];
    };
    assert.deepEqual(await step(() => nodes.put(memberNode('b', { conditions: [] }))), [0, 'a b']);
    assert.deepEqual(await step(() => nodes.put(memberNode('b', excluded))), [1, 'a b~']);
    assert.deepEqual(await step(() => nodes.put(memberNode('b'))), [2, 'a b']);
    assert.deepEqual(await step(() => nodes.put(memberNode('b', marked))), [3, 'a b~']);
    assert.deepEqual(await step(() => nodes.put(memberNode('b', { deleting: true }))), [3, 'a b~']);
    assert.deepEqual(await step(() => nodes.remove('b')), [4, 'a b~']);
    assert.deepEqual(await step(() => nodes.put(memberNode('c'))), [5, 'a b~ c']);
  });

  describe('of an instance that two Nodes claim', () => {
    const first = Date.parse('2026-01-01T00:00:00Z');
    const refused = { type: conditions.cloudInitialized, status: 'False', reason: 'IdentityConflict', message: '' };
    const claims = (name: string, address: string, changes: Partial<NodeView> = {}) =>
      memberNode(name, { providerID: idOf('one'), addresses: [{ type: 'InternalIP', address }], ...changes });
    const victim = (changes: Partial<NodeView> = {}) =>
      claims('victim', '10.0.0.1', { createdAtMs: first, ...changes });
    const rogue = (changes: Partial<NodeView> = {}) =>
      claims('aaa', '10.0.0.66', { createdAtMs: first + 60_000, ...changes });

    it('keeps the older Node and its address when a new one registers with the same providerID', async () => {
      for (const eligibility of [{}, excluded, { taints: [uninitializedTaint] }]) {
        const { clock, nodes, lead } = memberHarness([victim()]);
        const { changes, ask } = lead();
        nodes.put(victim(eligibility));
        await clock.advance(1000);
        const before = [...changes];
        const members = () => ask(held(['one']))?.members.map(({ node, addresses }) => [node, ...addresses]);
        assert.deepEqual(members(), [['victim', '10.0.0.1']]);
        nodes.put(rogue());
        await clock.advance(1000);
        assert.deepEqual(members(), [['victim', '10.0.0.1']]);
        assert.deepEqual(changes, before);
      }
    });

    const chosen = (...nodes: readonly NodeView[]) => {
      const both = [nodes, nodes.toReversed()].map(
        (order) =>
          memberHarness(order)
            .lead()
            .ask(held(['one']))?.members,
      );
      assert.deepEqual(both[0], both[1], 'whichever is observed first');
      return both[0]?.map(({ node }) => node);
    };

    it('keeps the proved Node of two, however old the other is', () => {
      const proved = victim({ createdAtMs: first + 120_000, labels: { [labels.attested]: 'signed' } });
      assert.deepEqual(chosen(proved, rogue()), ['victim']);
    });

    it('takes no Node whose identity was refused at its initialisation while there is another', () => {
      const waits = rogue({ createdAtMs: first - 1000, taints: [uninitializedTaint], conditions: [refused] });
      assert.deepEqual(chosen(victim(), waits), ['victim']);
    });

    it('keeps an older initialised Node although its identity is disputed', () => {
      assert.deepEqual(chosen(victim({ conditions: [refused] }), rogue()), ['victim']);
    });

    it('takes the first Node by name of two that were created in one second', () => {
      assert.deepEqual(chosen(claims('b', '10.0.0.2'), claims('a', '10.0.0.1')), ['a']);
    });
  });

  it('counts members that are active, leaving and withheld', async () => {
    const { clock, nodes, remove, lead } = memberHarness(named(5).map((name) => memberNode(name)));
    const { print, counted } = lead();
    const all = async () => [await counted('active'), await counted('leaving'), await counted('withheld')];
    assert.deepEqual(await all(), [5, 0, 0]);
    nodes.put(memberNode('n000', excluded));
    remove('n001', 'n002');
    await clock.advance(1000);
    assert.deepEqual(await all(), [2, 1, 0], 'no load balancer is known to hold them');
    print(held(named(3)));
    assert.deepEqual(await all(), [2, 1, 2]);
  });
});
