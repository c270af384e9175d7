import type { Clock, Timer } from '../../../common/process/clock.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import type { Random } from '../../../common/process/random.ts';
import { names } from '../../../common/well-known.ts';
import type { KubeApi } from '../../kube/api.ts';
import { createInterner } from '../../kube/intern.ts';
import { createListWatch, type ListWatch } from '../../kube/list-watch.ts';
import { unreadOfNode, viewNode } from '../../model/node-view.ts';
import { type ServiceView, unreadOfService, viewService } from '../../model/service-view.ts';
import { mayHaveBalancer } from '../../services/may-have-balancer.ts';
import { createMembersView, type DesiredMembers } from '../explain/desired-members.ts';
import type { Surroundings } from '../explain/facts.ts';
import { leaderFault } from '../explain/leader.ts';
import { type FactsOptions, readAround, readOptional } from '../explain/surroundings.ts';
import { parseSamples, type Reading, viewMetrics } from '../metrics/metrics-view.ts';
import type { ReadMetrics } from '../metrics/read-metrics.ts';
import type { RowOptions } from '../status/cluster-status.ts';
import { nodeRow, serviceRow, viewDecision } from './rows.ts';
import { type Decision, type Head, keptDecisions, type MetricsView, type Update } from './update.ts';

export interface FeedOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Of the API server, for the page. */
  readonly server: string;
  readonly where: Omit<FactsOptions, 'nowMs'>;
  readonly rows: RowOptions;
  /** Undefined: nothing was said about where they are. */
  readonly readMetrics: ReadMetrics | undefined;
}

/** The cluster as a stream of updates, kept by lists and watches. */
export interface ClusterFeed {
  start(): void;
  /** All that is known now. */
  snapshot(): Update;
  /** Calls `handler` with each change, several times a second at most. @returns ends it */
  subscribe(handler: (update: Update) => void): () => void;
  membersOf(service: ServiceView): DesiredMembers;
  stop(): Promise<void>;
}

/** So long changes are collected. */
const batchMs = 200;
/** The leader, the pause and metrics are polled: few bytes each. */
const pollMs = 3_000;
/** What may not be read is asked for again after so many polls. */
const pollsPerRetry = 10;
/** May be long, and no cloud reads it. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
const noMetrics = 'unknown: --metrics-url does not say where a controller has its metrics';

export function createClusterFeed(options: FeedOptions): ClusterFeed {
  const { api, clock, where, rows } = options;
  const log = options.log.with({ part: 'ui' });
  const intern = createInterner();
  const shared = { api, clock, random: options.random, log };
  const nodes = createTracked(
    createListWatch({ ...shared, path: '/api/v1/nodes', unread: unreadOfNode, trim: (raw) => viewNode(raw, intern) }),
    (node) => nodeRow(node, around(), rows),
  );
  const services = createTracked(
    createListWatch({
      ...shared,
      path: '/api/v1/services',
      unread: unreadOfService,
      trim: (raw) => viewService(raw, (key) => key !== lastApplied),
    }),
    (service) => (mayHaveBalancer(service) ? serviceRow(service, around(), rows, membersOf) : undefined),
  );
  const events = createTracked(
    createListWatch({
      ...shared,
      path: '/api/v1/events',
      query: { fieldSelector: `source=${names.controller}` },
      unread: ['managedFields'],
      trim: viewDecision,
    }),
    (decision) => decision,
  );
  const resources = [
    { name: 'nodes', path: '/api/v1/nodes', watch: nodes.watch },
    { name: 'services', path: '/api/v1/services', watch: services.watch },
    { name: 'events', path: '/api/v1/events', watch: events.watch },
  ];
  const members = createMembersView(rows.moduleNames);
  nodes.watch.subscribe((event) => (event.type === 'deleted' ? members.remove(event.key) : members.put(event.object)));
  const handlers = new Set<(update: Update) => void>();
  const readable = new Set<string>();
  const stopping = new AbortController();
  let surroundings: Omit<Surroundings, 'events' | 'nowMs'> = {
    leader: undefined,
    pausedForAll: false,
    pausedNodes: new Set(),
    hidden: [],
  };
  let apiFault: string | null = null;
  let head: Head | undefined;
  let metrics: MetricsView = { unknown: noMetrics };
  let reading: Reading | undefined;
  let timer: Timer | undefined;
  let polling: Promise<void> | undefined;
  let next: Timer | undefined;
  let polls = 0;

  function around(): Surroundings {
    return { ...surroundings, events: [], nowMs: clock.now() };
  }

  function membersOf(service: ServiceView): DesiredMembers {
    return nodes.watch.synced ? members.of(service) : { unknown: 'the Nodes are not read' };
  }

  function currentHead(): Head {
    const now = around();
    const refused = polls === 0 ? [] : resources.map(({ name }) => name).filter((name) => !readable.has(name));
    return {
      server: options.server,
      leader: now.leader?.identity || null,
      renewedAt: now.leader?.renewTime || null,
      leaderFault: polls === 0 || now.hidden.includes('leader') ? null : (leaderFault(now)?.why ?? null),
      pausedForAll: now.pausedForAll,
      hidden: apiFault === null ? [...now.hidden, ...refused] : now.hidden,
      apiFault,
    };
  }

  function send(update: Update): void {
    for (const handler of handlers) handler(update);
  }

  async function flush(): Promise<void> {
    await members.prepare();
    // While the timer stands: what is touched now is part of this update.
    if (members.takeChange()) services.touchAll();
    timer = undefined;
    const [changedNodes, goneNodes] = nodes.changes();
    const [changedServices, goneServices] = services.changes();
    const [decisions] = events.changes();
    const update: Update = {
      ...(changedNodes.length > 0 && { nodes: changedNodes }),
      ...(goneNodes.length > 0 && { goneNodes }),
      ...(changedServices.length > 0 && { services: changedServices }),
      ...(goneServices.length > 0 && { goneServices }),
      ...(decisions.length > 0 && { decisions: newest(decisions) }),
    };
    if (Object.keys(update).length > 0) send(update);
  }

  function touched(): void {
    timer ??= clock.setTimer(batchMs, () => void flush());
  }
  for (const tracked of [nodes, services, events]) tracked.onTouch(touched);
  nodes.watch.whenSynced().then(services.touchAll, () => {});

  /** Lists and watches start once they may: a refused one would be tried for ever, and say so each time. */
  async function startReadable(): Promise<void> {
    await Promise.all(
      resources.map(async ({ name, path, watch }) => {
        if (readable.has(name)) return;
        let denied = false;
        const onDenied = () => {
          denied = true;
        };
        await readOptional(api, path, onDenied, { limit: '1' });
        if (denied || stopping.signal.aborted) return;
        readable.add(name);
        watch.start();
      }),
    );
  }

  async function readCluster(): Promise<void> {
    const faultBefore = leaderFault(around()) !== undefined;
    const before = JSON.stringify([surroundings.leader?.identity, surroundings.pausedForAll, surroundings.hidden]);
    try {
      if (polls % pollsPerRetry === 0 || apiFault !== null) await startReadable();
      surroundings = await readAround(api, { ...where, nowMs: clock.now() });
      apiFault = null;
    } catch (error) {
      apiFault = String(errorFields(error).error);
    }
    polls += 1;
    const after = JSON.stringify([surroundings.leader?.identity, surroundings.pausedForAll, surroundings.hidden]);
    // What a Node or Service waits for may be the leader.
    if (before !== after || faultBefore !== (leaderFault(around()) !== undefined)) {
      nodes.touchAll();
      services.touchAll();
    }
  }

  async function readTheMetrics(): Promise<void> {
    if (options.readMetrics === undefined) return;
    try {
      const seen = viewMetrics(parseSamples(await options.readMetrics()), reading, clock.now());
      ({ view: metrics, reading } = seen);
    } catch (error) {
      const message = String(errorFields(error).error);
      metrics = { unknown: `unknown: ${message}` };
    }
  }

  async function poll(): Promise<void> {
    const metricsBefore = JSON.stringify(metrics);
    await Promise.all([readCluster(), readTheMetrics()]);
    if (stopping.signal.aborted) return;
    const headBefore = JSON.stringify(head);
    head = currentHead();
    const update: Update = {
      ...(JSON.stringify(head) !== headBefore && { head }),
      ...(JSON.stringify(metrics) !== metricsBefore && { metrics }),
    };
    if (Object.keys(update).length > 0) send(update);
    next = clock.setTimer(pollMs, () => {
      polling = poll();
    });
  }

  return {
    start() {
      polling ??= poll();
    },
    snapshot: () => ({
      full: true,
      head: head ?? currentHead(),
      metrics,
      nodes: nodes.rows(),
      services: services.rows(),
      decisions: newest(events.rows()),
    }),
    membersOf,
    subscribe(handler) {
      handlers.add(handler);
      return () => void handlers.delete(handler);
    },
    async stop() {
      stopping.abort();
      for (const each of [timer, next]) each?.cancel();
      await polling;
      next?.cancel();
      await Promise.all(resources.map(({ watch }) => watch.stop()));
    },
  };
}

function newest(decisions: readonly Decision[]): readonly Decision[] {
  return decisions
    .toSorted((a, b) => (a.time === b.time ? b.version - a.version : a.time < b.time ? 1 : -1))
    .slice(0, keptDecisions);
}

/**
 * The rows of a list-watch, and which of them changed since they were last asked for.
 *
 * @param rowOf undefined: the object has none
 */
function createTracked<T, R extends object>(watch: ListWatch<T>, rowOf: (object: T) => R | undefined) {
  const last = new Map<string, R>();
  const dirty = new Set<string>();
  let touch: () => void = () => {};

  function touchOne(key: string): void {
    dirty.add(key);
    touch();
  }

  watch.subscribe(({ key }) => touchOne(key));
  return {
    watch,
    onTouch(handler: () => void) {
      touch = handler;
    },
    touchAll() {
      for (const key of last.keys()) touchOne(key);
    },
    rows: (): readonly R[] => [...last.values()],
    /** The changed rows, and the keys of those that are gone. */
    changes(): readonly [readonly R[], readonly string[]] {
      const changed: R[] = [];
      const gone: string[] = [];
      for (const key of dirty) {
        const object = watch.get(key);
        const before = last.get(key);
        const row = object === undefined ? undefined : rowOf(object);
        if (row === undefined) {
          if (last.delete(key)) gone.push(key);
          continue;
        }
        if (before !== undefined && JSON.stringify(before) === JSON.stringify(row)) continue;
        last.set(key, row);
        changed.push(row);
      }
      dirty.clear();
      return [changed, gone];
    },
  };
}
