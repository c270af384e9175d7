import { type Cloud, type InstanceRef, type Lookup, refKey } from '../../clouds/cloud.ts';
import type { LoadBalancers } from '../../clouds/load-balancers.ts';
import type { NodeTags } from '../../clouds/node-tags.ts';
import type { Routes } from '../../clouds/routes.ts';
import type { Volumes } from '../../clouds/volumes.ts';

/** A cloud whose implementation can be replaced while others use it. */
export interface CloudHolder {
  readonly cloud: Cloud;
  /**
   * Directs new calls to `next`. The previous cloud is closed when its calls have ended. Both have the same scope and
   * capabilities.
   */
  replace(next: Cloud): void;
  /** A few instances that were found recently. */
  found(): readonly InstanceRef[];
}

/** Several, because a single one may have been deleted since. */
const maxFound = 5;

interface Held {
  readonly cloud: Cloud;
  calls: number;
}

/**
 * Plans of the previous cloud are plain data. The new one refuses them with a Conflict until it has read or planned for
 * that Service itself; then it plans again.
 * All members are listed here, so that the compiler reports a new member of the contract.
 */
export function createCloudHolder(first: Cloud, onClose: () => void): CloudHolder {
  let held: Held = { cloud: first, calls: 0 };
  let credential = 0;
  /** Ids of load balancers that the operator lends. */
  let lent: ReadonlySet<string> = new Set();
  /** By key, the latest last. */
  const found = new Map<string, InstanceRef>();

  function note(refs: readonly InstanceRef[], answers: ReadonlyMap<string, Lookup>): void {
    for (const ref of refs) {
      const key = refKey(ref);
      const state = answers.get(key)?.state;
      if (state === 'gone' || state === 'absent') found.delete(key);
      if (state !== 'found' || ref.by !== 'providerID' || (found.size >= maxFound && !found.has(key))) continue;
      found.delete(key);
      found.set(key, ref);
    }
  }

  async function call<T>(run: (cloud: Cloud) => Promise<T>): Promise<T> {
    const used = held;
    used.calls += 1;
    try {
      return await run(used.cloud);
    } finally {
      used.calls -= 1;
      closeIdle(used);
    }
  }

  function closeIdle(one: Held): void {
    if (one !== held && one.calls === 0) one.cloud.close();
  }

  const cloud: Required<Omit<Cloud, 'loadBalancerDriver'>> = {
    name: first.name,
    scope: first.scope,
    account: first.account,
    formerScopes: first.formerScopes,
    accepts: (providerID) => held.cloud.accepts(providerID),
    instances: {
      get batchSize() {
        return held.cloud.instances.batchSize;
      },
      async lookup(refs, options) {
        const answers = await call(({ instances }) => instances.lookup(refs, options));
        note(refs, answers);
        return answers;
      },
    },
    loadBalancers:
      first.loadBalancers &&
      heldLoadBalancers(
        () => balancersOf(held.cloud),
        call,
        (ids) => {
          lent = ids;
        },
      ),
    routes: first.routes && heldRoutes(() => routesOf(held.cloud), call),
    nodeTags: first.nodeTags && heldNodeTags(() => nodeTagsOf(held.cloud), call),
    volumes: first.volumes && heldVolumes(() => volumesOf(held.cloud), call),
    get credential() {
      return credential;
    },
    get files() {
      return held.cloud.files ?? [];
    },
    ping: (signal) => call(async (one) => one.ping?.(signal)),
    check: (signal) => call((one) => one.check(signal)),
    close() {
      onClose();
      held.cloud.close();
    },
  };

  return {
    cloud,
    replace(next) {
      const before = held;
      // Services are declared after the next complete read; until then no shared resource shrinks.
      next.loadBalancers?.declare([], false, lent);
      held = { cloud: next, calls: 0 };
      credential += 1;
      closeIdle(before);
    },
    found: () => [...found.values()],
  };
}

type Call = <T>(run: (cloud: Cloud) => Promise<T>) => Promise<T>;

function heldLoadBalancers(
  now: () => LoadBalancers,
  call: Call,
  onLent: (ids: ReadonlySet<string>) => void,
): LoadBalancers {
  return {
    get annotations() {
      return now().annotations;
    },
    get annotationPrefixes() {
      return now().annotationPrefixes;
    },
    get classicFinalizers() {
      return now().classicFinalizers;
    },
    get maxMembers() {
      return now().maxMembers;
    },
    get drains() {
      return now().drains;
    },
    get settleMs() {
      return now().settleMs;
    },
    nodeLabels: (annotations) => now().nodeLabels(annotations),
    takesPods: (annotations) => now().takesPods(annotations),
    podIds: (...args) => call((cloud) => balancersOf(cloud).podIds(...args)),
    observeAll: (...args) => call((cloud) => balancersOf(cloud).observeAll(...args)),
    observe: (...args) => call((cloud) => balancersOf(cloud).observe(...args)),
    declare(desired, isComplete, lent) {
      onLent(lent);
      now().declare(desired, isComplete, lent);
    },
    plan: (desired) => now().plan(desired),
    lastDone: (service) => now().lastDone(service),
    planRemoval: (owner, options) => now().planRemoval(owner, options),
    preview: (...args) => call((cloud) => balancersOf(cloud).preview(...args)),
    apply: (...args) => call((cloud) => balancersOf(cloud).apply(...args)),
  };
}

function heldRoutes(now: () => Routes, call: Call): Required<Routes> {
  return {
    get tagged() {
      return now().tagged;
    },
    observe: (...args) => call((cloud) => routesOf(cloud).observe(...args)),
    create: (...args) => call((cloud) => routesOf(cloud).create(...args)),
    remove: (...args) => call((cloud) => routesOf(cloud).remove(...args)),
  };
}

function heldNodeTags(now: () => NodeTags, call: Call): Required<NodeTags> {
  return {
    get batchSize() {
      return now().batchSize;
    },
    expected: (key, value) => now().expected(key, value),
    set: (...args) => call((cloud) => nodeTagsOf(cloud).set(...args)),
    remove: (...args) => call((cloud) => nodeTagsOf(cloud).remove(...args)),
  };
}

function heldVolumes(now: () => Volumes, call: Call): Required<Volumes> {
  return {
    get sources() {
      return now().sources;
    },
    accepts: (ref) => now().accepts(ref),
    lookup: (...args) => call((cloud) => volumesOf(cloud).lookup(...args)),
  };
}

function balancersOf({ name, loadBalancers }: Cloud): LoadBalancers {
  if (!loadBalancers) throw new Error(`cloud ${name} has no load balancers any more`);
  return loadBalancers;
}

function routesOf({ name, routes }: Cloud): Routes {
  if (!routes) throw new Error(`cloud ${name} has no routes any more`);
  return routes;
}

function nodeTagsOf({ name, nodeTags }: Cloud): NodeTags {
  if (!nodeTags) throw new Error(`cloud ${name} cannot tag instances any more`);
  return nodeTags;
}

function volumesOf({ name, volumes }: Cloud): Volumes {
  if (!volumes) throw new Error(`cloud ${name} has no volumes any more`);
  return volumes;
}
