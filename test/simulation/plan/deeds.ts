import { isDeepStrictEqual } from 'node:util';
import type { LoadBalancerStep } from '../../../controller/clouds/load-balancer-step.ts';
import type { LoadBalancers } from '../../../controller/clouds/load-balancers.ts';
import type { Routes } from '../../../controller/clouds/routes.ts';
import { describeWrite } from '../../../controller/dry-run/describe-write.ts';
import type { PlannedChange } from '../../../controller/dry-run/planned-change.ts';
import type { ConfiguredCloud } from '../../../controller/model/configured-cloud.ts';
import type { Observer } from '../judge/observer.ts';

/**
 * One change as plan and deed name it: which object, or which kind of resource of which Service, and how. A route by
 * its instance: which Node gets which pod range depends on who asks first.
 */
export function keyOf({ of, object, action, resource, target }: PlannedChange): string {
  if (object.startsWith('route ')) return [of, 'route', action, target].join(' | ');
  return [of, object, action, ...(resource === undefined ? [] : [resource])].join(' | ');
}

/** What a process does, by key, and when first; times are the world's. */
export interface Deeds {
  readonly done: ReadonlyMap<string, number>;
  /** What was tried, whether it was accepted or not. */
  readonly tried: ReadonlySet<string>;
  /** Objects of which the cloud refused a change: what follows from that cannot be planned. */
  readonly refused: ReadonlySet<string>;
  readonly observer: Observer;
  /** The cloud, of which every accepted change is a deed. */
  follow(cloud: ConfiguredCloud): ConfiguredCloud;
}

export function createDeeds(identity: string, nowMs: () => number): Deeds {
  const done = new Map<string, number>();
  const tried = new Set<string>();
  const refused = new Set<string>();
  const note = (change: PlannedChange) => {
    const key = keyOf(change);
    if (!done.has(key)) done.set(key, nowMs());
  };

  /** Tries a change of an object of the cluster. */
  async function attempt<T>(of: string, changes: readonly PlannedChange[], work: () => Promise<T>): Promise<T> {
    for (const change of changes) tried.add(keyOf(change));
    try {
      return await work();
    } catch (error) {
      refused.add(of);
      throw error;
    }
  }

  return {
    done,
    tried,
    refused,
    observer: {
      kubeEffect({ process, call, resource, mutating, status, before, after }) {
        if (process.identity !== identity || !mutating || status > 299) return;
        if (/^(events|leases|.*reviews)$/.test(resource) || isDeepStrictEqual(lasting(before), lasting(after))) return;
        note(describeWrite(call));
      },
    },
    follow(cloud) {
      const { scope, api } = cloud;
      if (api === undefined) return cloud;
      return {
        ...cloud,
        api: {
          ...api,
          ...(api.routes && { routes: routesWith(api.routes, { scope, note, attempt }) }),
          ...(api.loadBalancers && {
            loadBalancers: balancersWith(api.loadBalancers, { scope, note, attempt }),
          }),
        },
      };
    },
  };
}

interface Followed {
  readonly scope: string;
  note(change: PlannedChange): void;
  attempt<T>(of: string, changes: readonly PlannedChange[], work: () => Promise<T>): Promise<T>;
}

function routesWith(routes: Routes, { scope, note, attempt }: Followed): Routes {
  const changeOf = (target: string | undefined, action: 'create' | 'delete'): PlannedChange => ({
    of: scope,
    object: 'route ',
    action,
    what: '',
    target: target ?? '',
  });
  return {
    ...routes,
    async create(route, options) {
      const change = changeOf(route.providerID, 'create');
      const made = await attempt(`node ${route.node}`, [change], () => routes.create(route, options));
      note(change);
      return made;
    },
    async remove(route, options) {
      const change = changeOf(route.providerID, 'delete');
      await attempt('', [change], () => routes.remove(route, options));
      note(change);
    },
  };
}

function balancersWith(balancers: LoadBalancers, { scope, note, attempt }: Followed): LoadBalancers {
  /** `namespace/name`, by UID. */
  const names = new Map<string, string>();
  return {
    ...balancers,
    async observeAll(...args) {
      const all = await balancers.observeAll(...args);
      for (const { owner, service } of all) if (owner && service !== undefined) names.set(owner.service, service);
      return all;
    },
    async observe(ref, signal) {
      const observed = await balancers.observe(ref, signal);
      if (observed?.service !== undefined) names.set(ref.owner.service, observed.service);
      return observed;
    },
    apply(plan, options) {
      const { owner, desired } = plan.request;
      const name = desired?.service ?? names.get(owner.service);
      const object = name === undefined ? `service with uid ${owner.service}` : `service ${name}`;
      const changeOf = ({ action, resource, summary }: LoadBalancerStep): PlannedChange => ({
        of: scope,
        object,
        action,
        resource,
        what: summary,
      });
      const onStep = (step: LoadBalancerStep, isAccepted: boolean) => {
        note(changeOf(step));
        options.onStep?.(step, isAccepted);
      };
      return attempt(object, plan.steps.map(changeOf), () => balancers.apply(plan, { ...options, onStep }));
    },
  };
}

/** Without what the API server itself changes with every write. */
function lasting(object: unknown): unknown {
  return JSON.parse(JSON.stringify(object ?? null), (key, value) =>
    /^(resourceVersion|managedFields|lastHeartbeatTime|lastTransitionTime)$/.test(key) ? undefined : value,
  );
}
