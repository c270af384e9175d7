import { setTimeout as sleep } from 'node:timers/promises';
import { taints } from '../../common/well-known.ts';
import type { KubeObject } from '../../test/conformance/client.ts';
import type { RunningCloud } from '../../test/kit/cloud/start-cloud.ts';
import { strategicPatch } from '../../test/kit/world/kube-rest.ts';
import { createNodes } from '../bare-patches.ts';
import { type CallsMade, countCalls } from '../calls-made.ts';
import { eachOf } from '../fleet.ts';
import { type MemoryFigures, memoryOf } from '../process-figures.ts';
import { loadBalancerService, quiet, type Stage, servicesPath } from '../stage.ts';
import { watchFor } from '../watch-for.ts';
import { isInitialised } from './node-joins.ts';

export interface ServicesOptions {
  readonly services: number;
  readonly nodes: number;
}

/** One event, the time until the cloud was as desired, and the calls of the cloud until it rested. */
export interface Effort {
  readonly wallMs: number;
  readonly calls: CallsMade;
}

export interface ServicesResult {
  /** From the first Service created to the last one with an address. */
  readonly ready: Effort;
  /** From the Node created to its instance being a member everywhere. */
  readonly join: Effort;
  /**
   * From the autoscaler's taint, with the Node deleted right after it, until no load balancer sends new connections to
   * its instance.
   */
  readonly leave: Effort & {
    /** To its instance being a member nowhere, after any drain. */
    readonly goneMs: number;
  };
  readonly restart: Restart;
  readonly memory: MemoryFigures;
}

export interface Restart {
  /** From the end of the leader, in order, to the next one's lease. */
  readonly takeoverMs: number;
  /** From the lease to the last call of the cloud before it rested. */
  readonly settleMs: number;
  readonly calls: CallsMade;
}

interface ServiceFields {
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly unknown[] } };
}

const noRoutes = ['--configure-cloud-routes=false'];
const patienceMs = 600_000;
const restMs = 4000;

/**
 * Services of type LoadBalancer on a few nodes: all created at once, then a node that joins and leaves, then a restart
 * with nothing changed.
 */
export async function measureServices(stage: Stage, { services, nodes }: ServicesOptions): Promise<ServicesResult> {
  const { cloud, client, rest, api } = stage;
  const machines = cloud.model.createMany(nodes, { name: 'bench' });
  const leader = await stage.lead(noRoutes);
  const initialised = await watchFor(client, '/api/v1/nodes', isInitialised);
  const addressed = await watchFor(client, servicesPath, hasAddress);
  try {
    await createNodes(api, machines, 16);
    await initialised.reached(nodes, patienceMs);
    await quiet(cloud, restMs);

    const ready = await effort(cloud, async () => {
      await createServices(stage, services);
      return addressed.reached(services, patienceMs);
    });

    const [joiner] = cloud.model.createMany(1, { name: 'joiner' });
    const having = (counts: (weight: number) => boolean) =>
      cloud.network.loadBalancers.store
        .all()
        .filter(({ pools }) =>
          pools.some(({ members }) =>
            members.some(({ instanceId, weight }) => instanceId === joiner!.id && counts(weight)),
          ),
        ).length;
    const join = await effort(cloud, async () => {
      await createNodes(api, [joiner!], 1);
      return until(() => having((weight) => weight > 0) === services);
    });
    let goneMs = 0;
    const left = await effort(cloud, async () => {
      const since = Date.now();
      const mark = { key: taints.toBeDeletedByAutoscaler, value: '1', effect: 'NoSchedule' };
      const path = `/api/v1/nodes/${joiner!.name}`;
      await rest.must('PATCH', path, { spec: { taints: [mark] } }, { type: strategicPatch });
      await rest.must('DELETE', path);
      const outAt = await until(() => having((weight) => weight > 0) === 0);
      goneMs = (await until(() => having(() => true) === 0)) - since;
      return outAt;
    });
    const leave = { ...left, goneMs };

    const stopping = Date.now();
    await leader.stop();
    const calls = countCalls(cloud.calls);
    const next = await stage.lead(noRoutes);
    const settled = await quiet(cloud, restMs);
    const restart = { takeoverMs: next.ledAt - stopping, settleMs: Math.max(0, settled - next.ledAt), calls: calls() };
    return { ready, join, leave, restart, memory: await memoryOf(next.pid) };
  } finally {
    initialised.stop();
    addressed.stop();
  }
}

export function hasAddress(object: KubeObject): boolean {
  return ((object as ServiceFields).status?.loadBalancer?.ingress?.length ?? 0) > 0;
}

export async function createServices({ rest }: Pick<Stage, 'rest'>, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, index) => `bench-${index}`);
  await eachOf(names, 16, (name) => rest.must('POST', servicesPath, loadBalancerService(name)));
}

/** @param happen answers when it was done, by `Date.now()` */
async function effort(cloud: RunningCloud, happen: () => Promise<number>): Promise<Effort> {
  const calls = countCalls(cloud.calls);
  const since = Date.now();
  const wallMs = (await happen()) - since;
  await quiet(cloud, restMs);
  return { wallMs, calls: calls() };
}

async function until(holds: () => boolean): Promise<number> {
  for (const deadline = Date.now() + patienceMs; Date.now() < deadline; await sleep(20)) if (holds()) return Date.now();
  throw new Error(`the cloud is not as it should be after ${patienceMs / 1000} s`);
}
