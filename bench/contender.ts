import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { names } from '../common/well-known.ts';
import type { RunningCloud } from '../test/kit/cloud/start-cloud.ts';
import type { KubeRest } from '../test/kit/world/kube-rest.ts';
import { guard, startChild } from '../test/real/child.ts';
import { runFlags, startShippedController, writeRunFiles } from './shipped-controller.ts';
import type { BenchApi } from './start-bench-api.ts';

/** A cloud controller that is measured, ours or another. */
export interface Contender {
  readonly name: string;
  start(place: ContenderPlace): Promise<RunningContender>;
}

export interface ContenderPlace {
  readonly api: BenchApi['api'];
  readonly cloud: RunningCloud;
  readonly folder: string;
  /** Flags that mean the same to all of them. */
  readonly extra: readonly string[];
}

export interface RunningContender {
  readonly pid: number;
  /** Ends it as a kubelet would: SIGTERM. */
  stop(): Promise<void>;
}

export function ours(dist: string): Contender {
  return {
    name: 'ours',
    start: (place) => startShippedController(dist, { ...place, credentials: true }),
  };
}

/** The controllers of k8s.io/cloud-provider. @param flags besides the common ones; none = its defaults */
export function theirs(program: string, name: string, flags: readonly string[]): Contender {
  return {
    name,
    async start({ api, cloud, folder, extra }) {
      const files = await writeRunFiles({ api, cloud, credentials: true, folder });
      const logs = await mkdtemp(join(folder, 'log-'));
      const args = [...runFlags(files), '--leader-elect=true', '--secure-port=0', ...flags, ...extra];
      const child = startChild(program, args, join(logs, 'upstream.log'));
      const watchman = guard([child.pid], logs);
      await sleep(500);
      const ended = child.ended();
      if (ended !== undefined) throw new Error(`${name}: ${ended}\n${child.logTail()}`);
      return {
        pid: child.pid,
        async stop() {
          watchman.release();
          // It has no handler for SIGTERM: the two signals are one to it.
          await child.kill();
        },
      };
    },
  };
}

/**
 * Waits until a replica other than `before` holds the leader's lease. Returns that replica and the time at which it
 * took it, by the Lease and so by this machine's clock.
 */
export async function newLeader(
  rest: KubeRest,
  before?: string,
): Promise<{ readonly holder: string; readonly at: number }> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${names.namespace}/leases/${names.lease}`;
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(50)) {
    const { holderIdentity: holder, acquireTime } = (await rest.call('GET', path)).body?.spec ?? {};
    if (typeof holder === 'string' && holder !== '' && holder !== before)
      return { holder, at: Date.parse(acquireTime) };
  }
  throw new Error('no replica leads after a minute');
}
