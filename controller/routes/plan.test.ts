import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ObservedRoute } from '../clouds/routes.ts';
import { parseCidr } from './cidr.ts';
import { planRoutes, type RoutedNode, type RoutePlan, type RoutesInput } from './plan.ts';

const clusterCidrs = ['10.244.0.0/16', 'fd00:10::/48'].map((text) => parseCidr(text)!);

function node(name: string, podCIDRs: readonly string[], changes: Partial<RoutedNode> = {}): RoutedNode {
  const number = Number(name.replace(/\D/g, '')) || 0;
  return {
    name,
    uid: `uid-${name}`,
    createdAtMs: number,
    providerID: `sim://${name}`,
    podCIDRs,
    addresses: [`10.0.0.${number}`],
    paused: false,
    ready: true,
    ...changes,
  };
}

function route(destination: string, to: string | undefined, changes: Partial<ObservedRoute> = {}): ObservedRoute {
  return {
    id: `r ${destination} ${to ?? 'nothing'}`,
    destination,
    providerID: to === undefined ? undefined : `sim://${to}`,
    blackhole: to === undefined,
    ours: true,
    ...changes,
  };
}

type Input = Partial<RoutesInput<ObservedRoute>> & { readonly routes?: readonly ObservedRoute[] };

function plan({ routes = [], ...input }: Input): RoutePlan<ObservedRoute> {
  return planRoutes({
    cluster: 'cluster',
    clusterCidrs,
    nodes: [],
    undecided: [],
    table: { routes, quota: undefined },
    recorded: () => false,
    instanceOf: (providerID) => providerID,
    ...input,
  });
}

/** One line for each thing that a plan says. */
function told({ keep, create, remove, blocked, foreign }: RoutePlan<ObservedRoute>): string[] {
  return [
    ...keep.map(({ node: { name }, destination }) => `keep ${destination} ${name}`),
    ...create.map(({ desired, instead }) =>
      [`create ${desired.destination} ${desired.node}`, ...instead.map(({ id }) => `instead of ${id}`)].join(' '),
    ),
    ...remove.map(({ destination, why, route: { providerID } }) => `remove ${destination} ${why} ${providerID ?? '-'}`),
    ...blocked.map(({ node: { name }, destination, reason }) => `${reason} ${destination} ${name}`),
    ...foreign.map(({ destination }) => `foreign ${destination}`),
  ].sort();
}

const a4 = '10.244.0.0/24';
const b4 = '10.244.1.0/24';
const c4 = '10.244.2.0/24';
const a6 = 'fd00:10:0:1::/64';
const b6 = 'fd00:10:0:2::/64';
const n1 = node('n1', [a4]);
const n2 = node('n2', [b4]);

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
      'single stack, one wrong: it is made anew',
      { nodes: [n1, n2], routes: [route(a4, 'n1'), route(b4, 'n9')] },
      [`create ${b4} n2 instead of r ${b4} n9`, `keep ${a4} n1`],
    ],
    [
      'a range that its Node has no longer: removed',
      { nodes: [n1], routes: [route(a4, 'n1'), route(b4, 'n1')] },
      [`keep ${a4} n1`, `remove ${b4} Unwanted sim://n1`],
    ],
    [
      'dual stack, no routes',
      { nodes: [node('n1', [a4, a6]), node('n2', [b4, b6])] },
      [`create ${a4} n1`, `create ${a6} n1`, `create ${b4} n2`, `create ${b6} n2`],
    ],
    [
      'dual stack, all routes',
      { nodes: [node('n1', [a4, a6])], routes: [route(a4, 'n1'), route(a6, 'n1')] },
      [`keep ${a4} n1`, `keep ${a6} n1`],
    ],
    [
      'dual stack, some routes',
      { nodes: [node('n1', [a4, a6]), node('n2', [b4, b6])], routes: [route(a6, 'n1'), route(b4, 'n2')] },
      [`create ${a4} n1`, `create ${b6} n2`, `keep ${a6} n1`, `keep ${b4} n2`],
    ],
    [
      'dual stack, wrong route in one family',
      { nodes: [node('n1', [a4, a6])], routes: [route(a4, 'n1'), route(a6, 'n7')] },
      [`create ${a6} n1 instead of r ${a6} n7`, `keep ${a4} n1`],
    ],
    [
      'dual stack, too many',
      { nodes: [node('n1', [a4, a6])], routes: [route(a4, 'n1'), route(a6, 'n1'), route(b6, 'n2')] },
      [`keep ${a4} n1`, `keep ${a6} n1`, `remove ${b6} NodeGone sim://n2`],
    ],
    ['a Node without a range', { nodes: [node('n1', [])] }, []],
    [
      'a Node without a range, but with a route',
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
      'a blackhole where a Node wants its route: made anew',
      { nodes: [n1], routes: [route(a4, undefined)] },
      [`create ${a4} n1 instead of r ${a4} nothing`],
    ],
    [
      'two Nodes with one range: the first keeps, the second is told',
      { nodes: [node('n2', [a4]), n1] },
      [`DuplicatePodCIDR ${a4} n2`, `create ${a4} n1`],
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
      'a route of a Node that went beside the right one: removed',
      { nodes: [n1], routes: [route(a4, 'n1'), route(a4, 'n0')] },
      [`keep ${a4} n1`, `remove ${a4} Superseded sim://n0`],
    ],
    [
      'a foreign route in the way: left alone, and the Node is told',
      { nodes: [n1], routes: [route(a4, 'n9', { ours: false })] },
      [`ForeignRoute ${a4} n1`],
    ],
    [
      'a foreign route in the way beside one of ours: neither is touched',
      { nodes: [n1], routes: [route(a4, 'n8'), route(a4, 'n9', { ours: false })] },
      [`ForeignRoute ${a4} n1`],
    ],
    [
      'a route that somebody else made and that leads right: it will do',
      { nodes: [n1], routes: [route(a4, 'n1', { ours: false })] },
      [`keep ${a4} n1`],
    ],
    [
      'a route that somebody else made for a Node that went: not ours to remove',
      { routes: [route(a4, 'n1', { ours: false })] },
      [`foreign ${a4}`],
    ],
    [
      'a range out of the cluster`s ranges: its route is made all the same, and removed when it is provably ours',
      { nodes: [node('n1', ['10.9.0.0/24'])], routes: [route('10.8.0.0/24', 'n2')] },
      ['create 10.9.0.0/24 n1', 'remove 10.8.0.0/24 NodeGone sim://n2'],
    ],
    [
      'another spelling of the range is the same range',
      { nodes: [node('n1', ['fd00:10:0:1:0:0:0:0/64'])], routes: [route('fd00:10:0:1::/64', 'n1')] },
      [`keep ${a6} n1`],
    ],
    ['a range that is none: the Node is told', { nodes: [node('n1', ['x'])] }, ['NoRouteCreated x n1']],
    [
      'a paused Node: nothing is made, nothing is taken away',
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
      'a route that drops packets though its Node is ready: made anew',
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
      'a route that drops packets and was made anew a moment ago: kept',
      { nodes: [n1], routes: [route(a4, 'n1', { blackhole: true })], mayMend: () => false },
      [`keep ${a4} n1`],
    ],
  ];
  for (const [name, input, expected] of cases)
    it(name, () => assert.deepEqual(told(plan(input)), [...expected].sort()));

  it('carries what the cloud needs to make a route', () => {
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

describe('where routes carry no tags', () => {
  const untagged = (destination: string, to: string | undefined, changes: Partial<ObservedRoute> = {}) =>
    route(destination, to, { ours: undefined, ...changes });
  const recorded = (destination: string, instance: string | undefined) =>
    destination === a4 && (instance === undefined || instance === 'sim://n1');

  it('a route of a Node that went is removed only if it was recorded while the Node lived', () => {
    const routes = [untagged(a4, 'n1'), untagged(b4, 'n2')];
    assert.deepEqual(told(plan({ routes, recorded })), [`foreign ${b4}`, `remove ${a4} NodeGone sim://n1`]);
  });

  it('a record of another instance proves nothing', () => {
    assert.deepEqual(told(plan({ routes: [untagged(a4, 'n9')], recorded })), [`foreign ${a4}`]);
  });

  it('a blackhole is ours if the range was', () => {
    const routes = [untagged(a4, undefined), untagged(b4, undefined)];
    assert.deepEqual(told(plan({ routes, recorded })), [`foreign ${b4}`, `remove ${a4} Blackhole -`]);
  });

  it('nothing out of the cluster`s ranges is ours', () => {
    assert.deepEqual(told(plan({ routes: [untagged('10.9.0.0/24', 'n1')], recorded: () => true })), []);
  });

  it('an unrecorded route in the way is foreign', () => {
    assert.deepEqual(told(plan({ nodes: [n2], routes: [untagged(b4, 'n1')], recorded })), [`ForeignRoute ${b4} n2`]);
  });
});

describe('the quota of a route table', () => {
  const nodes = [node('n3', [c4]), n1, n2];

  it('is read ahead: the first Nodes get their routes, the others are told without a try', () => {
    const table = { routes: [route('10.9.0.0/24', 'x', { ours: false })], quota: { limit: 3, used: 1 } };
    const planned = plan({ nodes, table });
    assert.deepEqual(told(planned), [`QuotaExceeded ${c4} n3`, `create ${a4} n1`, `create ${b4} n2`]);
    assert.match(planned.blocked[0]?.message ?? '', /1 routes of at most 3/);
  });

  it('does not stop a route from being made anew', () => {
    const table = { routes: [route(a4, 'n9')], quota: { limit: 1, used: 1 } };
    assert.deepEqual(told(plan({ nodes: [n1, n2], table })), [
      `QuotaExceeded ${b4} n2`,
      `create ${a4} n1 instead of r ${a4} n9`,
    ]);
  });

  it('may be exceeded already', () => {
    const table = { routes: [], quota: { limit: 1, used: 5 } };
    assert.deepEqual(told(plan({ nodes: [n1], table })), [`QuotaExceeded ${a4} n1`]);
  });
});

describe('any plan', () => {
  const ranges = [a4, b4, c4, a6, b6, '10.9.0.0/24'];
  const instances = ['n1', 'n2', 'n3', 'n4'];
  const someNode = (name: string) =>
    fc
      .record({
        podCIDRs: fc.uniqueArray(fc.constantFrom(...ranges), { maxLength: 2 }),
        paused: fc.boolean(),
        ready: fc.boolean(),
      })
      .map(({ podCIDRs, ...rest }) => node(name, podCIDRs, rest));
  const someRoute = fc
    .record({
      destination: fc.constantFrom(...ranges),
      to: fc.constantFrom(...instances, 'n9', undefined),
      ours: fc.constantFrom(true, false, undefined),
      blackhole: fc.boolean(),
      serial: fc.nat(1000),
    })
    .map(({ destination, to, ours, blackhole, serial }) =>
      route(destination, to, { ours, blackhole: blackhole || to === undefined, id: `r${serial}` }),
    );
  const world = fc
    .record({
      nodes: fc.subarray(instances).chain((names) => fc.tuple(...names.map(someNode))),
      routes: fc.uniqueArray(someRoute, { maxLength: 8, selector: ({ id }) => id }),
      limit: fc.option(fc.nat(10), { nil: undefined }),
      records: fc.uniqueArray(fc.constantFrom(...ranges)),
    })
    .map(({ nodes, routes, limit, records }) => ({
      nodes,
      table: { routes, quota: limit === undefined ? undefined : { limit, used: routes.length } },
      recorded: (destination: string) => records.includes(destination),
    }));

  function carriedOut(
    table: { readonly routes: readonly ObservedRoute[]; readonly quota: { limit: number; used: number } | undefined },
    { create, remove }: RoutePlan<ObservedRoute>,
  ) {
    const gone = new Set([
      ...remove.map(({ route: { id } }) => id),
      ...create.flatMap(({ instead }) => instead.map(({ id }) => id)),
    ]);
    const routes = [
      ...table.routes.filter(({ id }) => !gone.has(id)),
      ...create.map(({ desired }) => route(desired.destination, desired.node, { id: `new ${desired.destination}` })),
    ];
    return { routes, quota: table.quota && { ...table.quota, used: routes.length } };
  }

  it('leaves nothing to do once it was carried out, but for what a smaller table makes room for', () => {
    fc.assert(
      fc.property(world, ({ nodes, table, recorded }) => {
        let after: typeof table = table;
        for (let round = 0; round < 3; round += 1) after = carriedOut(after, plan({ nodes, table: after, recorded }));
        const again = plan({ nodes, table: after, recorded });
        assert.deepEqual([again.create, again.remove], [[], []]);
        if (table.quota !== undefined) return;
        const first = carriedOut(table, plan({ nodes, table, recorded }));
        const second = plan({ nodes, table: first, recorded });
        assert.deepEqual([second.create, second.remove], [[], []]);
      }),
    );
  });

  it('never touches a foreign route, nor one of a paused Node', () => {
    fc.assert(
      fc.property(world, ({ nodes, table, recorded }) => {
        const { create, remove } = plan({ nodes, table, recorded });
        const touched = [...remove.map(({ route: each }) => each), ...create.flatMap(({ instead }) => instead)];
        for (const each of touched) assert.ok(each.ours ?? recorded(each.destination));
        const paused = new Set(nodes.filter((each) => each.paused).map(({ providerID }) => providerID));
        for (const { route: each, why } of remove)
          if (why !== 'Superseded') assert.ok(!paused.has(each.providerID ?? ''));
        for (const { desired } of create) assert.ok(!paused.has(desired.providerID));
      }),
    );
  });

  it('makes at most one route for a range, within the quota, and answers for every range of every Node', () => {
    fc.assert(
      fc.property(world, ({ nodes, table, recorded }) => {
        const { keep, create, blocked } = plan({ nodes, table, recorded });
        const made = create.map(({ desired }) => desired.destination);
        assert.equal(new Set(made).size, made.length);
        const added = create.filter(({ instead }) => instead.length === 0).length;
        if (table.quota) assert.ok(added <= Math.max(0, table.quota.limit - table.quota.used));
        const answered = new Set([
          ...keep.map((each) => `${each.node.name} ${each.destination}`),
          ...create.map(({ desired }) => `${desired.node} ${desired.destination}`),
          ...blocked.map((each) => `${each.node.name} ${each.destination}`),
        ]);
        for (const each of nodes)
          for (const range of each.podCIDRs) assert.ok(each.paused || answered.has(`${each.name} ${range}`));
      }),
    );
  });
});
