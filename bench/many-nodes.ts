import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { ManyNodesResult } from './many-nodes-process.ts';
import { printTable } from './table.ts';

/**
 * The controller's own tasks for Nodes, routes and members on a fake clock, with an API server and a cloud in memory:
 * each size in a process of its own, so that none finds the garbage of another.
 */
export async function measureManyNodes(
  sizes: readonly number[],
  progress: (line: string) => void,
): Promise<readonly ManyNodesResult[]> {
  const results: ManyNodesResult[] = [];
  for (const nodes of sizes) {
    progress(`${nodes} nodes`);
    const child = fork(new URL('many-nodes-process.ts', import.meta.url), [String(nodes)], {
      execArgv: ['--max-old-space-size=12000'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`${nodes} nodes: the process ended with ${code}`);
    });
    const [result] = await Promise.race([once(child, 'message'), ended]);
    ended.catch(() => {});
    child.disconnect();
    results.push(result as ManyNodesResult);
  }
  return results;
}

export function printManyNodes(results: readonly ManyNodesResult[]): void {
  const each = (ms: number, nodes: number) => `${(ms / 1000).toFixed(2)} (${((ms * 1000) / nodes).toFixed(0)})`;
  printTable(
    'Many nodes in the simulation, everything as desired; seconds of processor time (microseconds a node)',
    [
      'nodes',
      'first pass',
      'next leader',
      'members of 500 Services',
      'one plan',
      'one joins',
      'held MiB (KiB a node)',
      'changes',
    ],
    results.map(({ nodes, takeoverMs, passMs, membersMs, planMs, joinMs, heldMiB, changes }) => [
      `${nodes}`,
      each(takeoverMs, nodes),
      each(passMs, nodes),
      each(membersMs, nodes),
      each(planMs, nodes),
      each(joinMs, nodes),
      `${heldMiB.toFixed(0)} (${((heldMiB * 1024) / nodes).toFixed(1)})`,
      `${changes}`,
    ]),
  );
}
