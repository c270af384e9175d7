import assert from 'node:assert/strict';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startEmbeddedApi } from '../conformance/embedded-api.ts';
import type { SimulatedInstance } from '../kit/cloud/instance.ts';
import { startTraffic, type Traffic } from '../kit/data-plane/traffic.ts';
import { startChild } from '../kit/world/child.ts';
import { audited } from '../kit/world/controllers.ts';
import { conditionOf, nodeNamed, taintKeys, until } from '../kit/world/scenario.ts';
import {
  answering,
  createService,
  deleteService,
  ensured,
  livingNodes,
  mutatingCalls,
  mutationsSince,
  patchService,
  serviceGone,
  targetOf,
} from '../kit/world/services.ts';
import { startWorld, type World } from '../kit/world/world.ts';
import { type BuiltRelease, type Program, previousRelease, secondPreviousRelease, thisRelease } from './releases.ts';
import { withoutHarm } from './watch-cluster.ts';

const services = ['web', 'local', 'two-ports'] as const;

/**
 * The previous release, this one and the previous one again: controllers and agents as processes of what was built, on
 * the simulated cloud, whose load balancers carry connections all the while.
 */
describe('an upgrade and the way back, on the simulated cloud', () => {
  /** What starts when a program starts next. */
  const releases: Record<Program, BuiltRelease> = { controller: previousRelease(), agent: previousRelease() };
  let api: Awaited<ReturnType<typeof startEmbeddedApi>>;
  let world: World;
  let traffic: Traffic;
  let isWell = false;

  before(async () => {
    api = await startEmbeddedApi();
    world = await startWorld({
      api,
      nodes: 3,
      cloudLatencyMs: 0,
      agentProcesses: 9,
      say: () => {},
      startProgram: (program, args, logFile) => startChild([releases[program][program], 'run', ...args], logFile),
    });
    await until('all Nodes are initialised', 60_000, async () => (await initialised()).length === 3);
    await createService(world, { name: 'web' });
    await createService(world, { name: 'local', policy: 'Local' });
    const ports = [80, 443].map((port) => ({ name: `p${port}`, port }));
    await createService(world, { name: 'two-ports', ports, sourceRanges: ['127.0.0.0/8'] });
    for (const name of services) await ensured(world, name);
    const target = targetOf(world, await ensured(world, 'web'));
    await answering(target, await livingNodes(world));
    traffic = startTraffic({ target: () => target, everyMs: 50, kept: 3, keptMs: 3000 });
  });
  after(async () => {
    await traffic?.stop();
    await world?.stop();
    await api?.stop();
    if (isWell) await rm(world.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    else if (world) console.error(`logs are in ${world.folder}/logs`);
  });

  async function initialised(): Promise<string[]> {
    const { items } = await world.rest.must('GET', '/api/v1/nodes');
    // biome-ignore lint/suspicious/noExplicitAny: a Node as the API server sends it
    const done = items.filter((node: any) => conditionOf(node, 'CloudInitialized')?.status === 'True');
    return done.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  }

  /** One replica after the other, as the Deployment does it. Resolves when the leader is at rest. */
  async function replaceControllers(release: BuiltRelease): Promise<void> {
    releases.controller = release;
    for (const replica of world.replicas) {
      await replica.child.stop();
      replica.start();
      await until(`${replica.name} answers`, 60_000, () => replica.metrics().catch(() => undefined));
    }
    const leader = await until('a replica leads', 30_000, () => world.leader());
    await audited(world, leader, 2);
  }

  /** How often processes of this agent have said that their reports are accepted: each does so with its first one. */
  async function timesAccepted(name: string): Promise<number> {
    const log = await readFile(join(world.folder, 'logs', `agent-${name}.log`), 'utf8');
    return log.split('report accepted').length - 1;
  }

  /** Agents start again, one after the other as the DaemonSet does it. The leader has to accept what each reports. */
  async function restartAgents(release: BuiltRelease, vms: readonly SimulatedInstance[] = world.vms): Promise<void> {
    releases.agent = release;
    for (const vm of vms) {
      await world.agents.stop(vm.name);
      const before = await timesAccepted(vm.name);
      await world.agents.restart(vm);
      await until(`a report of ${vm.name} is accepted`, 60_000, async () => (await timesAccepted(vm.name)) > before);
    }
  }

  const withoutCalls = (work: () => Promise<void>) =>
    withoutHarm(api, async () => {
      const before = mutatingCalls(world);
      await work();
      assert.equal(mutationsSince(world, before), '');
    });
  const target = async (name: string, port = 80) => targetOf(world, await ensured(world, name), port);

  it('swaps the controllers: no call changes anything, and the reports of older agents are accepted', () =>
    withoutCalls(async () => {
      await replaceControllers(thisRelease());
      await restartAgents(previousRelease(), world.vms.slice(0, 1));
      await restartAgents(secondPreviousRelease(), world.vms.slice(1, 2));
    }));

  it('swaps the agents, without a change of a Node or of the cloud', () =>
    withoutCalls(() => restartAgents(thisRelease())));

  it('serves a further Node and a further port by the newer controller', async () => {
    await world.boot('joined-under-this');
    await until('it is initialised', 60_000, async () => (await initialised()).includes('joined-under-this'));
    const [first] = (await ensured(world, 'web')).spec.ports;
    // With its node port: another one is another target of the load balancer.
    await patchService(world, 'web', { spec: { ports: [first, { name: 'more', port: 8080 }] } });
    await answering(await target('web', 8080), await livingNodes(world));
    await answering(await target('two-ports', 443), await livingNodes(world));
  });

  it('goes back to the older controllers: no call changes anything, and newer agents are served', () =>
    withoutCalls(async () => {
      await replaceControllers(previousRelease());
      await restartAgents(thisRelease(), world.vms.slice(0, 1));
    }));

  it('goes back to the older agents, without a change of a Node or of the cloud', () =>
    withoutCalls(() => restartAgents(previousRelease())));

  it('serves a further Node, fewer ports and the end of a Service by the older controller', async () => {
    await world.boot('joined-under-previous');
    await until('it is initialised', 60_000, async () => (await initialised()).includes('joined-under-previous'));
    const [first] = (await ensured(world, 'web')).spec.ports;
    await patchService(world, 'web', { spec: { ports: [first] } });
    await answering(await target('web'), await livingNodes(world));
    await deleteService(world, 'local');
    await serviceGone(world, 'local');
    for (const name of await initialised())
      assert.deepEqual(taintKeys(await nodeNamed(world, name)), [], `taints of ${name}`);
  });

  it('carries every connection during the upgrade and the way back', async () => {
    const { short, kept, failures, byNode } = await traffic.stop();
    assert.deepEqual(failures, []);
    assert.ok(short > 100 && kept > 10, `${short} short connections, ${kept} kept ones`);
    assert.ok(byNode.size >= 4, `${[...byNode.keys()]}`);
    isWell = true;
  });
});
