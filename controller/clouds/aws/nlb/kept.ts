import type { Clock } from '../../../../common/process/clock.ts';
import type { Random } from '../../../../common/process/random.ts';
import type { Urgency } from '../../urgency.ts';
import type { Tags } from '../load-balancer-tags.ts';
import type { LoadBalancer, Target, TargetGroup } from './observed.ts';

type Listeners = LoadBalancer['listeners'];

/** What only we change as a rule, and a person rarely. */
export interface KeptBalancer {
  readonly listeners: LoadBalancer['listeners'];
  readonly attributes: LoadBalancer['attributes'];
}

export interface KeptGroup {
  readonly targets: readonly Target[];
  readonly attributes: TargetGroup['attributes'];
}

/**
 * What was read of load balancers and target groups, or was changed since by this process. A look at everything asks for it again once an hour, a look at one Service after
 * two minutes, and either at once where what the lists show contradicts it. AWS has no call that shows it of many.
 */
export interface Kept {
  /** @param groups as the list shows them now */
  balancer(
    arn: string,
    groups: readonly Pick<TargetGroup, 'arn' | 'loadBalancers'>[],
    urgency: Urgency,
  ): KeptBalancer | undefined;
  /** `targets` only while all of them were healthy, or nobody probes them. */
  group(arn: string, urgency: Urgency, unprobed?: boolean): Partial<KeptGroup>;
  keepBalancer(one: LoadBalancer): void;
  keepGroup(group: TargetGroup): void;
  /** A change whose end nobody saw. */
  forget(arns: Iterable<string>): void;
  /** Forgets all others. */
  retain(arns: ReadonlySet<string>): void;
}

const allMs = 3_600_000;
const oneMs = 120_000;

/** One thing that was read, and when. */
interface Seen<Thing> {
  readonly thing: Thing;
  readonly atMs: number;
  readonly untilMs: number;
}

export function createKept(clock: Clock, random: Random): Kept {
  const balancers = new Map<string, { readonly listeners: Seen<Listeners>; readonly attributes: Seen<Tags> }>();
  const groups = new Map<string, { readonly targets: Seen<readonly Target[]>; readonly attributes: Seen<Tags> }>();

  /** What is handed on from a look before is as old as it was. */
  function seen<Thing>(thing: Thing, before: Seen<Thing> | undefined): Seen<Thing> {
    if (before?.thing === thing) return before;
    const atMs = clock.monotonic();
    // Not all at one time.
    return { thing, atMs, untilMs: atMs + allMs * (0.5 + random() / 2) };
  }
  const fresh = <Thing>({ thing, atMs, untilMs }: Seen<Thing>, urgency: Urgency): Thing | undefined =>
    clock.monotonic() < (urgency === 'refresh' ? untilMs : atMs + oneMs) ? thing : undefined;

  return {
    balancer(arn, listed, urgency) {
      const kept = balancers.get(arn);
      const listeners = kept && fresh(kept.listeners, urgency);
      const attributes = kept && fresh(kept.attributes, urgency);
      if (!listeners || !attributes) return undefined;
      const used = new Set(listeners.flatMap(({ group }) => group ?? []));
      const agrees = listed.every((group) => group.loadBalancers.includes(arn) === used.has(group.arn));
      return agrees ? { listeners, attributes } : undefined;
    },
    group(arn, urgency, unprobed = false) {
      const kept = groups.get(arn);
      const attributes = kept && fresh(kept.attributes, urgency);
      // Who wants to know about one Service most often wants to know whether its targets serve.
      const targets = kept && (urgency === 'refresh' || unprobed) ? fresh(kept.targets, urgency) : undefined;
      const known = unprobed || targets?.every(({ healthy }) => healthy === true);
      return { ...(attributes && { attributes }), ...(targets && known && { targets }) };
    },
    keepBalancer({ arn, listeners, attributes }) {
      const before = balancers.get(arn);
      balancers.set(arn, {
        listeners: seen(listeners, before?.listeners),
        attributes: seen(attributes, before?.attributes),
      });
    },
    keepGroup({ arn, targets, attributes }) {
      const before = groups.get(arn);
      groups.set(arn, { targets: seen(targets, before?.targets), attributes: seen(attributes, before?.attributes) });
    },
    forget(arns) {
      for (const arn of arns) {
        balancers.delete(arn);
        groups.delete(arn);
      }
    },
    retain(arns) {
      for (const kept of [balancers, groups]) for (const arn of kept.keys()) if (!arns.has(arn)) kept.delete(arn);
    },
  };
}
