import { conditions } from '../../common/well-known.ts';
import type { KubeApi, KubeCall } from '../kube/api.ts';
import { readPages } from '../kube/paged-list.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { conditionOf, instanceMissing, isPaused, isUninitialized, type NodeView } from '../model/node-view.ts';
import { ownershipOf } from '../model/ownership.ts';
import { isPaused as isPausedService, type ServiceView, viewService } from '../model/service-view.ts';
import { mayHaveBalancer } from '../services/may-have-balancer.ts';
import type { PlannedChange } from './planned-change.ts';

/** What a run withholds, and why; and why it deletes Nodes. */
export interface HeldBack {
  /** Takes an Event that would be written. */
  onEvent(call: KubeCall): void;
  /** The change with the reason of its Event, where it has one. */
  explained(change: PlannedChange): PlannedChange;
  /** From warnings, and from the state of Nodes and Services after the planned changes. Throws a KubeError. */
  found(parts: HeldBackParts): Promise<readonly PlannedChange[]>;
}

export interface HeldBackParts {
  readonly api: KubeApi;
  readonly nodes: Iterable<NodeView>;
  readonly clouds: readonly ConfiguredCloud[];
  /** Everything is paused. */
  readonly isPaused: boolean;
  /** Whether Services are looked at. */
  readonly services: boolean;
  /** Whether the reports of agents were heard. */
  readonly listens: boolean;
  readonly changes: readonly PlannedChange[];
}

interface EventBody {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly kind: string; readonly namespace?: string; readonly name: string };
}

/** Work in progress. */
const inProgress: ReadonlySet<string> = new Set(['Provisioning', 'Deleting']);

/** Reasons that end with a report of the Node's agent. */
const needReports: ReadonlySet<string> = new Set(['AwaitingReport', 'AttestationRequired']);
const unheard = {
  listening: '; a run goes on once its agent reports: --listen waits for it',
  deaf: '; a plan hears agents with --reports-url only: a run goes on once this one reports',
};

export function createHeldBack(): HeldBack {
  const warnings = new Map<string, PlannedChange>();
  /** By object. */
  const deletions = new Map<string, string>();

  function onEvent({ verb, body }: KubeCall): void {
    if (verb !== 'create') return;
    const { type, reason, message, involvedObject } = body as EventBody;
    const { kind, namespace, name } = involvedObject;
    const object = `${kind.toLowerCase()} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
    if (reason === 'DeletingNode') deletions.set(object, message);
    if (type !== 'Warning') return;
    // The reasons of these conditions are the event's message.
    const isPart = reason === 'CloudInitializedChanged' || reason === 'DeletionWithheld';
    note(warnings, object, isPart ? message : `${reason}: ${message}`);
  }

  return {
    onEvent,
    explained(change) {
      const why = change.action === 'delete' ? deletions.get(change.object) : undefined;
      return why === undefined ? change : { ...change, what: why };
    },
    async found({ api, nodes, clouds, isPaused: all, services, listens, changes }) {
      const wait = listens ? unheard.listening : unheard.deaf;
      const held = new Map<string, PlannedChange>();
      if (all) note(held, 'everything', 'it is paused: the changes follow when the pause ends');
      const deleted = new Set(changes.flatMap(({ action, object }) => (action === 'delete' ? [object] : [])));
      for (const node of nodes) for (const why of whyHeld(node, clouds, wait)) note(held, `node ${node.name}`, why);
      if (services)
        await eachService(api, (service) => {
          const why = whyServiceHeld(service);
          if (why !== undefined) note(held, `service ${service.key}`, why);
        });
      const told = [...warnings.values()].filter(
        ({ object, what }) => !deleted.has(object) && !isResolved(what, changes) && !isSaid(held, object, what),
      );
      return [...held.values(), ...told];
    },
  };
}

function note(held: Map<string, PlannedChange>, object: string, what: string): void {
  held.set(`${object} ${what}`, { of: 'kubernetes', object, action: 'hold', what });
}

function* whyHeld(node: NodeView, clouds: readonly ConfiguredCloud[], wait: string): Iterable<string> {
  const ownership = ownershipOf(node, clouds);
  if (ownership.kind === 'foreign') {
    if (isUninitialized(node)) yield `it is foreign and never changed: ${ownership.why}`;
    return;
  }
  if (isPaused(node)) yield 'it is paused: it is only deleted once its VM is proved to be gone';
  const initialized = conditionOf(node, conditions.cloudInitialized);
  if (isUninitialized(node) && initialized?.status === 'False') {
    const { reason, message } = initialized;
    yield `${reason}: ${message}${needReports.has(reason) ? wait : ''}`;
  }
  const missing = conditionOf(node, instanceMissing);
  if (missing?.status === 'True') yield `${missing.reason}: ${missing.message}`;
}

function whyServiceHeld(service: ServiceView): string | undefined {
  if (!mayHaveBalancer(service)) return undefined;
  if (isPausedService(service)) return 'it is paused';
  const { condition } = service;
  if (condition?.status !== 'False' || inProgress.has(condition.reason)) return undefined;
  return `${condition.reason}: ${condition.message}`;
}

async function eachService(api: KubeApi, see: (service: ServiceView) => void): Promise<void> {
  const onPage = (items: readonly unknown[]) => {
    for (const item of items) see(viewService(item, () => false));
  };
  const { signal } = new AbortController();
  await readPages({ api, path: '/api/v1/services', query: {}, pageSize: 250, unread: [], signal, onPage });
}

/** The orphan that the warning tells of is deleted. */
function isResolved(what: string, changes: readonly PlannedChange[]): boolean {
  const orphan = (id: string, scope: string) => `OrphanedLoadBalancer: Load balancer ${id} in ${scope} `;
  return changes.some(({ action, target, of }) => action === 'delete' && target && what.startsWith(orphan(target, of)));
}

function isSaid(held: ReadonlyMap<string, PlannedChange>, object: string, what: string): boolean {
  // An Event of a failure has its own reason first, and then that of the condition.
  const reasons = what.split(': ', 2);
  return [...held.values()].some((one) => one.object === object && reasons.includes(one.what.split(': ')[0]!));
}
