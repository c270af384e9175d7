import assert from 'node:assert/strict';
import { isCloudError } from '../../../common/cloud-error.ts';
import type { CloudRecord, LoadBalancerStep } from '../../../controller/clouds/load-balancer-step.ts';
import type {
  AdoptionProof,
  DesiredLoadBalancer,
  LoadBalancerPlan,
  LoadBalancerRef,
  LoadBalancers,
  ObservedLoadBalancer,
  Refusal,
} from '../../../controller/clouds/load-balancers.ts';
import { type Permit, WithheldError } from '../../../controller/clouds/permit.ts';
import type { CloudWorld } from './world.ts';

/** What stands on the Service about its load balancer; it outlives every process. */
export interface ServiceRecord {
  id: string | undefined;
  notes?: string | undefined;
}

export const withheld: Permit = () => {
  throw new WithheldError('Fenced', 'not sent: this replica does not lead');
};

/** The process has died at this very place: nothing of what it knew is left. */
export class Crash extends Error {}

/** Where the process dies: right before a call is sent, or after its answer came and before anything is recorded. */
export interface CrashPoint {
  readonly at: 'before' | 'after';
  /** Counted from 1. */
  readonly call: number;
}

export interface Driving {
  readonly world: CloudWorld;
  readonly balancers: LoadBalancers;
  readonly desired: DesiredLoadBalancer;
  readonly record: ServiceRecord;
  /** What the classic controller made is taken over. */
  readonly adopt?: AdoptionProof | undefined;
  readonly crash?: CrashPoint;
  /** Asked before each mutating call, beside what counts them. */
  readonly permit?: Permit;
  /** Called before each plan is applied. */
  readonly onPlan?: (plan: LoadBalancerPlan) => Promise<void>;
}

export interface Driven {
  readonly observed: ObservedLoadBalancer | undefined;
  /** Mutating calls that were permitted. */
  readonly calls: number;
  readonly steps: readonly LoadBalancerStep[];
  readonly refusals: readonly Refusal[];
  readonly remarks: readonly string[];
}

const maxRounds = 200;
const retriesAfter: ReadonlySet<string> = new Set([
  'Conflict',
  'Busy',
  'Stale',
  'Taken',
  'Unavailable',
  'Timeout',
  'NotFound',
  'Throttled',
]);

export function refOf(
  { owner, name, service, attach, address, annotations, loadBalancerClass }: DesiredLoadBalancer,
  record: ServiceRecord,
  adopt?: AdoptionProof,
): LoadBalancerRef {
  const says = { annotations, loadBalancerClass };
  return { owner, name, service, id: record.id, notes: record.notes, attachTo: attach?.id, address, adopt, says };
}

export async function look({
  world,
  balancers,
  desired,
  record,
  adopt,
  removing = false,
}: Pick<Driving, 'world' | 'balancers' | 'desired' | 'record' | 'adopt'> & { readonly removing?: boolean }) {
  return world.during(balancers.observe({ ...refOf(desired, record, adopt), removing }));
}

/** Observes, plans and applies until the plan is empty, as the controller does. Throws a Crash where it was told to. */
export function ensure(driving: Driving): Promise<Driven> {
  return drive(driving, () => driving.balancers.plan(driving.desired));
}

/** Removes everything of ours, or gives it up where it is to be retained. */
export function remove(driving: Driving): Promise<Driven> {
  const { balancers, desired } = driving;
  return drive(
    { ...driving, removing: !desired.retain },
    (observed) => observed?.owner && balancers.planRemoval(observed.owner, { retain: desired.retain }),
  );
}

async function drive(
  driving: Driving & { readonly removing?: boolean },
  planFor: (observed: ObservedLoadBalancer | undefined) => LoadBalancerPlan | undefined,
): Promise<Driven> {
  const { world, balancers, record, crash, permit: outer = () => {}, onPlan } = driving;
  const steps: LoadBalancerStep[] = [];
  const failures: string[] = [];
  let calls = 0;
  const permit: Permit = (timeoutMs) => {
    assert.ok(timeoutMs > 0 && Number.isFinite(timeoutMs), `permit was asked for ${timeoutMs} ms`);
    outer(timeoutMs);
    if (crash?.at === 'before' && crash.call === calls + 1) throw die();
    if (crash?.at === 'after' && crash.call === calls) throw die();
    calls += 1;
  };
  let isDead = false;
  function die(): Crash {
    isDead = true;
    return new Crash();
  }
  async function save({ id, notes }: CloudRecord): Promise<void> {
    if (isDead || (crash?.at === 'after' && crash.call === calls)) throw die();
    record.id = id ?? record.id;
    record.notes = notes;
  }
  let observed = await look(driving);
  for (let round = 0; round < maxRounds; round += 1) {
    const plan = planFor(observed);
    const [step] = plan?.steps ?? [];
    if (plan === undefined || step === undefined) {
      const { refusals = [], remarks = [] } = plan ?? {};
      if (plan?.waitMs === undefined) return { observed, calls, steps, refusals, remarks };
      await world.pass(plan.waitMs);
      observed = await look(driving);
      continue;
    }
    await onPlan?.(plan);
    try {
      const made: LoadBalancerStep[] = [];
      const told = (one: LoadBalancerStep) => void made.push(one);
      observed = await world.during(balancers.apply(plan, { permit, save, onStep: told }));
      if (isDead || (crash?.at === 'after' && crash.call === calls)) throw new Crash();
      steps.push(...(made.length > 0 ? made : [step]));
      // An attached one is not ours to record.
      if (observed?.id !== undefined && !observed.attached) record.id = observed.id;
      record.notes = observed?.notes ?? record.notes;
    } catch (error) {
      if (isDead) throw new Crash();
      if (!isCloudError(error) || !retriesAfter.has(error.kind) || error.subjects.length > 0) throw error;
      failures.push(`${printStep(step)}: ${error.message}`);
      await world.pass(error.retryAfterMs ?? 1000);
      observed = await look(driving);
    }
  }
  const last = [...steps.slice(-3).map(printStep), ...failures.slice(-3)];
  assert.fail(`no end after ${maxRounds} rounds; at last: ${last.join('; ')}`);
}

export function printStep({ action, resource, target, summary }: LoadBalancerStep): string {
  return `${action} ${resource} ${target}: ${summary}`;
}
