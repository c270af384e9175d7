import {
  measureNodeManagers,
  type NodeManagerName,
  type NodeManagersOptions,
  type NodeManagersResult,
  nodeManagerNames,
  reportOnly,
} from './measures/node-managers.ts';
import { onStage, type Stage } from './stage.ts';
import type { BenchApi } from './start-bench-api.ts';

export interface NodeManagersRounds extends Omit<NodeManagersOptions, 'name'> {
  readonly rounds: number;
}

/** Both in turns, each on an empty cluster of one API server. Requests are counted in the last round alone. */
export async function compareNodeManagers(
  api: BenchApi['api'],
  { rounds, ...options }: NodeManagersRounds,
  progress: (line: string) => void,
): Promise<Readonly<Record<NodeManagerName, readonly NodeManagersResult[]>>> {
  const results: Record<NodeManagerName, NodeManagersResult[]> = { ours: [], theirs: [] };
  for (let round = 1; round <= rounds; round += 1) {
    const idleMinutes = round === rounds ? options.idleMinutes : 0;
    for (const name of round % 2 === 1 ? nodeManagerNames : nodeManagerNames.toReversed()) {
      progress(`${options.nodes} nodes, round ${round}, ${name}`);
      const measure = (stage: Stage) => measureNodeManagers(stage, { ...options, name, idleMinutes });
      results[name].push(await onStage(api, reportOnly(options.dist), { latencyMs: 0 }, measure));
    }
  }
  return results;
}
