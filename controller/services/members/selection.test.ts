import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import type { NodeLabel, ObservedMember } from '../../clouds/load-balancers.ts';
import { held, memberSetsOf, printMembers, scope } from './testing/member-harness.ts';
import { memberNode, nodeList } from './testing/node-list.ts';

const edge: readonly NodeLabel[] = [{ key: 'pool', value: 'edge' }];

function labelled(name: string, pool: string | undefined) {
  return memberNode(name, { labels: pool === undefined ? {} : { pool } });
}

function world(...pools: readonly (readonly [name: string, pool: string | undefined])[]) {
  const clock = fakeClock();
  const nodes = nodeList(pools.map(([name, pool]) => labelled(name, pool)));
  const sets = memberSetsOf(nodes, clock);
  let changes = 0;
  sets.onChange(() => {
    changes += 1;
  });
  sets.start();
  const ask = (nodeLabels: readonly NodeLabel[], observed: readonly ObservedMember[] = []) =>
    printMembers(
      sets.membersFor({
        scope,
        service: 'uid-1',
        trafficPolicy: 'Cluster',
        observed,
        maxMembers: undefined,
        drains: true,
        nodeLabels,
      })?.members ?? [],
    );
  return { clock, nodes, ask, changes: () => changes };
}

describe('a Service that chooses its members by labels', () => {
  it('gets the Nodes that carry every one of them, and no others', () => {
    const { ask } = world(['a', 'edge'], ['b', 'core'], ['c', undefined]);
    assert.equal(ask(edge), 'a');
    assert.equal(ask([{ key: 'pool', value: undefined }]), 'a b');
    assert.equal(ask([...edge, { key: 'zone', value: 'x' }]), '');
    assert.equal(ask([]), 'a b c');
  });

  it('gets those with one of several values, and those without a value, or without the label', () => {
    const { ask } = world(['a', 'edge'], ['b', 'core'], ['c', undefined], ['d', 'gpu']);
    const pool = { key: 'pool', value: undefined };
    assert.equal(ask([{ ...pool, values: ['edge', 'core'] }]), 'a b');
    assert.equal(ask([{ ...pool, values: ['edge', 'core'], not: true }]), 'c d');
    assert.equal(ask([{ key: 'pool', value: 'edge', not: true }]), 'b c d');
    assert.equal(ask([{ ...pool, not: true }]), 'c');
    assert.equal(ask([{ ...pool, values: ['edge'] }]), 'a');
  });

  it('drains a member that it does not choose any more, and adds one that it chooses now', async () => {
    const { clock, nodes, ask, changes } = world(['a', 'edge'], ['b', 'edge'], ['c', 'core']);
    assert.equal(ask(edge, held(['a', 'b'])), 'a b');
    const before = changes();
    nodes.put(labelled('b', 'core'));
    nodes.put(labelled('c', 'edge'));
    await clock.advance(5000);
    assert.equal(changes(), before + 1);
    assert.equal(ask(edge, held(['a', 'b'])), 'a b~ c');
    assert.equal(ask([], held(['a', 'b'])), 'a b c');
  });

  it('ignores labels by which no Service chooses', async () => {
    const { clock, nodes, ask, changes } = world(['a', 'edge']);
    ask(edge);
    const before = changes();
    nodes.put(memberNode('a', { labels: { pool: 'edge', team: 'web' } }));
    await clock.advance(5000);
    assert.equal(changes(), before);
  });

  it('keeps the member of a Node that vanished unexplained', async () => {
    const { clock, nodes, ask } = world(['a', 'edge'], ['b', 'edge']);
    ask(edge, held(['a', 'b']));
    nodes.remove('b');
    await clock.advance(5000);
    assert.equal(ask(edge, held(['a', 'b'])), 'a b');
  });
});
