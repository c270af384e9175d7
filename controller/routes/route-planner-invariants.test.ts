import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ObservedRoute } from '../clouds/routes.ts';
import type { RoutePlan } from './route-plan.ts';
import { a4, a6, b4, b6, c4, node, plan, route } from './testing/example-plan.ts';

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
      incomplete: fc.boolean(),
      serial: fc.nat(1000),
    })
    .map(({ destination, to, ours, blackhole, incomplete, serial }) =>
      route(destination, to, { ours, blackhole: blackhole || to === undefined, incomplete, id: `r${serial}` }),
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
    const completed = new Set(
      create.flatMap(({ desired, completes }) => (completes ? [`${desired.destination} ${desired.providerID}`] : [])),
    );
    const routes = [
      ...table.routes.filter(
        ({ id, destination, providerID }) => !gone.has(id) && !completed.has(`${destination} ${providerID}`),
      ),
      ...create.map(({ desired }) => route(desired.destination, desired.node, { id: `new ${desired.destination}` })),
    ];
    return { routes, quota: table.quota && { ...table.quota, used: routes.length } };
  }

  it('plans nothing after its execution, except for routes that fit into the smaller table', () => {
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
      // Two blackholes for one range.
      {
        examples: [
          [
            {
              nodes: [node('n4', [a4], { ready: true })],
              table: {
                routes: ['r0', 'r1'].map((id) => route(a4, 'n4', { id, ours: true, blackhole: true })),
                quota: undefined,
              },
              recorded: () => false,
            },
          ],
        ],
      },
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

  it('creates at most one route for a range, within the quota, and has a status for every range of every Node', () => {
    fc.assert(
      fc.property(world, ({ nodes, table, recorded }) => {
        const { keep, tolerated, create, blocked } = plan({ nodes, table, recorded });
        const made = create.map(({ desired }) => desired.destination);
        assert.ok(!made.includes('10.9.0.0/24'));
        assert.equal(new Set(made).size, made.length);
        const added = create.filter(({ instead, completes }) => instead.length === 0 && !completes).length;
        if (table.quota) assert.ok(added <= Math.max(0, table.quota.limit - table.quota.used));
        const answered = new Set([
          ...[...keep, ...tolerated].map((each) => `${each.node.name} ${each.destination}`),
          ...create.map(({ desired }) => `${desired.node} ${desired.destination}`),
          ...blocked.map((each) => `${each.node.name} ${each.destination}`),
        ]);
        for (const each of nodes)
          for (const range of each.podCIDRs) assert.ok(each.paused || answered.has(`${each.name} ${range}`));
      }),
    );
  });
});
