import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { a4, a6, b4, b6, bounds, c4, type Input, n1, n2, node, plan, route, told } from './testing/example-plan.ts';

describe('the plan of routes', () => {
  const cases: readonly [string, Input, readonly string[]][] = [
    ['single stack, no routes: all are made', { nodes: [n1, n2] }, [`create ${a4} n1`, `create ${b4} n2`]],
    [
      'single stack, one route: the other is made',
      { nodes: [n1, n2], routes: [route(a4, 'n1')] },
      [`create ${b4} n2`, `keep ${a4} n1`],
    ],
    [
      'single stack, all routes: nothing to do',
      { nodes: [n1, n2], routes: [route(a4, 'n1'), route(b4, 'n2')] },
      [`keep ${a4} n1`, `keep ${b4} n2`],
    ],
    [
      'single stack, too many: those of no Node go',
      { nodes: [n1], routes: [route(a4, 'n1'), route(b4, 'n2'), route(c4, 'n3')] },
      [`keep ${a4} n1`, `remove ${b4} NodeGone sim://n2`, `remove ${c4} NodeGone sim://n3`],
    ],
    [
      'single stack, one wrong: it is replaced',
      { nodes: [n1, n2], routes: [route(a4, 'n1'), route(b4, 'n9')] },
      [`create ${b4} n2 instead of r ${b4} n9`, `keep ${a4} n1`],
    ],
    [
      'a range that its Node has no longer: removed',
      { nodes: [n1], routes: [route(a4, 'n1'), route(b4, 'n1')] },
      [`keep ${a4} n1`, `remove ${b4} Unwanted sim://n1`],
    ],
    [
      'dual stack, no routes: one of each family is made',
      { nodes: [node('n1', [a4, a6]), node('n2', [b4, b6])] },
      [`create ${a4} n1`, `create ${a6} n1`, `create ${b4} n2`, `create ${b6} n2`],
    ],
    [
      'dual stack, all routes: nothing to do',
      { nodes: [node('n1', [a4, a6])], routes: [route(a4, 'n1'), route(a6, 'n1')] },
      [`keep ${a4} n1`, `keep ${a6} n1`],
    ],
    [
      'dual stack, some routes: the others are made',
      { nodes: [node('n1', [a4, a6]), node('n2', [b4, b6])], routes: [route(a6, 'n1'), route(b4, 'n2')] },
      [`create ${a4} n1`, `create ${b6} n2`, `keep ${a6} n1`, `keep ${b4} n2`],
    ],
    [
      'dual stack, wrong route in one family: it alone is replaced',
      { nodes: [node('n1', [a4, a6])], routes: [route(a4, 'n1'), route(a6, 'n7')] },
      [`create ${a6} n1 instead of r ${a6} n7`, `keep ${a4} n1`],
    ],
    [
      'dual stack, too many: those of no Node go',
      { nodes: [node('n1', [a4, a6])], routes: [route(a4, 'n1'), route(a6, 'n1'), route(b6, 'n2')] },
      [`keep ${a4} n1`, `keep ${a6} n1`, `remove ${b6} NodeGone sim://n2`],
    ],
    ['a Node without a range: nothing to do', { nodes: [node('n1', [])] }, []],
    [
      'a Node without a range, but with a route: removed',
      { nodes: [node('n1', [])], routes: [route(a4, 'n1')] },
      [`remove ${a4} Unwanted sim://n1`],
    ],
    [
      'a blackhole of ours in range: removed',
      { nodes: [n1], routes: [route(a4, 'n1'), route(b4, undefined)] },
      [`keep ${a4} n1`, `remove ${b4} Blackhole -`],
    ],
    [
      'a blackhole out of range that is not ours: not even mentioned',
      { nodes: [n1], routes: [route(a4, 'n1'), route('10.9.0.0/24', undefined, { ours: false })] },
      [`keep ${a4} n1`],
    ],
    [
      'a blackhole in range that is not ours: left alone, and said',
      { nodes: [n1], routes: [route(a4, 'n1'), route(b4, undefined, { ours: false })] },
      [`foreign ${b4}`, `keep ${a4} n1`],
    ],
    [
      'a blackhole where a Node needs its route: replaced',
      { nodes: [n1], routes: [route(a4, undefined)] },
      [`create ${a4} n1 instead of r ${a4} nothing`],
    ],
    [
      'two Nodes with one range: the first keeps its route, the second gets a condition',
      { nodes: [node('n2', [a4]), n1] },
      [`DuplicatePodCIDR ${a4} n2`, `create ${a4} n1`],
    ],
    [
      'two Nodes of one age with one range: the first by name gets it, in whatever order they come',
      { nodes: [node('n2', [a4], { createdAtMs: 1 }), n1] },
      [`DuplicatePodCIDR ${a4} n2`, `create ${a4} n1`],
    ],
    [
      'two Nodes with one range: the older one gets it, whatever its name',
      { nodes: [node('a9', [a4]), n1] },
      [`DuplicatePodCIDR ${a4} a9`, `create ${a4} n1`],
    ],
    [
      'two Nodes with one range: who showed it first gets it, though the other is older',
      { nodes: [node('n2', [a4], { claimedAt: 1 }), node('n1', [a4], { claimedAt: 2 })] },
      [`DuplicatePodCIDR ${a4} n1`, `create ${a4} n2`],
    ],
    [
      'two Nodes with one range: who has the route keeps it, though the other was first',
      { nodes: [node('n2', [a4]), n1], routes: [route(a4, 'n2')] },
      [`DuplicatePodCIDR ${a4} n1`, `keep ${a4} n2`],
    ],
    [
      'two Nodes with one range and a cloud that takes both routes: neither is removed',
      { nodes: [node('n2', [a4]), n1], routes: [route(a4, 'n1'), route(a4, 'n2')] },
      [`DuplicatePodCIDR ${a4} n2`, `keep ${a4} n1`],
    ],
    [
      'a route of a deleted Node beside the right one: removed',
      { nodes: [n1], routes: [route(a4, 'n1'), route(a4, 'n0')] },
      [`keep ${a4} n1`, `remove ${a4} Superseded sim://n0`],
    ],
    [
      'a foreign route to the range: unchanged, and the Node gets a condition',
      { nodes: [n1], routes: [route(a4, 'n9', { ours: false })] },
      [`ForeignRoute ${a4} n1`],
    ],
    [
      'a foreign route in the way beside one of ours: neither is touched',
      { nodes: [n1], routes: [route(a4, 'n8'), route(a4, 'n9', { ours: false })] },
      [`ForeignRoute ${a4} n1`],
    ],
    [
      'a foreign route that leads to the right instance: kept',
      { nodes: [n1], routes: [route(a4, 'n1', { ours: false })] },
      [`keep ${a4} n1`],
    ],
    ['a foreign route of a deleted Node: kept', { routes: [route(a4, 'n1', { ours: false })] }, [`foreign ${a4}`]],
    [
      'a range out of the cluster`s ranges: no route is made, and one is removed when it is provably ours',
      { nodes: [node('n1', ['10.9.0.0/24'])], routes: [route('10.8.0.0/24', 'n2')] },
      ['CIDRNotAllowed 10.9.0.0/24 n1', 'remove 10.8.0.0/24 NodeGone sim://n2'],
    ],
    [
      'a range out of the cluster`s ranges with a route from earlier: it stays while its Node lives',
      { nodes: [node('n1', ['0.0.0.0/1'])], routes: [route('0.0.0.0/1', 'n1'), route('0.0.0.0/1', 'n2')] },
      ['remove 0.0.0.0/1 NodeGone sim://n2', 'tolerate 0.0.0.0/1 n1'],
    ],
    [
      'a range that spans the cluster`s ranges: no route is made, and the other Nodes get theirs',
      { nodes: [node('n0', ['10.244.0.0/15']), node('n9', ['10.244.0.0/16']), n1, n2] },
      ['CIDRNotAllowed 10.244.0.0/15 n0', 'CIDRNotAllowed 10.244.0.0/16 n9', `create ${a4} n1`, `create ${b4} n2`],
    ],
    [
      'a range inside that of another Node: no route is made, even while the other has none yet',
      { nodes: [n1, node('n2', ['10.244.0.5/32'])] },
      ['CIDRNotAllowed 10.244.0.5/32 n2', `create ${a4} n1`],
    ],
    [
      'a range of another mask than the configured one: no route is made, and one that stands stays',
      {
        nodes: [node('n0', ['10.244.0.0/25']), node('n1', ['10.244.2.0/23'])],
        routes: [route('10.244.2.0/23', 'n1')],
        bounds: { ...bounds, masks: { 4: 24 } },
      },
      ['CIDRNotAllowed 10.244.0.0/25 n0', 'tolerate 10.244.2.0/23 n1'],
    ],
    [
      'a range that a Node of another scope had first: no route is made here',
      { nodes: [n2], others: [{ name: 'n1', createdAtMs: 0, claimedAt: 0, podCIDRs: [b4] }] },
      [`DuplicatePodCIDR ${b4} n2`],
    ],
    [
      'another spelling of the range in the table is the same range',
      { nodes: [node('n1', [a6])], routes: [route('fd00:10:0:1:0:0:0:0/64', 'n1')] },
      [`keep ${a6} n1`],
    ],
    [
      'another spelling of an undecided range is the same range',
      { undecided: ['fd00:10:0:1:0:0:0:0/64'], routes: [route(a6, 'n1')] },
      [],
    ],
    [
      'another spelling of the range is the same range',
      { nodes: [node('n1', ['fd00:10:0:1:0:0:0:0/64'])], routes: [route('fd00:10:0:1::/64', 'n1')] },
      [`keep ${a6} n1`],
    ],
    ['an invalid range: the Node gets a condition', { nodes: [node('n1', ['x'])] }, ['NoRouteCreated x n1']],
    [
      'a paused Node: nothing is created, nothing is deleted',
      {
        nodes: [node('n1', [a4], { paused: true }), node('n2', [b4], { paused: true })],
        routes: [route(b4, 'n3'), route(c4, 'n2')],
      },
      [],
    ],
    [
      'a paused Node keeps what it has',
      { nodes: [{ ...n1, paused: true }], routes: [route(a4, 'n1')] },
      [`keep ${a4} n1`],
    ],
    [
      'a Node of which it is not known yet whose it is: the route to its range stays',
      { undecided: [a4], routes: [route(a4, 'n1'), route(b4, 'n2')] },
      [`remove ${b4} NodeGone sim://n2`],
    ],
    [
      'a route that drops packets though its Node is Ready: replaced',
      { nodes: [n1], routes: [route(a4, 'n1', { blackhole: true })] },
      [`create ${a4} n1 instead of r ${a4} n1`],
    ],
    [
      'a blackhole beside a route that leads astray: both make way at once',
      { nodes: [n1], routes: [route(a4, 'n2'), route(a4, 'n1', { blackhole: true })] },
      [`create ${a4} n1 instead of r ${a4} n1 instead of r ${a4} n2`],
    ],
    [
      'a route that drops packets because its machine is off: kept',
      { nodes: [{ ...n1, ready: false }], routes: [route(a4, 'n1', { blackhole: true })] },
      [`keep ${a4} n1`],
    ],
    [
      'a route that drops packets and was replaced a moment ago: kept',
      { nodes: [n1], routes: [route(a4, 'n1', { blackhole: true })], mayReplaceBlackhole: () => false },
      [`keep ${a4} n1`],
    ],
    [
      'a route that one of the tables lacks: added there, and kept in the others',
      { nodes: [n1], routes: [route(a4, 'n1', { incomplete: true })] },
      [`complete ${a4} n1`],
    ],
    [
      'a route that one of the tables lacks, because it leads astray there: that one alone makes way',
      { nodes: [n1], routes: [route(a4, 'n1', { incomplete: true }), route(a4, 'n9', { incomplete: true })] },
      [`complete ${a4} n1 instead of r ${a4} n9`],
    ],
    [
      'a route that one of the tables lacks, in a full one of those that have it: added all the same',
      {
        nodes: [n1],
        table: { routes: [route(a4, 'n1', { incomplete: true })], quota: { limit: 1, used: 1 } },
      },
      [`complete ${a4} n1`],
    ],
    [
      'a route that one of the tables lacks and that is not ours: left as it is',
      { nodes: [n1], routes: [route(a4, 'n1', { incomplete: true, ours: false })] },
      [`keep ${a4} n1`],
    ],
    [
      'a route of no Node that drops packets on the way to an instance: not taken for one without an instance',
      { routes: [route(a4, 'n1', { blackhole: true }), route(b4, undefined)] },
      [`remove ${a4} NodeGone sim://n1`, `remove ${b4} Blackhole -`],
    ],
  ];
  for (const [name, input, expected] of cases)
    it(name, () => assert.deepEqual(told(plan(input)), [...expected].sort()));

  it('plans a route with all that the cloud needs to create it', () => {
    assert.deepEqual(plan({ nodes: [n1] }).create[0]?.desired, {
      cluster: 'cluster',
      node: 'n1',
      nodeUid: 'uid-n1',
      destination: a4,
      providerID: 'sim://n1',
      addresses: ['10.0.0.1'],
    });
  });

  it('counts two spellings of a providerID as one instance', () => {
    const instanceOf = (providerID: string) => providerID.toLowerCase();
    const routes = [route(a4, 'N1')];
    assert.deepEqual(told(plan({ nodes: [n1], routes, instanceOf })), [`keep ${a4} n1`]);
  });
});

describe('the quota of a route table', () => {
  const nodes = [node('n3', [c4]), n1, n2];

  it('gives routes to the first Nodes within the quota, and blocks the others without a try', () => {
    const table = { routes: [route('10.9.0.0/24', 'x', { ours: false })], quota: { limit: 3, used: 1 } };
    const planned = plan({ nodes, table });
    assert.deepEqual(told(planned), [`QuotaExceeded ${c4} n3`, `create ${a4} n1`, `create ${b4} n2`]);
    assert.match(planned.blocked[0]?.message ?? '', /1 routes of at most 3/);
  });

  it('replaces a route although the quota is used up', () => {
    const table = { routes: [route(a4, 'n9')], quota: { limit: 1, used: 1 } };
    assert.deepEqual(told(plan({ nodes: [n1, n2], table })), [
      `QuotaExceeded ${b4} n2`,
      `create ${a4} n1 instead of r ${a4} n9`,
    ]);
  });

  it('creates no new route when the quota is already exceeded', () => {
    const table = { routes: [], quota: { limit: 1, used: 5 } };
    assert.deepEqual(told(plan({ nodes: [n1], table })), [`QuotaExceeded ${a4} n1`]);
  });
});
