import { createLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import { KubeError } from '../api.ts';
import type { InformerEvent } from '../informer.ts';
import { createListWatch, type ListWatch, type ListWatchOptions } from '../list-watch.ts';
import { type MemoryCollection, type MemoryObject, memoryCollection } from './memory-collection.ts';

/** The fields of a Node that the list-watch of a harness caches. */
export interface Trimmed {
  readonly name: string;
  readonly spec: unknown;
}

/** A list-watch on a fake clock, with its events and metrics. */
export interface Harness {
  readonly clock: FakeClock;
  readonly nodes: MemoryCollection;
  readonly informer: ListWatch<Trimmed>;
  readonly events: InformerEvent<Trimmed>[];
  /** `type key` of each event. */
  readonly told: string[];
  readonly lines: string[];
  readonly counted: string[];
}

export function listWatchHarness(
  options: Partial<ListWatchOptions<Trimmed>> = {},
  nodes = memoryCollection(),
): Harness {
  const clock = fakeClock();
  const lines: string[] = [];
  const counted: string[] = [];
  const informer = createListWatch<Trimmed>({
    api: nodes.api,
    path: '/api/v1/nodes',
    trim: (raw) => ({ name: (raw as MemoryObject).metadata.name, spec: (raw as MemoryObject).spec }),
    pageSize: 2,
    clock,
    random: seededRandom(1),
    log: createLog({ clock, level: 'debug', format: 'text', write: (line) => lines.push(line) }),
    metrics: {
      listed: (why, items) => counted.push(`listed ${why} ${items}`),
      watchEnded: (why) => counted.push(`ended ${why}`),
      fault: (what) => counted.push(`fault ${what}`),
    },
    ...options,
  });
  const events: InformerEvent<Trimmed>[] = [];
  const told: string[] = [];
  informer.subscribe((event) => {
    events.push(event);
    told.push(`${event.type} ${event.key}`);
  });
  return { clock, nodes, informer, events, told, lines, counted };
}

export const throttled = (retryAfterMs: number) =>
  new KubeError({ status: 429, reason: 'TooManyRequests', message: 'busy', retryAfterMs });
export const broken = (status: number) => new KubeError({ status, reason: 'InternalError', message: 'etcd is down' });
export const cut = () => new KubeError({ status: 0, reason: 'Cut', message: 'cut' });
