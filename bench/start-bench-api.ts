import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { ApiUnderTest } from '../test/conformance/api-under-test.ts';
import type { RequestCount } from '../test/kit/kube-api/request-counts.ts';
import { findBinaries } from '../test/real/binaries.ts';
import { startRealApi } from '../test/real/start-real-api.ts';
import { createAuditLog } from './audit-log.ts';
import { cpuSecondsOf } from './process-figures.ts';

/** An API server in a process of its own, so that its work does not count as the client's. */
export interface BenchApi {
  api: Pick<ApiUnderTest, 'kind' | 'url' | 'caPem' | 'adminToken'>;
  /** What was asked so far, by the server's own count: of the embedded one, what the controller asked. */
  requests?(): Promise<readonly RequestCount[]>;
  /** Processor time of the server so far; of the real one with its etcd. */
  cpuSeconds(): Promise<number>;
  stop(): Promise<void>;
}

/**
 * `which` is `real` or `embedded`. Throws where the real servers cannot be had.
 * @param audited whether the real one keeps a count, too, which costs it some work for each request
 */
export async function startBenchApi(which: string, audited = false): Promise<BenchApi> {
  if (which === 'real') {
    const result = await findBinaries(process.env, (line) => console.error(line));
    if (!result.found) throw new Error(`no real API server: ${result.reason}`);
    const audit = audited ? await createAuditLog() : undefined;
    const apiserverArguments = audit?.apiserverArguments ?? [];
    const api = await startRealApi({ binaries: result.found, apiserverArguments });
    return {
      api,
      ...(audit && { requests: audit.requests }),
      cpuSeconds: () => cpuOf(api.pids()),
      async stop() {
        await api.stop();
        await audit?.remove();
      },
    };
  }
  if (which !== 'embedded') throw new Error(`--api ${which}: expected real or embedded`);
  const child = fork(new URL('embedded-api-process.ts', import.meta.url), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [api] = (await once(child, 'message')) as [BenchApi['api']];
  return {
    api,
    async requests() {
      const answer = once(child, 'message');
      child.send('requests');
      return (await answer)[0].requests;
    },
    cpuSeconds: () => cpuOf([child.pid!]),
    async stop() {
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    },
  };
}

async function cpuOf(pids: readonly number[]): Promise<number> {
  return (await Promise.all(pids.map(cpuSecondsOf))).reduce((sum, each) => sum + each, 0);
}
