import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { uninitializedTaint } from '../../model/testing/example-node.ts';
import { held, marked, memberHarness, named } from './testing/member-harness.ts';
import { memberNode } from './testing/node-list.ts';

describe('a member whose Node is gone, and that needs no budget', () => {
  it('drains without budget where the Node was marked before, also when one event has mark and deletion', async () => {
    const names = named(30);
    const { clock, nodes, lead, lease: state } = memberHarness(names.map((name) => memberNode(name)));
    const { print } = lead();
    for (const name of names.slice(1)) {
      nodes.put(memberNode(name, marked));
      nodes.remove(name);
    }
    await clock.advance(1000);
    assert.equal(print(held(names)), ['n000', ...names.slice(1).map((name) => `${name}~`)].join(' '));
    assert.equal(state.writes, 0);
  });

  it('removes a member at once where our lifecycle loop deleted the Node', async () => {
    const { clock, nodes, remove, lead } = memberHarness([memberNode('a'), memberNode('b')]);
    const { print, sets } = lead();
    sets.noteDeletion(memberNode('b'));
    remove('b');
    await clock.advance(1000);
    assert.equal(print(held(['a', 'b'])), 'a');
    // The note is used up: the next time nothing explains it.
    nodes.put(memberNode('b'));
    await clock.advance(1000);
    remove('b');
    await clock.advance(1000);
    assert.equal(print(held(['a', 'b'])), 'a b');
  });

  it('continues to drain after a crash, without budget', async () => {
    const { clock, lead, lease: state } = memberHarness([memberNode('a')]);
    const { print, ask } = lead();
    const observed = [...held(['a']), ...held(['b'], true)];
    assert.equal(print(observed), 'a b~');
    assert.equal(ask(observed)?.againInMs, 30_000);
    await clock.advance(30_000);
    assert.equal(print(observed), 'a');
    assert.equal(state.writes, 0);
  });

  it('continues to drain when its Node is registered again but not initialised', async () => {
    const { clock, nodes, remove, lead } = memberHarness(named(10).map((name) => memberNode(name)));
    const { print } = lead();
    nodes.put(memberNode('n000', marked));
    remove('n000');
    await clock.advance(1000);
    const observed = [...held(['n000'], true), ...held(named(9, 1))];
    nodes.put(memberNode('n000', { uid: 'new', taints: [uninitializedTaint] }));
    await clock.advance(1000);
    assert.ok(print(observed)?.startsWith('n000~ '));
    await clock.advance(30_000);
    assert.equal(print(observed), named(9, 1).join(' '));
  });
});
