import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Clock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { taints } from '../../common/well-known.ts';
import { createOutOfTreeModule } from '../../controller/app/cloud-modules/load-cloud-module.ts';
import { openClouds } from '../../controller/app/open-clouds.ts';
import type { CloudKit, Machines, OpenedCloud, OutOfTreeCloud, Seen } from '../../controller/clouds/out-of-tree.ts';
import { providerID, type World } from './harness/world.ts';
import { worldStage } from './harness/world-stage.ts';

/** What becomes of a lookup of the module; undefined: the module works. */
type Fault = undefined | (() => unknown);

const faults: readonly (readonly [string, () => unknown])[] = [
  [
    'throws an error of its own',
    () => {
      throw new TypeError('servers is not iterable');
    },
  ],
  ['rejects with a text', () => Promise.reject('no')],
  ['does not end', () => new Promise(() => {})],
  ['answers nothing', async () => undefined],
  ['answers an empty Map', async () => new Map()],
  ['answers something else', async () => new Map([['example://1', { state: 'found', instance: { id: 1 } }]])],
  ['answers that instances are gone, and not how', async () => new Map([['example://1', { state: 'gone' }]])],
  [
    'answers another instance',
    async () => new Map([['example://1', seen({ name: 'example' } as CloudKit, '2', 'other')]]),
  ],
];

function seen({ name: cloud }: Pick<CloudKit, 'name'>, id: string, name: string): Seen {
  const addresses = [{ type: 'InternalIP' as const, address: `10.9.0.${id}` }];
  const instance = { cloud, id, name, providerID: `${cloud}://${id}`, zone: 'z', addresses };
  return { state: 'found', power: 'running', request: 'id', instance };
}

/** A cloud of a module: servers by id, and lookups as the test has them. */
function moduleOf(servers: ReadonlyMap<string, string>, fault: () => Fault) {
  function createCloud(kit: CloudKit): OutOfTreeCloud {
    const machines: Machines = {
      holds: () => true,
      all: async () => new Map([...servers].map(([id, name]) => [id, seen(kit, id, name)])),
      named: async () => [...servers].map(([id, name]) => seen(kit, id, name)),
      async get(id) {
        const name = servers.get(id);
        if (name === undefined) throw kit.error({ kind: 'NotFound', operation: 'get', message: id });
        return seen(kit, id, name);
      },
    };
    const working = kit.instances(() => [machines]);
    const opened: OpenedCloud = {
      name: kit.name,
      identify: async () => ({ scope: 'example.test/account', account: 'account' }),
      accepts() {
        if (fault() !== undefined) throw new Error('broken');
        return true;
      },
      instances: {
        batchSize: 10,
        lookup: (refs, options) => (fault()?.() as never) ?? working.lookup(refs, options),
      },
      check: async () => [],
      close() {},
    };
    return { open: async () => opened };
  }
  return createOutOfTreeModule('example', 'a test', () => ({ contractVersion: 1, createCloud }));
}

describe('a cloud of a module beside one of Mooring', () => {
  const begin = worldStage();

  async function setUp() {
    const servers = new Map([['1', 'mine']]);
    let fault: Fault;
    let world: World | undefined;
    // The world has the clock, and is made of the cloud.
    const clock: Clock = {
      now: () => world!.clock.now(),
      monotonic: () => world!.clock.monotonic(),
      uptime: () => world!.clock.uptime(),
      setTimer: (ms, run) => world?.clock.setTimer(ms, run) ?? { cancel() {} },
    };
    const module = moduleOf(servers, () => fault);
    const request = { name: 'example', module, config: undefined, selector: undefined };
    const context = { clock, random: () => 0.5, log: silentLog, env: {}, onCall: () => {} };
    const [opened] = await openClouds([request], context);
    const begun = begin({ clouds: [{}, { opened: opened! }] });
    world = begun.world;
    await begun.replica.start();
    const breakWith = (next: Fault) => {
      fault = next;
    };
    return { ...begun, servers, breakWith };
  }

  it('initialises Nodes of a module, and deletes them when a request by id proves the instance absent', async () => {
    const { world, servers } = await setUp();
    world.cluster.register('mine', { providerID: 'example://1' });
    const kubelet = world.cluster.kubelet('mine');
    await world.clock.advance(10_000);
    assert.equal(world.cluster.hasTaint('mine', taints.uninitialized), false);
    assert.deepEqual(world.cluster.mustNode('mine').status.addresses, [{ type: 'InternalIP', address: '10.9.0.1' }]);
    await world.clock.advance(600_000);
    servers.clear();
    kubelet.die();
    await world.clock.advance(1_200_000);
    assert.deepEqual(world.cluster.names(), []);
  });

  for (const [what, fault] of faults)
    it(`keeps its Nodes as they are while it ${what}, and the other cloud goes on`, async () => {
      const { world, breakWith } = await setUp();
      world.cluster.register('mine', { providerID: 'example://1' });
      const kubelet = world.cluster.kubelet('mine');
      const leaving = world.join('leaving');
      const leavingKubelet = world.cluster.kubelet('leaving');
      await world.clock.advance(600_000);
      const { spec, status, metadata } = world.cluster.mustNode('mine');
      assert.equal(world.cluster.hasTaint('mine', taints.uninitialized), false);

      breakWith(fault);
      kubelet.die();
      leavingKubelet.die();
      world.cloud.model.forget(leaving.id);
      world.cluster.register('waiting', { providerID: 'example://2' });
      // By its name alone it could be of either cloud, and would wait for both.
      const joining = world.cloud.model.create({ name: 'joining' });
      world.cluster.register('joining', { providerID: providerID(joining) });
      await world.clock.advance(3_600_000);

      const now = world.cluster.mustNode('mine');
      assert.equal(now.spec.providerID, spec.providerID);
      assert.deepEqual(now.status.addresses, status.addresses);
      assert.deepEqual(now.metadata.labels, metadata.labels);
      for (const taint of [taints.shutdown, taints.outOfService, taints.uninitialized])
        assert.equal(world.cluster.hasTaint('mine', taint), false);
      assert.equal(world.cluster.hasTaint('waiting', taints.uninitialized), true);
      // The other cloud.
      assert.equal(world.cluster.hasTaint('joining', taints.uninitialized), false);
      assert.equal(world.cluster.node('leaving'), undefined);

      breakWith(undefined);
      await world.clock.advance(600_000);
      assert.equal(world.cluster.mustNode('mine').spec.providerID, 'example://1');
    });
});
