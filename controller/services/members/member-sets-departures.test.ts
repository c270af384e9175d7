import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { uninitializedTaint } from '../../model/testing/example-node.ts';
import { held, memberHarness, named } from './testing/member-harness.ts';
import { idOf, memberNode } from './testing/node-list.ts';

describe('a member whose Node vanished', () => {
  it('keeps a member whose Node vanished until the budget grants its removal, then drains it', async () => {
    const { clock, remove, lead, lease: state } = memberHarness(named(20).map((name) => memberNode(name)));
    const { ask, print, sets, changes } = lead();
    remove('n000', 'n001', 'n002');
    await clock.advance(1000);
    const all = held(named(20));
    assert.ok(!print(all)?.includes('~'));
    assert.deepEqual(
      sets.withheld().map(({ node }) => node),
      ['n000', 'n001', 'n002'],
    );
    assert.equal(changes.length, 1);
    await clock.advance(30_000);
    // Ten percent of twenty.
    assert.deepEqual(
      print(all)
        ?.split(' ')
        .filter((name) => name.includes('~')),
      ['n000~', 'n001~'],
    );
    assert.equal(changes.length, 2);
    assert.deepEqual(
      sets.withheld().map(({ node }) => node),
      ['n002'],
    );
    assert.deepEqual(ask(all)?.withheld, [idOf('n002')]);
    await clock.advance(300_000);
    assert.equal(changes.length, 2, 'nothing new while it waits');
    await clock.advance(600_000);
    assert.ok(print(all)?.includes('n002~'));
    assert.equal(state.writes, 2);
    assert.deepEqual(sets.withheld(), []);
  });

  it('keeps the members when all Nodes vanish, and refills no budget at a restart', async () => {
    const names = named(20);
    const { clock, remove, lead, lease: state } = memberHarness(names.map((name) => memberNode(name)));
    const first = lead();
    first.print(held(names));
    remove(...names);
    await clock.advance(1000);
    first.print(held(names));
    await clock.advance(40_000);
    // Released by the budget, they still wait for a replacement.
    assert.equal(first.print(held(names)), names.join(' '));
    await clock.advance(120_000);
    const drained = (first.print(held(names))?.match(/n\d+(?=~)/g) ?? []) as string[];
    assert.deepEqual(drained, ['n000', 'n001']);
    const rest = names.filter((name) => !drained.includes(name));
    const second = lead();
    assert.equal(second.ask(held(rest))?.available, 0);
    await clock.advance(300_000);
    assert.equal(second.print(held(rest)), rest.join(' '));
    assert.equal(second.ask(held(rest))?.withheld.length, 18);
    await clock.advance(300_000);
    assert.equal(second.ask(held(rest))?.withheld.length, 17);
    assert.equal(state.writes, 2);
  });

  it('keeps a member whose Node the API server has, although the cache of a new leader lacks it', async () => {
    const { clock, lead, live, lease } = memberHarness([memberNode('a')], { limit: { share: 1 }, windowMs: 600_000 });
    live.more = [memberNode('b')];
    const { print } = lead();
    assert.equal(print(held(['a', 'b'])), 'a b');
    await clock.advance(120_000);
    assert.equal(print(held(['a', 'b'])), 'a b');
    assert.equal(lease.writes, 0);
    live.more = [];
    live.broken = true;
    await clock.advance(120_000);
    assert.equal(print(held(['a', 'b'])), 'a b');
    live.broken = false;
    await clock.advance(61_000);
    assert.equal(print(held(['a', 'b'])), 'a b~');
  });

  it('keeps a member whose Node comes back while the budget is asked', async () => {
    const names = named(20);
    const { clock, nodes, remove, lead, lease: state } = memberHarness(names.map((name) => memberNode(name)));
    const { print, sets } = lead();
    remove(...names);
    await clock.advance(1000);
    print(held(names));
    for (const name of names) nodes.put(memberNode(name, { uid: `new-${name}`, taints: [uninitializedTaint] }));
    await clock.advance(100_000);
    assert.equal(print(held(names)), names.join(' '), 'they wait for their initialisation where they are');
    assert.deepEqual(sets.withheld(), []);
    for (const name of names) nodes.put(memberNode(name, { uid: `new-${name}` }));
    await clock.advance(1000);
    assert.equal(print(held(names)), names.join(' '));
    assert.equal(state.writes, 0);
  });

  it('finds a vanished member on the load balancer after a crash, and drains it when the budget allows', async () => {
    const { clock, lead, lease: state } = memberHarness([memberNode('a')]);
    const { print, changes } = lead();
    assert.equal(print(held(['a', 'b'])), 'a b');
    await clock.advance(31_000);
    assert.equal(print(held(['a', 'b'])), 'a b~');
    assert.deepEqual([state.writes, changes.length], [1, 1]);
  });

  it('costs no budget where no load balancer holds it', async () => {
    const { clock, remove, lead, lease: state } = memberHarness([memberNode('a'), memberNode('b')]);
    const { print, sets } = lead();
    remove('b');
    await clock.advance(1000);
    assert.equal(print(held(['a'])), 'a');
    await clock.advance(700_000);
    assert.deepEqual([state.writes, sets.withheld(), clock.pending], [0, [], 0]);
  });

  it('costs budget only after its Node has been gone for long enough', async () => {
    const { clock, remove, lead, lease: state } = memberHarness(named(40).map((name) => memberNode(name)));
    const { print, sets } = lead();
    const all = held(named(40));
    remove('n000');
    await clock.advance(20_000);
    print(all);
    remove('n001');
    await clock.advance(5000);
    print(all);
    await clock.advance(10_000);
    assert.deepEqual(
      sets.withheld().map(({ node }) => node),
      ['n001'],
    );
    assert.match(state.annotations['mooring.dev/deletion-ledger'] ?? '', /^m\d+x1$/);
  });

  it('releases a member before those whose Nodes vanished later, whatever its name', async () => {
    const { clock, remove, lead, paused } = memberHarness(named(10).map((name) => memberNode(name)));
    const { print, sets } = lead();
    paused.value = true;
    for (const names of [['n005'], ['n001', 'n009']]) {
      remove(...names);
      await clock.advance(2000);
      print(held(named(10)));
    }
    await clock.advance(60_000);
    paused.value = false;
    await clock.advance(60_000);
    assert.deepEqual(
      sets.withheld().map(({ node }) => node),
      ['n001', 'n009'],
    );
  });

  it('forgets a vanished member that no load balancer has held for hours', async () => {
    const { clock, put, lead, paused } = memberHarness([memberNode('a')]);
    const { print, sets } = lead();
    paused.value = true;
    print(held(['a', 'b']));
    const withheldAfter = async (hours: number, joining: string) => {
      await clock.advance(hours * 3_600_000);
      put(joining);
      await clock.advance(2000);
      return sets.withheld().length;
    };
    assert.equal(await withheldAfter(2, 'c'), 1);
    assert.equal(await withheldAfter(2, 'd'), 0);
  });

  it('releases no member while everything is paused or the ledger cannot be written', async () => {
    const { clock, lead, lease: state, paused } = memberHarness([memberNode('a')]);
    const { print } = lead();
    const observed = held(['a', 'b']);
    paused.value = true;
    print(observed);
    await clock.advance(100_000);
    assert.equal(print(observed), 'a b');
    paused.value = false;
    state.broken = true;
    await clock.advance(100_000);
    assert.equal(print(observed), 'a b');
    state.broken = false;
    await clock.advance(31_000);
    assert.equal(print(observed), 'a b~');
  });

  it('asks no budget after the term', async () => {
    const { clock, lead, lease: state } = memberHarness([memberNode('a')]);
    const { print, sets } = lead();
    print(held(['a', 'b']));
    sets.stop();
    assert.equal(print(held(['a', 'b'])), undefined);
    await clock.advance(100_000);
    assert.deepEqual([state.writes, clock.pending], [0, 0]);
  });
});
