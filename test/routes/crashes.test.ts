import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { names } from '../../common/well-known.ts';
import { createRouteWorld, type RouteReplica, type RouteWorld, untagged } from './harness/route-world.ts';

const a4 = '10.244.0.0/24';
const b4 = '10.244.1.0/24';
const a6 = 'fd00:10:0:1::/64';

interface Story {
  readonly name: string;
  /** What is there before. */
  before(world: RouteWorld): void;
  /** What happens while the leader that will end leads. */
  happens(world: RouteWorld): void;
  readonly table: readonly string[];
}

const stories: readonly Story[] = [
  {
    name: 'Nodes join',
    before: () => {},
    happens(world) {
      world.add('a', [a4, a6]);
      world.add('b', [b4]);
    },
    table: [`${a4} -> a`, `${b4} -> b`, `${a6} -> a`],
  },
  {
    name: 'a Node and its VM go',
    before(world) {
      world.add('a', [a4, a6]);
      world.add('b', [b4]);
    },
    happens(world) {
      world.cloud.model.terminate(world.cloud.model.named('demo', 'sim-1', 'a')[0]!.id);
      world.cluster.remove('a');
    },
    table: [`${b4} -> b`],
  },
  {
    name: 'a Node goes and its VM lives',
    before(world) {
      world.add('a', [a4]);
      world.add('b', [b4]);
    },
    happens: (world) => world.cluster.remove('a'),
    table: [`${b4} -> b`],
  },
  {
    name: 'a new Node is given the range of one that went',
    before(world) {
      world.add('a', [a4]);
      world.add('b', [b4]);
    },
    happens(world) {
      world.cluster.remove('a');
      world.add('c', [a4, a6]);
    },
    table: [`${a4} -> c`, `${b4} -> b`, `${a6} -> c`],
  },
  {
    name: 'a route that drops packets is replaced',
    before(world) {
      world.add('a', [a4]);
    },
    happens: (world) => void world.cloud.network.routes.setBroken(world.routes()[0]!.id, true),
    table: [`${a4} -> a`],
  },
];

/** Runs the story with an end in the middle of one change; answers whether it came to that change. */
async function run(story: Story, tags: boolean, crashAt: RouteReplica['crashAt']): Promise<boolean> {
  const world = createRouteWorld({ ...(tags ? {} : { like: untagged }), budget: '5/10m' });
  try {
    story.before(world);
    const first = world.routeReplica();
    await first.start();
    await world.clock.advance(310_000);
    if (crashAt) first.crashAt = { ...crashAt, change: first.changes() + crashAt.change };
    story.happens(world);
    for (let second = 0; second < 330 && !first.crashed; second += 1) await world.clock.advance(1000);
    const came = first.crashed;
    await first.stop();

    const second = world.routeReplica();
    await second.start();
    // What is on record of a route that is gone goes after two more looks.
    await world.clock.advance(tags ? 60_000 : 660_000);
    assert.deepEqual(world.table(), [...story.table].sort());
    for (const name of world.cluster.names()) assert.equal(world.network(name), 'False RouteCreated');
    for (const route of world.routes()) assert.equal(world.cloud.network.routes.blackhole(route), false);
    const records = recordsOf(world);
    assert.deepEqual(records, tags ? [] : story.table.map((line) => line.split(' ')[0]).sort());
    await second.stop();

    const mutations = world.mutations();
    const third = world.routeReplica();
    await third.start();
    await world.clock.advance(360_000);
    assert.equal(world.mutations(), mutations);
    assert.deepEqual(third.writes(), []);
    return came;
  } finally {
    await world.close();
  }
}

/** Destinations that are recorded as ours. */
function recordsOf(world: RouteWorld): string[] {
  const data = world.configMap(names.routeRecords) ?? {};
  return Object.values(data)
    .flatMap((text) => text.split('\n'))
    .filter((line) => !line.startsWith('#') && line !== '')
    .map((line) => line.split(' ')[0] as string)
    .sort();
}

for (const tags of [true, false])
  describe(`a leader that ends at any change, where routes ${tags ? 'carry tags' : 'cannot be tagged'}`, () => {
    for (const story of stories)
      for (const when of ['before', 'after'] as const)
        it(`leaves nothing that the next one does not finish: ${story.name}, ${when} any change`, async () => {
          let change = 1;
          while (await run(story, tags, { change, when })) change += 1;
          assert.ok(change > 1, 'nothing was changed');
        });
  });
