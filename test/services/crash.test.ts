import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertConverged } from './harness/converged.ts';
import { createWorld, type World, type WorldOptions } from './harness/world.ts';

const two = [
  { name: 'http', port: 80, protocol: 'TCP' },
  { name: 'https', port: 443, protocol: 'TCP' },
];

interface Operation {
  readonly name: string;
  /** What is there, settled, before it. */
  prepare(world: World): void;
  perform(world: World): void;
  /** Instead of: everything is as the Services ask. */
  check?(world: World, what: string): void;
}

/** A load balancer that a person made, with consent. */
function lend(world: World): string {
  const { loadBalancer } = world.cloud.network.loadBalancers.create('demo/sim-1', {
    name: 'theirs',
    tags: { 'mooring.dev/attachable-by': `${world.clusterUid}/default` },
    scheme: 'external',
    families: ['IPv4'],
    addresses: [],
    listeners: [],
    pools: [],
    clientToken: undefined,
  });
  return loadBalancer.id;
}

function attach(world: World): void {
  const lent = world.loadBalancers().find(({ name }) => name === 'theirs')?.id ?? lend(world);
  world.services.create('web', { spec: { ports: two }, annotations: { 'mooring.dev/load-balancer-id': lent } });
}

const operations: readonly Operation[] = [
  { name: 'create', prepare: () => {}, perform: (world) => world.services.create('web') },
  {
    name: 'create two, one of each policy',
    prepare: () => {},
    perform(world) {
      world.services.create('a', { spec: { ports: two, sessionAffinity: 'ClientIP' } });
      world.services.create('b', { spec: { externalTrafficPolicy: 'Local' } });
    },
  },
  {
    name: 'change ports, ranges and affinity',
    prepare: (world) => world.services.create('web', { spec: { ports: two } }),
    perform(world) {
      world.services.patch('web', {
        spec: {
          ports: [
            { name: 'http', port: 8080, protocol: 'TCP' },
            { name: 'dns', port: 53, protocol: 'UDP' },
          ],
          loadBalancerSourceRanges: ['10.0.0.0/8'],
          sessionAffinity: 'ClientIP',
        },
      });
    },
  },
  {
    name: 'another member',
    prepare: (world) => world.services.create('web'),
    perform: (world) => world.node('n9'),
  },
  {
    name: 'delete',
    prepare: (world) => world.services.create('web', { spec: { ports: two } }),
    perform: (world) => world.services.delete('web'),
  },
  {
    name: 'change the type away',
    prepare: (world) => world.services.create('web'),
    perform: (world) => world.services.patch('web', { spec: { type: 'ClusterIP' } }),
  },
  {
    name: 'delete and create under the same name',
    prepare: (world) => world.services.create('web'),
    perform(world) {
      world.services.delete('web');
      const again = () => {
        if (world.services.get('web') === undefined) world.services.create('web');
        else world.clock.setTimer(500, again);
      };
      again();
    },
  },
  {
    name: 'delete and retain',
    prepare: (world) => world.services.create('web', { annotations: { 'mooring.dev/load-balancer-retain': 'true' } }),
    perform: (world) => world.services.delete('web'),
    check(world, what) {
      assert.equal(world.services.get('web'), undefined, what);
      const [kept, ...others] = world.loadBalancers();
      const pieces = [kept, ...(kept?.listeners ?? []), ...(kept?.pools ?? [])];
      const owners = pieces.map((piece) => piece?.tags['mooring.dev/service-uid']);
      assert.deepEqual([others, owners.filter((owner) => owner !== undefined)], [[], []], what);
      assert.equal(kept?.tags['mooring.dev/retained'], 'default/web', what);
    },
  },
  {
    name: 'attach',
    prepare: (world) => void lend(world),
    perform: attach,
    check(world, what) {
      const [lent, ...others] = world.loadBalancers();
      assert.deepEqual([others, lent?.listeners.length, lent?.pools.length], [[], 2, 1], what);
      assert.deepEqual(
        world.services.addresses('web'),
        lent?.addresses.map(({ ip }) => ip),
        what,
      );
      assert.equal(world.services.condition('web')?.reason, 'Ensured', what);
    },
  },
  {
    name: 'detach',
    prepare: attach,
    perform: (world) => world.services.delete('web'),
    check(world, what) {
      const [lent, ...others] = world.loadBalancers();
      assert.deepEqual([others, lent?.listeners, lent?.pools, lent?.name], [[], [], [], 'theirs'], what);
      assert.equal(world.services.get('web'), undefined, what);
    },
  },
  {
    name: 'delete while it is being made',
    prepare: () => {},
    perform(world) {
      world.services.create('web');
      world.clock.setTimer(700, () => world.services.delete('web'));
    },
  },
];

const settings: readonly (WorldOptions & { readonly what: string })[] = [
  { what: 'a cloud that is done at once' },
  { what: 'a cloud that takes its time', provisioningMs: 1500, deletingMs: 1500 },
];

/** One life that ends at that call, and one that comes after it. Answers whether the first one died. */
async function crash(
  setting: WorldOptions,
  operation: Operation,
  call: number,
  moment: 'before' | 'unanswered',
): Promise<{ readonly died: boolean; readonly at: string }> {
  const world = createWorld(setting);
  world.node('n0');
  world.node('n1');
  const first = world.replica();
  await first.start();
  operation.prepare(world);
  await world.clock.advance(20_000);
  await first.stop();
  const doomed = world.replica({ death: { call, moment } });
  await doomed.start();
  operation.perform(world);
  for (let second = 0; second < 60 && !doomed.life.dead; second += 1) await world.clock.advance(1000);
  const died = doomed.life.dead;
  const at = doomed.life.calls[call - 1] ?? 'the end';
  await doomed.stop();
  await world.clock.advance(15_000);
  const next = world.replica();
  await next.start();
  await world.clock.advance(120_000);
  (operation.check ?? assertConverged)(world, `${operation.name}: died ${moment} ${call} (${at})`);
  const before = world.mutationCount();
  next.kube.forgetCalls();
  await world.clock.advance(1_300_000);
  assert.equal(world.mutationCount(), before, `${operation.name}: quiet after ${at}`);
  assert.deepEqual(next.kube.writes(), [], `${operation.name}: no writes after ${at}`);
  await world.close();
  return { died, at };
}

for (const { what, ...setting } of settings) {
  describe(`a replica that dies at any call, with ${what}`, () => {
    for (const operation of operations) {
      it(`leaves nothing that the next one does not repair: ${operation.name}`, async () => {
        for (const moment of ['before', 'unanswered'] as const) {
          let deaths = 0;
          for (let call = 1; ; call += 1) {
            const { died } = await crash(setting, operation, call, moment);
            if (!died) break;
            deaths += 1;
          }
          assert.ok(deaths >= 3, `${deaths} places to die at`);
        }
      });
    }
  });
}
