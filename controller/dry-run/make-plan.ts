import { type Clock, sleep } from '../../common/process/clock.ts';
import { formatDuration } from '../../common/process/duration.ts';
import { type Log, silentLog } from '../../common/process/log.ts';
import { createMetricRegistry } from '../../common/process/metrics.ts';
import type { Random } from '../../common/process/random.ts';
import { isPauseValue, names } from '../../common/well-known.ts';
import { accountProblems } from '../app/open-clouds.ts';
import { createProcessMetrics } from '../app/process-metrics.ts';
import { createReplica, type ReplicaOptions } from '../app/replica.ts';
import { isNotFound, type KubeApi } from '../kube/api.ts';
import { assertListable } from '../kube/assert-listable.ts';
import { pathOf, shippedObjectsIn } from '../kube/shipped-objects.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { volumesPath } from '../volumes/write-topology.ts';
import { createChangeRecord } from './change-record.ts';
import { createDryRun } from './dry-run.ts';
import { createHeldBack } from './held-back.ts';
import { type Listening, listen } from './listen.ts';
import type { Plan, PlannedChange } from './planned-change.ts';
import type { SkippingClock } from './skipping-clock.ts';

export interface PlanParts {
  readonly api: KubeApi;
  /** Their load balancers are planned by the skipping clock. */
  readonly clouds: readonly ConfiguredCloud[];
  /** That Mooring is installed in. */
  readonly namespace: string;
  /** The present. */
  readonly clock: Clock;
  /** Of the replica, on top of `clock`. */
  readonly ahead: SkippingClock;
  readonly random: Random;
  readonly log?: Log;
  /** Those of `run`. */
  readonly options: ReplicaOptions;
  /** Where agents are heard. Undefined: none is. */
  readonly listening?: Listening | undefined;
  /** Names of clouds that are meant to be without a credential. Default: none. */
  readonly reportOnly?: ReadonlySet<string>;
  /** How far the plan looks ahead: what waits for longer is not planned. */
  readonly aheadMs: number;
  /** Objects per page of a list; default as in createListWatch. */
  readonly pageSize?: number;
  /** Prints progress for people. */
  say(line: string): void;
  /** Lets answers come in. Default: by the event loop. */
  readonly rest?: (calls: number) => Promise<void>;
}

const sayEveryMs = 2000;
/** After a failure only the first few tries again are planned: they are not what makes it succeed. */
const aheadAfterFailureMs = 15_000;
/** An answer is handled within as many rounds of the event loop. */
const quietRounds = 5;

/**
 * What a run with the same options would change within `aheadMs`, if nothing else changes: the controller itself runs,
 * on an API server and clouds that show its changes to it alone. Whenever nothing is left to do, time is skipped up to
 * its next timer. It leads without the Lease, and plans although everything is paused. Changes nothing. Throws a
 * KubeError.
 */
export async function makePlan(parts: PlanParts): Promise<Plan> {
  const { api, clouds, namespace, clock, ahead, random, options, say, listening } = parts;
  const { reportOnly = new Set<string>(), rest = restWhile(clock) } = parts;
  const resting = <T>(work: Promise<T>) => untilSettled(work, rest);
  say('reading the cluster and the clouds');
  const { service, volume } = options.loops;
  const lists = ['/api/v1/nodes', ...(service ? ['/api/v1/services'] : []), ...(volume ? [volumesPath] : [])];
  await resting(assertListable(api, lists));
  const record = createChangeRecord({ aheadMs: () => ahead.aheadMs });
  const heldBack = createHeldBack();
  const dry = createDryRun({ api, clouds, record, aheadMs: () => ahead.aheadMs, onEvent: heldBack.onEvent });
  const isPaused = await resting(liftPause(dry.api, pathOf(shippedObjectsIn(namespace).published)));
  const registry = createMetricRegistry();
  const replica = createReplica(
    {
      api: dry.api,
      clouds: dry.clouds,
      namespace,
      clock: ahead,
      random,
      log: parts.log ?? silentLog,
      registry,
      metrics: createProcessMetrics(registry),
      identity: 'plan',
      host: 'plan',
      onStartedLeading() {},
      ...(parts.pageSize !== undefined && { pageSize: parts.pageSize }),
    },
    { ...options, lease: { ...options.lease, elect: false } },
  );
  const progress = () => {
    const seen = `${replica.nodes.size} nodes, ${record.changes().length} changes`;
    say(`planning: ${seen}, ${formatDuration(Math.floor(ahead.aheadMs / 1000) * 1000)} ahead`);
  };
  const { reports } = replica.context;
  const missing = listening && (await resting(listen(listening, reports, parts)));
  const stopping = new AbortController();
  const running = replica.run(stopping.signal);
  try {
    const skipping = skipToEnd(parts, rest, {
      calls: () => dry.activity.calls,
      hasFailed: () => record.problems().length > 0,
      progress,
    });
    // The run ends only when it fails.
    await Promise.race([skipping, running]);
    const held = await resting(
      heldBack.found({
        api: dry.api,
        nodes: replica.nodes.values(),
        clouds,
        isPaused,
        changes: record.changes(),
        services: options.loops.service,
        listens: listening !== undefined,
      }),
    );
    return {
      changes: [...record.changes().map(heldBack.explained), ...held, ...accepted(clouds, reportOnly)],
      problems: [
        ...accountProblems(clouds, reportOnly),
        ...(missing === undefined ? [] : [missing]),
        ...record.problems(),
      ],
    };
  } finally {
    stopping.abort();
    await untilEnded(running, ahead, rest);
  }
}

/** A line for each cloud that is report-only on purpose. */
function accepted(clouds: readonly ConfiguredCloud[], reportOnly: ReadonlySet<string>): PlannedChange[] {
  return clouds
    .filter((cloud) => cloud.api === undefined && accountProblems([cloud], reportOnly).length === 0)
    .map(({ name, scope, reportOnly: why }) => ({
      of: scope,
      object: `cloud ${name}`,
      action: 'hold',
      what: `it is report-only${why ? ` (${why})` : ''}: nothing of it is looked up, and none of its Nodes is deleted`,
    }));
}

type Rest = (calls: number) => Promise<void>;

interface Progressing {
  /** How many have no answer yet. */
  calls(): number;
  hasFailed(): boolean;
  /** Told every two seconds. */
  progress(): void;
}

/** Skips the time in which nothing happens, until `aheadMs` are over or no timer is left. */
async function skipToEnd(
  { clock, ahead, aheadMs }: PlanParts,
  rest: Rest,
  { calls, hasFailed, progress }: Progressing,
): Promise<void> {
  const endMs = ahead.monotonic() + aheadMs;
  let failedMs: number | undefined;
  let saidMs = clock.monotonic();
  for (;;) {
    for (let quiet = 0; quiet < quietRounds; quiet = calls() === 0 ? quiet + 1 : 0) {
      await rest(calls());
      if (clock.monotonic() - saidMs < sayEveryMs) continue;
      saidMs = clock.monotonic();
      progress();
    }
    failedMs = hasFailed() ? (failedMs ?? ahead.monotonic()) : undefined;
    const untilMs = failedMs === undefined ? endMs : Math.min(endMs, failedMs + aheadAfterFailureMs);
    const nextMs = ahead.nextInMs();
    if (nextMs === undefined || ahead.monotonic() + nextMs > untilMs) return;
    ahead.skip(nextMs);
  }
}

async function untilSettled<T>(work: Promise<T>, rest: Rest): Promise<T> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  work.then(over, over);
  while (!isOver) await rest(1);
  return work;
}

/** Skips its last timers, for a while: nothing depends on its end. */
async function untilEnded(running: Promise<void>, ahead: SkippingClock, rest: Rest): Promise<void> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  running.then(over, over);
  for (let rounds = 0; !isOver && rounds < 1000; rounds += 1) {
    await rest(0);
    if (rounds % quietRounds === 0) ahead.skip(ahead.nextInMs() ?? 0);
  }
}

function restWhile(clock: Clock): Rest {
  return (calls) => (calls > 0 ? sleep(clock, 2) : new Promise((resolve) => setImmediate(resolve)));
}

/** Whether everything is paused. The plan shows what follows afterwards. */
async function liftPause(
  api: Pick<ReturnType<typeof createDryRun>['api'], 'call' | 'assume'>,
  path: string,
): Promise<boolean> {
  try {
    const { data } = await api.call<{ data?: Readonly<Record<string, string>> }>({ verb: 'get', path });
    if (!isPauseValue(data?.[names.pausedKey])) return false;
    const body = { data: { [names.pausedKey]: null } };
    await api.assume({ verb: 'patch', patch: 'merge', path, body });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
