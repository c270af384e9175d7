import type { Clock } from '../../../common/process/clock.ts';
import type { SimulatedCloud } from '../../kit/cloud/cloud.ts';
import type { SimulatedInstance } from '../../kit/cloud/instance.ts';
import type { JsonObject } from '../../kit/kube-api/json.ts';
import type { KubeApiCore } from '../../kit/kube-api/kube-api-core.ts';
import { nodeOf } from '../judge/node-object.ts';

export interface Renewal {
  readonly at: number;
  readonly skewMs: number;
  readonly leaseSeconds: number;
}

/** What is really so, whatever anybody was told: what the judges go by. */
export interface Truth {
  readonly clock: Clock;
  readonly cloud: SimulatedCloud;
  readonly core: KubeApiCore;
  /** The VMs whose kubelet has run as this Node object, by its uid; the last one is the present one. */
  readonly vmsOfNode: Map<string, string[]>;
  /** A Node's lease of this duration was renewed just now, stamped by a clock that is so far ahead. */
  renewed(name: string, skewMs: number, leaseSeconds: number): void;
  /** All renewals, in order. */
  renewals(name: string): readonly Renewal[];
  /** When this Node was Ready last; undefined = never. */
  lastReady(uid: string): number | undefined;
  /** All addresses a VM ever had. */
  readonly addressesOf: Map<string, Set<string>>;
  /** Node objects of no cloud here, by uid. */
  readonly foreign: Set<string>;
  /** Nodes that stand for no VM although one has their name, by uid. */
  readonly namesakes: Set<string>;
  /** Names of Nodes whose kubelet claims a pod range that is not its own. */
  readonly rogueRanges: Set<string>;
  /** Uids of Nodes whose agent has lied. */
  readonly liars: Set<string>;
  /** Since when a person has this object paused, by uid. */
  readonly pausedSince: Map<string, number>;
  /** Names of the Nodes that a person keeps from deletion. */
  readonly keptNodes: Set<string>;
  /** The cloud shows nothing of what is there, and no kubelet is heard. */
  blackout: boolean;
  /** Since when everything is. */
  allPausedSince: number | undefined;
  node(name: string): JsonObject | undefined;
  nodes(): JsonObject[];
  vm(id: string): SimulatedInstance | undefined;
}

export function createTruth(clock: Clock, cloud: SimulatedCloud, core: KubeApiCore): Truth {
  const addressesOf = new Map<string, Set<string>>();
  cloud.model.onChange(({ after }) => {
    if (after === undefined) return;
    const all = addressesOf.get(after.id) ?? new Set();
    addressesOf.set(after.id, all);
    for (const { internal, external } of after.interfaces) for (const each of [...internal, ...external]) all.add(each);
    for (const each of [after.hostname, ...after.internalDns, ...after.externalDns]) all.add(each);
  });
  const renewals = new Map<string, Renewal[]>();
  const nodes = core.store.collection('nodes');
  /** Undefined while it lasts. */
  const readyUntil = new Map<string, number | undefined>();
  core.store.watch(nodes, ({ object }) => {
    const { uid, ready } = nodeOf(object.value);
    if (ready === 'True') readyUntil.set(uid, undefined);
    else if (readyUntil.has(uid)) readyUntil.set(uid, readyUntil.get(uid) ?? clock.monotonic());
  });
  return {
    clock,
    cloud,
    core,
    vmsOfNode: new Map(),
    renewed(name, skewMs, leaseSeconds) {
      const all = renewals.get(name) ?? [];
      renewals.set(name, all);
      all.push({ at: clock.monotonic(), skewMs, leaseSeconds });
    },
    renewals: (name) => renewals.get(name) ?? [],
    lastReady: (uid) => (readyUntil.has(uid) ? (readyUntil.get(uid) ?? clock.monotonic()) : undefined),
    addressesOf,
    foreign: new Set(),
    namesakes: new Set(),
    rogueRanges: new Set(),
    liars: new Set(),
    pausedSince: new Map(),
    allPausedSince: undefined,
    keptNodes: new Set(),
    blackout: false,
    node: (name) => nodes.items.get(name)?.value,
    nodes: () => [...nodes.items.values()].map(({ value }) => value),
    vm: (id) => cloud.model.get(id),
  };
}
