import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentsSeen, ToAgents } from './agents-process.ts';
import type { PreparedAgent } from './fleet.ts';
import { cpuSecondsOf } from './process-figures.ts';

/** Many agents in few processes. */
export interface Agents {
  /** Has every agent report at once. */
  wake(): Promise<void>;
  /** Forgets what was seen so far. */
  mark(): Promise<void>;
  seen(): Promise<AgentsSeen>;
  /** Waits until `share` of them have been accepted since the mark. Throws after `timeoutMs`. */
  allAccepted(timeoutMs: number): Promise<AgentsSeen>;
  /** User and system time of their processes so far: where it nears the time that passed, they are what is slow. */
  cpuSeconds(): Promise<number>;
  stop(): void;
}

const perProcess = 2500;

/** Starts them; each reports only when it is woken, and from then on at its own pace. */
export async function startAgents(
  agents: readonly PreparedAgent[],
  to: { readonly ca: string; readonly urls: readonly string[] },
): Promise<Agents> {
  const children: ChildProcess[] = [];

  async function tell(child: ChildProcess, message: ToAgents): Promise<AgentsSeen> {
    const answer = once(child, 'message');
    child.send(message);
    return (await answer)[0] as AgentsSeen;
  }

  const tellAll = (message: ToAgents) => Promise.all(children.map((child) => tell(child, message)));

  async function seen(): Promise<AgentsSeen> {
    const all = await tellAll({ do: 'tell' });
    const outcomes: Record<string, number> = {};
    for (const each of all) {
      for (const [outcome, count] of Object.entries(each.outcomes))
        outcomes[outcome] = (outcomes[outcome] ?? 0) + count;
    }
    return { firstMs: all.flatMap(({ firstMs }) => firstMs).sort((a, b) => a - b), outcomes };
  }

  for (let at = 0; at < agents.length; at += perProcess) {
    const child = fork(new URL('agents-process.ts', import.meta.url), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    children.push(child);
    await tell(child, { do: 'start', agents: agents.slice(at, at + perProcess), firstNumber: at + 1, ...to });
  }

  return {
    async wake() {
      await tellAll({ do: 'wake' });
    },
    async mark() {
      await tellAll({ do: 'mark' });
    },
    seen,
    async allAccepted(timeoutMs) {
      const deadline = Date.now() + timeoutMs;
      for (;;) {
        const now = await seen();
        if (now.firstMs.length >= agents.length) return now;
        if (Date.now() > deadline) {
          throw new Error(
            `${now.firstMs.length} of ${agents.length} agents were accepted; met: ${JSON.stringify(now.outcomes)}`,
          );
        }
        await sleep(500);
      }
    },
    async cpuSeconds() {
      const each = await Promise.all(children.map(({ pid }) => cpuSecondsOf(pid!)));
      return each.reduce((sum, seconds) => sum + seconds, 0);
    },
    stop() {
      for (const child of children) child.disconnect();
    },
  };
}
