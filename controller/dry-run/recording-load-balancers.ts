import type { LoadBalancerStep } from '../clouds/load-balancer-step.ts';
import type { LoadBalancerPlan, LoadBalancers, ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import type { ChangeRecord } from './change-record.ts';
import type { PlannedChange } from './planned-change.ts';

/** A plan does not wait for a new load balancer. */
const untilCreatedMs = 3_600_000;

/** What is taken as done for one Service. */
interface Done {
  /** The recorded steps, as text. */
  steps: ReadonlySet<string>;
  /** Undefined: nothing is left. */
  readonly observed: ObservedLoadBalancer | undefined;
  /** Whether the cloud showed any of it, and its id. */
  readonly was: string;
  readonly later: LoadBalancerPlan['later'];
}

/**
 * The load balancers of a cloud, of which no plan is carried out: its steps are recorded, and the next reads of the
 * Service show them as done. A new load balancer stays without an id and an address, as if the cloud still worked on
 * it.
 */
export function recordingLoadBalancers(balancers: LoadBalancers, scope: string, record: ChangeRecord): LoadBalancers {
  const done = new Map<string, Done>();
  /** As the cloud shows them. */
  const seen = new Map<string, ObservedLoadBalancer>();
  /** The Service that lists a change of what several share, by the step's text. */
  const listedBy = new Map<string, string>();

  function recordSteps(plan: LoadBalancerPlan): void {
    const { request, later = [] } = plan;
    const { owner, desired } = request;
    const name = desired?.service ?? seen.get(owner.service)?.service;
    const object = name === undefined ? `service with uid ${owner.service}` : `service ${name}`;
    for (const [step, service] of listedBy) if (service === owner.service) listedBy.delete(step);
    const changes = plan.steps.filter(isListedHere).map(
      ({ action, resource, target, summary }): PlannedChange => ({
        of: scope,
        object,
        action,
        resource,
        target,
        what: summary,
      }),
    );
    const follows =
      later.length === 0 ? [] : [{ of: scope, object, action: 'hold', what: moreFollows(later) } as const];
    record.set(`${scope} service ${owner.service}`, [...changes, ...follows]);

    function isListedHere(step: LoadBalancerStep): boolean {
      if (!step.isShared) return true;
      const lister = listedBy.get(textOf(step)) ?? owner.service;
      listedBy.set(textOf(step), lister);
      return lister === owner.service;
    }
  }

  /** The plan without steps that are taken as done. */
  function remaining(plan: LoadBalancerPlan): LoadBalancerPlan {
    const { service } = plan.request.owner;
    const before = done.get(service);
    if (before === undefined || plan.steps.some((step) => !before.steps.has(textOf(step)))) return plan;
    // Steps that are no longer needed are dropped. Without any, the cloud is as desired, or could not be read.
    if (plan.steps.length < before.steps.size && plan.steps.length > 0) {
      before.steps = new Set(plan.steps.map(textOf));
      recordSteps({ ...plan, later: before.later ?? [] });
    }
    return { ...plan, steps: [], waitMs: before.observed?.ingress.length === 0 ? untilCreatedMs : undefined };
  }

  function shown(service: string, real: ObservedLoadBalancer | undefined): ObservedLoadBalancer | undefined {
    const one = done.get(service);
    if (one === undefined) return real;
    // Another controller has created or deleted it: what the cloud shows counts again.
    if (one.was !== existenceOf(real)) {
      done.delete(service);
      return real;
    }
    return one.observed;
  }

  function note(service: string, real: ObservedLoadBalancer | undefined): ObservedLoadBalancer | undefined {
    if (real === undefined) seen.delete(service);
    else seen.set(service, real);
    return shown(service, real);
  }

  return {
    ...balancers,
    async observeAll(cluster, signal, adoptable) {
      const all = await balancers.observeAll(cluster, signal, adoptable);
      const unowned = all.filter(({ owner }) => owner === undefined);
      const owned = new Map(all.flatMap((one) => (one.owner === undefined ? [] : [[one.owner.service, one]])));
      const services = new Set([...owned.keys(), ...done.keys()]);
      return [...unowned, ...[...services].flatMap((service) => note(service, owned.get(service)) ?? [])];
    },
    async observe(ref, signal) {
      const { service } = ref.owner;
      return note(service, await balancers.observe(ref, signal));
    },
    plan: (desired) => remaining(balancers.plan(desired)),
    planRemoval: (owner, options) => remaining(balancers.planRemoval(owner, options)),
    async apply(plan, { permit, signal, onStep }) {
      permit(0);
      const { owner, desired } = plan.request;
      const next = await balancers.preview(plan, signal);
      recordSteps(next);
      for (const step of next.steps) onStep?.(step, true);
      const real = seen.get(owner.service);
      const observed = desired && {
        id: undefined,
        name: desired.name,
        ingress: [],
        attached: false,
        retained: false,
        createdAtMs: undefined,
        service: desired.service,
        ...real,
        owner,
        state: 'active' as const,
        members: desired.members.map(({ providerID, draining }) => ({ providerID, draining, healthy: undefined })),
      };
      const steps = new Set([...next.steps, ...plan.steps].map(textOf));
      done.set(owner.service, { steps, observed, was: existenceOf(real), later: next.later });
      return observed;
    },
  };
}

function existenceOf(observed: ObservedLoadBalancer | undefined): string {
  return observed === undefined ? 'nothing' : (observed.id ?? 'parts');
}

function moreFollows(kinds: readonly string[]): string {
  return `more follows once this is done: ${kinds.join(', ')} may be changed, deleted or made again`;
}

function textOf(step: LoadBalancerStep): string {
  return JSON.stringify([step.action, step.resource, step.target, step.summary]);
}
