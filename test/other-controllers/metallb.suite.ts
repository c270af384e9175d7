import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import type { Child } from '../kit/world/child.ts';
import { restart } from '../kit/world/controllers.ts';
import { conditionOf, eventsOf, nodeNamed, until } from '../kit/world/scenario.ts';
import {
  addressOf,
  balancerCondition,
  balancersOf,
  createService,
  deleteService,
  ensured,
  mutatingCalls,
  mutationsSince,
  recordOf,
  type ServiceObject,
  serviceGone,
  serviceNamed,
} from '../kit/world/services.ts';
import { startWorld, type World } from '../kit/world/world.ts';
import { findBinaries } from '../real/binaries.ts';
import { type RealApi, startRealApi } from '../real/start-real-api.ts';
import { installMetallb, poolPrefix, startMetallb } from './metallb-process.ts';

const loadBalancerClass = 'metallb.example/local';
const [mooring, metallb] = ['mooring-controller', 'metallb-controller'];

describe('MetalLB and Mooring on one API server', () => {
  let api: RealApi;
  let world: World;
  let other: Child | undefined;

  before(async () => {
    const { found } = await findBinaries(process.env, () => {}, { build: false });
    api = await startRealApi({ binaries: found!, nodeNames: ['node-0001'] });
    world = await startWorld({ api, nodes: 1, agentProcesses: 0, cloudLatencyMs: 0, say: () => {} });
    await installMetallb(world);
    await until('the Node has its route', 30_000, async () => {
      const network = conditionOf(await nodeNamed(world, 'node-0001'), 'NetworkUnavailable');
      return network?.status === 'False';
    });
  });
  after(async () => {
    await other?.stop();
    await world?.stop();
    await api?.stop();
    if (!process.env['MOORING_SHOW']) await rm(world.folder, { recursive: true, maxRetries: 10, retryDelay: 100 });
  });

  const get = async (name: string): Promise<ServiceObject> => {
    const service = await serviceNamed(world, name);
    assert.ok(service, `there is no Service ${name}`);
    return service;
  };
  /** Whose writes the API server has noted on it. */
  const writersOf = ({ metadata }: ServiceObject): string[] =>
    metadata.managedFields.map(({ manager }: { manager: string }) => manager);
  const mooringsEvents = async (name: string) =>
    (await eventsOf(world, name))
      .filter((event) => (event as { source?: { component?: string } }).source?.component === mooring)
      .map(({ reason }) => reason);
  const hasPoolAddress = (service: ServiceObject) => addressOf(service)?.startsWith(poolPrefix) === true;
  const givenByMetallb = (name: string) =>
    until(`${name} has an address of MetalLB`, 30_000, async () => {
      const service = await get(name);
      return hasPoolAddress(service) && service;
    });
  const leftInCloud = () => {
    const { loadBalancers, addresses } = world.cloud.network;
    return loadBalancers.store.all().length + addresses.store.all().length;
  };
  /** Both replicas of Mooring end and come back, and read everything. */
  async function restartMooring(): Promise<void> {
    const leader = await restart(world);
    await until('the leader has read all', 40_000, async () => {
      const samples = await leader.metrics().catch(() => new Map<string, number>());
      return (samples.get('mooring_load_balancer_audits_total{outcome="ok"}') ?? 0) >= 2;
    });
  }
  async function remove(...names: string[]): Promise<void> {
    for (const name of names) await deleteService(world, name);
    for (const name of names) await serviceGone(world, name);
  }

  describe('with a class of its own for MetalLB', () => {
    let calls: ReadonlyMap<string, number>;
    before(() => {
      calls = mutatingCalls(world);
      other = startMetallb(world, [`--lb-class=${loadBalancerClass}`]);
    });
    after(() => other?.stop());

    it('leaves a Service of that class to MetalLB, which gives it an address', async () => {
      // No pool has that name: it stays without an address.
      const nowhere = { 'metallb.io/address-pool': 'missing' };
      await createService(world, { name: 'waits', loadBalancerClass, annotations: nowhere });
      await createService(world, { name: 'theirs', loadBalancerClass });
      assert.ok(writersOf(await givenByMetallb('theirs')).includes(metallb));
    });

    it('serves a Service without a class, which MetalLB leaves alone', async () => {
      assert.equal(mutationsSince(world, calls), '');
      await createService(world, { name: 'ours' });
      const service = await ensured(world, 'ours');
      assert.ok(!hasPoolAddress(service));
      assert.equal(balancersOf(world, service).length, 1);
      assert.ok(!writersOf(service).includes(metallb));
      calls = mutatingCalls(world);
    });

    it('tells of the one that has no address after a minute, and writes on none of that class', async () => {
      const told = async () => (await mooringsEvents('waits')).length > 0;
      await until('Mooring tells of waits', 90_000, told);
      assert.deepEqual(await mooringsEvents('waits'), ['OtherLoadBalancerClass']);
      assert.deepEqual(await mooringsEvents('theirs'), []);
      for (const name of ['theirs', 'waits']) assert.ok(!writersOf(await get(name)).includes(mooring), name);
      assert.equal(mutationsSince(world, calls), '');
    });

    it('calls the cloud for no change and changes no address when Mooring is started again', async () => {
      const before = [await get('theirs'), await get('waits'), await get('ours')];
      const sent = mutatingCalls(world);
      await restartMooring();
      assert.equal(mutationsSince(world, sent), '');
      const now = [await get('theirs'), await get('waits'), await get('ours')];
      assert.deepEqual(
        now.map(({ metadata }) => metadata.resourceVersion),
        before.map(({ metadata }) => metadata.resourceVersion),
      );
    });

    it('lets go of each Service that is deleted, and leaves nothing in the cloud', async () => {
      await remove('theirs', 'waits', 'ours');
      assert.equal(leftInCloud(), 0);
    });
  });

  describe('where MetalLB serves Services without a class, too', () => {
    before(() => {
      other = startMetallb(world, []);
    });
    after(() => other?.stop());

    it('makes nothing for a Service to which MetalLB gave an address first', async () => {
      const sent = mutatingCalls(world);
      let address: string | undefined;
      await restart(world, async () => {
        await createService(world, { name: 'first' });
        address = addressOf(await givenByMetallb('first'));
      });
      await until(
        'it says why',
        30_000,
        async () => balancerCondition(await get('first'))?.reason === 'AdoptionRequired',
      );
      await restartMooring();
      const service = await get('first');
      assert.equal(addressOf(service), address);
      assert.equal(balancerCondition(service)?.reason, 'AdoptionRequired');
      assert.equal(service.metadata.finalizers, undefined);
      assert.equal(mutationsSince(world, sent), '');
    });

    it('ends with a new Service that is either left to MetalLB, or served and disputed', async () => {
      const names = ['new-1', 'new-2', 'new-3', 'new-4', 'new-5'];
      for (const name of names) await createService(world, { name });
      for (const name of names) {
        const service = await until(`${name} is served by one or disputed`, 30_000, async () => {
          const now = await get(name);
          return ['AdoptionRequired', 'AddressOverwritten'].includes(balancerCondition(now)?.reason ?? '') && now;
        });
        const isLeft = balancerCondition(service)?.reason === 'AdoptionRequired';
        assert.equal(balancersOf(world, service).length, isLeft ? 0 : 1, name);
        assert.equal(recordOf(service) === undefined, isLeft, name);
      }
      await remove(...names);
    });

    it('keeps the load balancer and address of a Service that MetalLB takes later, and says so', async () => {
      await other?.stop();
      await createService(world, { name: 'both' });
      const before = await ensured(world, 'both');
      const ids = balancersOf(world, before).map(({ id }) => id);
      const sent = mutatingCalls(world);
      other = startMetallb(world, []);
      const reason = async () => balancerCondition(await get('both'))?.reason;
      await until('it says so', 30_000, async () => (await reason()) === 'AddressOverwritten');
      await other.stop();
      const after = await ensured(world, 'both', 60_000);
      assert.equal(addressOf(after), addressOf(before));
      assert.deepEqual(
        balancersOf(world, after).map(({ id }) => id),
        ids,
      );
      assert.equal(mutationsSince(world, sent), '');
    });

    it('lets go of each Service that is deleted, and leaves nothing in the cloud', async () => {
      other = startMetallb(world, []);
      await remove('first', 'both');
      assert.equal(leftInCloud(), 0);
    });
  });
});
