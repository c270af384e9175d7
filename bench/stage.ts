import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../common/process/clock.ts';
import { seededRandom } from '../common/process/random.ts';
import { names } from '../common/well-known.ts';
import { type Client, type KubeObject, makeClient } from '../test/conformance/client.ts';
import { type RunningCloud, startCloud } from '../test/kit/cloud/start-cloud.ts';
import { createKubeRest, type KubeRest, mergePatch } from '../test/kit/world/kube-rest.ts';
import { type Contender, newLeader, type RunningContender } from './contender.ts';
import { eachOf } from './fleet.ts';
import type { BenchApi } from './start-bench-api.ts';

/** An empty cluster and an empty cloud on which one contender is measured. */
export interface Stage {
  readonly api: BenchApi['api'];
  readonly rest: KubeRest;
  readonly client: Client;
  readonly cloud: RunningCloud;
  /**
   * Starts the contender, and waits until it leads.
   * @param others another contender than the one on stage
   */
  lead(extra: readonly string[], others?: Contender): Promise<Leading>;
}

export interface Leading extends RunningContender {
  readonly holder: string;
  /** By `Date.now()`. */
  readonly startedAt: number;
  readonly ledAt: number;
  /** Ends it and takes its lease away, so that the next one need not wait for its end. */
  retire(): Promise<void>;
}

export interface StageOptions {
  /** Of every call of the cloud. */
  readonly latencyMs: number;
}

const leases = `/apis/coordination.k8s.io/v1/namespaces/${names.namespace}/leases`;
const width = 16;

/** Runs `measure` on a fresh stage, and clears everything away after it. */
export async function onStage<T>(
  api: BenchApi['api'],
  contender: Contender,
  { latencyMs }: StageOptions,
  measure: (stage: Stage) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-bench-'));
  const rest = createKubeRest(api);
  const client = makeClient(api.url, api.caPem, api.adminToken);
  const cloud = await startCloud({
    clock: systemClock(),
    random: seededRandom(1),
    // What is measured is calls; waiting for a slow cloud would be the same for all.
    loadBalancerTimings: { provisioningMs: 0, deletingMs: 0 },
  });
  if (latencyMs > 0) cloud.faults.add({ operation: '*', effect: { kind: 'latency', ms: latencyMs } });
  const running = new Set<RunningContender>();
  let holder: string | undefined;

  async function lead(extra: readonly string[], other = contender): Promise<Leading> {
    const startedAt = Date.now();
    const process = await other.start({ api, cloud, folder, extra });
    running.add(process);
    const leader = await newLeader(rest, holder);
    holder = leader.holder;
    const stop = async () => {
      running.delete(process);
      await process.stop();
    };
    return {
      pid: process.pid,
      holder: leader.holder,
      startedAt,
      ledAt: leader.at,
      stop,
      async retire() {
        await stop();
        await rest.call('DELETE', `${leases}/${names.lease}`);
        holder = undefined;
      },
    };
  }

  try {
    return await measure({ api, rest, client, cloud, lead });
  } finally {
    for (const process of running) await process.stop();
    await clear(rest);
    client.close();
    rest.close();
    await cloud.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Takes away all Nodes, Services and Leases, and what our controller keeps besides. */
async function clear(rest: KubeRest): Promise<void> {
  const namesOf = async (path: string) =>
    ((await rest.must('GET', path)).items as KubeObject[]).map(({ metadata }) => metadata.name);
  const nodes = await namesOf('/api/v1/nodes');
  await eachOf(nodes, width, (name) => rest.call('DELETE', `/api/v1/nodes/${name}`));
  const services = (await namesOf(servicesPath)).filter((name) => name !== 'kubernetes');
  await eachOf(services, width, async (name) => {
    await rest.call('PATCH', `${servicesPath}/${name}`, { metadata: { finalizers: null } }, { type: mergePatch });
    await rest.call('DELETE', `${servicesPath}/${name}`);
  });
  for (const lease of [names.lease, names.replicasLease]) await rest.call('DELETE', `${leases}/${lease}`);
  for (const kind of ['configmaps', 'secrets']) {
    await rest.call('DELETE', `/api/v1/namespaces/${names.namespace}/${kind}/${names.certificates}`);
  }
}

export const servicesPath = '/api/v1/namespaces/default/services';

export function loadBalancerService(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { type: 'LoadBalancer', selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] },
  };
}

/**
 * Waits until the cloud had no call for `forMs`, at most `timeoutMs`. Returns when the last call ended, by
 * `Date.now()`, or now after the timeout.
 */
export async function quiet(cloud: RunningCloud, forMs: number, timeoutMs = 180_000): Promise<number> {
  const deadline = Date.now() + timeoutMs;
  let last = Date.now();
  for (let before = cloud.calls.total(); Date.now() < deadline && Date.now() - last < forMs; await sleep(20)) {
    const now = cloud.calls.total();
    if (now !== before) last = Date.now();
    before = now;
  }
  return last;
}
