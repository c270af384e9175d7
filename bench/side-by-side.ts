import { type Contender, ours, theirs } from './contender.ts';
import { measureHeldMemory } from './measures/held-memory.ts';
import { measureNodeJoins, nodeJoinWays } from './measures/node-joins.ts';
import { measureRoutes } from './measures/routes.ts';
import { measureServices } from './measures/services.ts';
import { onStage } from './stage.ts';
import type { BenchApi } from './start-bench-api.ts';

export const sideBySideParts = ['joins', 'services', 'routes', 'memory'] as const;
export type SideBySidePart = (typeof sideBySideParts)[number];

export const contenderNames = ['ours', 'defaults', 'tuned'] as const;
export type ContenderName = (typeof contenderNames)[number];

export interface SideBySideOptions {
  /** Upstream's controllers, as `findUpstream` has them. */
  readonly program: string;
  readonly parts: readonly SideBySidePart[];
  readonly contenders: readonly ContenderName[];
  /** How often each part is measured, the contenders in turns. */
  readonly rounds: number;
  /** Of every call of the cloud. */
  readonly latencyMs: number;
  readonly nodes: number;
  readonly services: number;
  readonly routes: number;
  readonly memoryNodes: number;
}

/** One line of the comparison: the figures of all rounds; undefined where that contender was not measured. */
export interface SideBySideRow {
  readonly what: string;
  readonly unit: 's' | 'calls' | 'MiB';
  readonly values: Readonly<Partial<Record<ContenderName, readonly number[]>>>;
}

/** With which upstream's controllers are as fast as their flags make them. */
export const tunedFlags = [
  '--concurrent-node-syncs=20',
  '--concurrent-service-syncs=20',
  '--kube-api-qps=500',
  '--kube-api-burst=1000',
];

const servicesNodes = 20;
const idleSeconds = 30;

type Figures = ReadonlyMap<string, { readonly unit: SideBySideRow['unit']; readonly value: number }>;

/** Mooring and upstream's controllers in turns, each on an empty cluster of one API server and on an empty cloud. */
export async function measureSideBySide(
  bench: BenchApi,
  dist: string,
  options: SideBySideOptions,
  progress: (line: string) => void,
): Promise<readonly SideBySideRow[]> {
  const own = ours(dist);
  const contenders: Record<ContenderName, Contender> = {
    ours: own,
    defaults: theirs(options.program, 'defaults', []),
    tuned: theirs(options.program, 'tuned', tunedFlags),
  };
  const rows = new Map<string, { unit: SideBySideRow['unit']; values: Partial<Record<ContenderName, number[]>> }>();
  for (const part of options.parts) {
    // The workers of the tuned one do not change what it holds.
    const measured = options.contenders.filter((name) => part !== 'memory' || name !== 'tuned');
    for (let round = 1; round <= options.rounds; round += 1) {
      for (const name of measured) {
        progress(`${part}, round ${round}, ${name}`);
        for (const [what, { unit, value }] of await measurePart(part, bench, contenders[name], own, options)) {
          const row = rows.get(what) ?? { unit, values: {} };
          row.values[name] = [...(row.values[name] ?? []), value];
          rows.set(what, row);
        }
      }
    }
  }
  return [...rows].map(([what, row]) => ({ what, ...row }));
}

async function measurePart(
  part: SideBySidePart,
  { api, cpuSeconds }: BenchApi,
  contender: Contender,
  preparer: Contender,
  options: SideBySideOptions,
): Promise<Figures> {
  const { latencyMs, nodes, services, routes, memoryNodes } = options;
  const figures = new Map<string, { unit: SideBySideRow['unit']; value: number }>();
  const note = (what: string, unit: SideBySideRow['unit'], value: number) => figures.set(what, { unit, value });
  switch (part) {
    case 'joins': {
      for (const way of nodeJoinWays) {
        const joins = { way, nodes, serverCpuSeconds: cpuSeconds };
        const result = await onStage(api, contender, { latencyMs }, (stage) => measureNodeJoins(stage, joins));
        const title = way === 'created' ? `${nodes} nodes appear` : `${nodes} nodes are there at the start`;
        note(`${title}: last one ready`, 's', result.wallMs / 1000);
        note(`${title}: cloud calls`, 'calls', result.calls.total);
        note(`${title}: processor time of the controller`, 's', result.cpuSeconds);
        note(`${title}: processor time of the API server`, 's', result.serverCpuSeconds);
      }
      break;
    }
    case 'services': {
      const size = { services, nodes: servicesNodes };
      const result = await onStage(api, contender, { latencyMs }, (stage) => measureServices(stage, size));
      const { ready, join, leave, restart } = result;
      note(`${services} Services made: last address`, 's', ready.wallMs / 1000);
      note(`${services} Services made: cloud calls a Service`, 'calls', ready.calls.total / services);
      note(`one more node: member everywhere`, 's', join.wallMs / 1000);
      note(`one more node: cloud calls`, 'calls', join.calls.total);
      note(`one node less: new connections nowhere`, 's', leave.wallMs / 1000);
      note(`one node less: member nowhere, after the drain`, 's', leave.goneMs / 1000);
      note(`one node less: cloud calls`, 'calls', leave.calls.total);
      note(`restart: until it leads again`, 's', restart.takeoverMs / 1000);
      note(`restart: until the cloud rests`, 's', restart.settleMs / 1000);
      note(`restart: cloud calls`, 'calls', restart.calls.total);
      note(`restart: mutating cloud calls`, 'calls', restart.calls.mutating);
      break;
    }
    case 'routes': {
      const size = { routes, preparer, idleSeconds };
      const result = await onStage(api, contender, { latencyMs }, (stage) => measureRoutes(stage, size));
      note(`${routes} routes: last one made`, 's', result.madeMs / 1000);
      note(`${routes} routes: last condition written`, 's', result.toldMs / 1000);
      note(`${routes} routes: cloud calls`, 'calls', result.calls.total);
      note(`${routes} routes: cloud calls an idle minute`, 'calls', result.idleCallsPerMinute);
      break;
    }
    case 'memory': {
      const size = { nodes: memoryNodes, preparer };
      const memory = await onStage(api, contender, { latencyMs: 0 }, (stage) => measureHeldMemory(stage, size));
      note(`${memoryNodes} nodes held: RSS`, 'MiB', memory.rssMiB);
      note(`${memoryNodes} nodes held: peak`, 'MiB', memory.peakMiB);
      break;
    }
  }
  return figures;
}
