import { CloudError } from '../../../common/cloud-error.ts';
import { sleep } from '../../../common/process/clock.ts';
import { type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import { WithheldError } from '../../clouds/permit.ts';
import type { Driver } from '../driver.ts';
import { createEngine, type Engine, type EngineParts } from '../engine.ts';
import type { JournalState } from '../journal.ts';
import type { Request, Result } from '../request.ts';
import type { Owner } from '../resource.ts';
import type { Desired } from './drivers.ts';
import { cluster } from './drivers.ts';
import type { FakeCloud } from './fake-cloud.ts';

export class Crash extends Error {}

export const faults = [
  'crash before',
  'crash after',
  'unavailable',
  'lost',
  'throttled',
  'withheld',
  'crash at permit',
] as const;
export type Fault = (typeof faults)[number];

/** A fault that occurs once, at the n-th call, or at the n-th permit. */
export interface Hit {
  readonly at: number;
  readonly fault: Fault;
}

export interface Outcome {
  readonly results: ReadonlyMap<string, Result>;
  /** Requests that did not come to an end. */
  readonly stuck: readonly Request<Desired>[];
  readonly calls: number;
  readonly permits: number;
  /** The last requests. */
  readonly requests: readonly Request<Desired>[];
}

/** Advances the clock until the work is done. */
export async function drive<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let over = false;
  const end = () => {
    over = true;
  };
  work.then(end, end);
  await clock.advance(0);
  for (let idle = 0; !over; ) {
    const next = clock.nextAt;
    if (next !== undefined) idle = 0;
    else if (++idle > 50) throw new Error('the work waits for nothing');
    await clock.advance(next === undefined ? 0 : Math.max(0, next - clock.monotonic()));
  }
  return work;
}

export function ownerOf(service: string): Owner {
  return { cluster, service };
}

export interface Environment {
  readonly clock: FakeClock;
  readonly cloud: FakeCloud;
  readonly journals: Map<string, JournalState>;
  readonly saves: string[];
  /** Starts another process, which has only the journals and the cloud. */
  engine(more?: Partial<EngineParts<Desired>>): Engine<Desired>;
  /** Repeats all requests until each has come to an end, with a new process after each crash. */
  converge(requests: readonly Request<Desired>[], options?: ConvergeOptions): Promise<Outcome>;
}

export interface ConvergeOptions {
  readonly hit?: Hit | undefined;
  /** Called before the n-th call reaches the cloud: edits by hand. */
  readonly atCall?: ((n: number) => void) | undefined;
  /** Other requests from the n-th call on. */
  readonly instead?: { readonly at: number; readonly requests: readonly Request<Desired>[] } | undefined;
  readonly maxRounds?: number;
}

export function createEnvironment(
  makeCloud: (clock: FakeClock) => FakeCloud,
  driver: (cloud: FakeCloud, clock: FakeClock) => () => Driver<Desired>,
): Environment {
  const clock = fakeClock(undefined, 2);
  const cloud = makeCloud(clock);
  const drivers = driver(cloud, clock);
  const journals = new Map<string, JournalState>();
  const saves: string[] = [];

  function save(service: string, state: JournalState): void {
    saves.push(service);
    journals.set(service, structuredClone(state));
  }

  function start(more: Partial<EngineParts<Desired>> = {}): Engine<Desired> {
    const engine = createEngine<Desired>({
      driver: drivers(),
      cluster,
      clock,
      permit: () => () => undefined,
      saveJournal: async ({ service }, state) => save(service, state),
      allServicesDeclared: () => true,
      ...more,
    });
    for (const [service, stored] of journals) engine.replaceJournal(ownerOf(service), structuredClone(stored));
    return engine;
  }

  async function converge(first: readonly Request<Desired>[], options: ConvergeOptions = {}): Promise<Outcome> {
    const { hit, maxRounds = 60 } = options;
    let requests = first;
    let epoch = 0;
    let calls = 0;
    let permits = 0;
    const results = new Map<string, Result>();

    function startProcess() {
      epoch += 1;
      const started = epoch;
      const abort = new AbortController();
      const alive = () => {
        if (started !== epoch) throw new Crash();
      };
      const engine = start({
        signal: abort.signal,
        permit: () => () => {
          alive();
          const at = permits++;
          if (at !== hit?.at) return;
          if (hit.fault === 'withheld') throw new WithheldError('Paused', 'paused');
          if (hit.fault === 'crash at permit') crash();
        },
        async saveJournal({ service }, state) {
          alive();
          save(service, state);
        },
      });
      cloud.setHook({
        before(call) {
          const at = calls++;
          options.atCall?.(at);
          if (options.instead !== undefined && at === options.instead.at) {
            requests = options.instead.requests;
            for (const request of requests) void engine.reconcile(request).catch(() => undefined);
          }
          if (at !== hit?.at) return undefined;
          const about = { cloud: 'fake', operation: call };
          if (hit.fault === 'crash before') crash();
          if (hit.fault === 'crash after') return 'crash';
          if (hit.fault === 'lost') return 'lose';
          if (hit.fault === 'unavailable') throw new CloudError({ ...about, kind: 'Unavailable', message: '503' });
          if (hit.fault === 'throttled')
            throw new CloudError({ ...about, kind: 'Throttled', message: '429', retryAfterMs: 1000 });
          return undefined;
        },
        crash,
      });
      function crash(): never {
        epoch += 1;
        throw new Crash();
      }
      for (const request of requests) engine.declare(request);
      return { engine, started, abort };
    }

    let current = startProcess();
    let todo = [...requests];
    let requested = requests;
    for (let round = 0; round < maxRounds && (todo.length > 0 || requested !== requests); round += 1) {
      if (requested !== requests) todo = [...requests];
      requested = requests;
      const answers = await Promise.all(
        todo.map(async (request) => {
          try {
            return { request, result: await current.engine.reconcile(request) };
          } catch (error) {
            return { request, error };
          }
        }),
      );
      if (current.started !== epoch) {
        // What an old process has sent may still arrive; its timers must not.
        current.abort.abort();
        await sleep(clock, 500);
        current = startProcess();
        todo = [...requests];
        continue;
      }
      todo = [];
      let waitMs = 0;
      for (const { request, result, error } of answers.map((one) => ({
        result: undefined,
        error: undefined,
        ...one,
      }))) {
        if (result === undefined && !(error instanceof CloudError)) throw error;
        if (result !== undefined) results.set(request.owner.service, result);
        if (result?.state === 'settled' || result?.state === 'refused') continue;
        todo.push(request);
        waitMs = Math.max(waitMs, result?.againInMs ?? 2000);
      }
      if (requested !== requests) todo = [...requests];
      if (todo.length > 0) await sleep(clock, waitMs);
    }
    cloud.setHook(undefined);
    return { results, stuck: todo, calls, permits, requests };
  }

  return {
    clock,
    cloud,
    journals,
    saves,
    engine: start,
    converge: (requests, options) => drive(clock, converge(requests, options)),
  };
}
