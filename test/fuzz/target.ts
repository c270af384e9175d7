import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readlink } from 'node:fs/promises';
import type { ServingCredentials } from '../../controller/runtime/serving/credentials.ts';
import type { Door } from './cases.ts';

export interface TargetConfig {
  readonly apiUrl: string;
  readonly apiCa: string;
  readonly apiToken: string;
  readonly credentials: ServingCredentials;
}

export type ToTarget = { readonly type: 'serve'; readonly config: TargetConfig } | { readonly type: 'account' };

/** What the target did since it was last asked. Memory in bytes, after a garbage collection. */
export interface Account {
  readonly lines: readonly string[];
  readonly kept: readonly { readonly node: string; readonly uid: string; readonly report: string }[];
  readonly heapUsed: number;
  readonly external: number;
  readonly rss: number;
  readonly stored: number;
}

export type FromTarget =
  | { readonly type: 'ready'; readonly ports: Readonly<Record<Door, number>> }
  | ({ readonly type: 'account' } & Account);

export interface Target {
  readonly pid: number;
  readonly ports: Readonly<Record<Door, number>>;
  /** Undefined while it lives; afterwards how it ended, with the end of what it printed. */
  death(): string | undefined;
  account(): Promise<Account>;
  /** Sockets that it holds open now. */
  sockets(): Promise<number>;
  stop(): Promise<void>;
}

const answerTimeoutMs = 30_000;

/** As deploy/ starts the controller. */
const shippedFlags = ['--max-semi-space-size=1', '--max-old-space-size=96'];

/** Starts the servers. Rejects when they do not come up. */
export async function startTarget(config: TargetConfig, nodeFlags: readonly string[] = shippedFlags): Promise<Target> {
  const child: ChildProcess = fork(new URL('target-process.ts', import.meta.url), {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: ['--expose-gc', ...nodeFlags],
  });
  let printed = '';
  let end: string | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      printed = (printed + chunk.toString('utf8')).slice(-4000);
    });
  }
  const gone = new Promise<never>((_, reject) => {
    child.once('exit', (code, signal) => {
      end = `the server's process ended with ${signal ?? code}: ${printed}`;
      reject(new Error(end));
    });
  });
  gone.catch(() => {});

  async function ask<T extends FromTarget['type']>(message: ToTarget, type: T): Promise<FromTarget & { type: T }> {
    if (end !== undefined) throw new Error(end);
    const impatience = new AbortController();
    const timer = setTimeout(
      () => impatience.abort(new Error('the server does not answer its parent')),
      answerTimeoutMs,
    );
    child.send(message);
    const [answer] = (await Promise.race([once(child, 'message', { signal: impatience.signal }), gone]).finally(() => {
      clearTimeout(timer);
      impatience.abort();
    })) as [FromTarget];
    if (answer.type !== type) throw new Error(`the server's process said ${answer.type} instead of ${type}`);
    return answer as FromTarget & { type: T };
  }

  const { ports } = await ask({ type: 'serve', config }, 'ready');
  return {
    pid: child.pid ?? 0,
    ports,
    death: () => end,
    account: () => ask({ type: 'account' }, 'account'),
    async sockets() {
      const folder = `/proc/${child.pid}/fd`;
      const links = await Promise.all(
        (await readdir(folder)).map((name) => readlink(`${folder}/${name}`).catch(() => '')),
      );
      return links.filter((link) => link.startsWith('socket:')).length;
    },
    async stop() {
      if (end !== undefined) return;
      child.kill('SIGKILL');
      await gone.catch(() => {});
    },
  };
}
