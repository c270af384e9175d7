import type { Clock } from '../../../../common/process/clock.ts';
import type { Random } from '../../../../common/process/random.ts';
import type { LoadBalancer, Target, TargetGroup } from './observed.ts';

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
 * What was read of load balancers and target groups, or was changed since by this process. A look at everything asks for it again once an hour, and at once where what the
 * lists show contradicts it; whoever looks at one Service reads it anyway. AWS has no call that shows it of many.
 */
export interface Kept {
  /** @param groups as the list shows them now */
  balancer(arn: string, groups: readonly Pick<TargetGroup, 'arn' | 'loadBalancers'>[]): KeptBalancer | undefined;
  /** Only while all of its targets were healthy. */
  group(arn: string): KeptGroup | undefined;
  keepBalancer(one: LoadBalancer): void;
  keepGroup(group: TargetGroup): void;
  /** A change whose end nobody saw. */
  forget(arns: Iterable<string>): void;
  /** Forgets all others. */
  retain(arns: ReadonlySet<string>): void;
}

const forMs = 3_600_000;

export function createKept(clock: Clock, random: Random): Kept {
  const balancers = new Map<string, KeptBalancer & { readonly untilMs: number }>();
  const groups = new Map<string, KeptGroup & { readonly untilMs: number }>();
  // Not all at one time.
  const untilMs = () => clock.monotonic() + forMs * (0.5 + random() / 2);

  return {
    balancer(arn, listed) {
      const kept = balancers.get(arn);
      if (!kept || kept.untilMs <= clock.monotonic()) return undefined;
      const used = new Set(kept.listeners.flatMap(({ group }) => group ?? []));
      return listed.every((group) => group.loadBalancers.includes(arn) === used.has(group.arn)) ? kept : undefined;
    },
    group(arn) {
      const kept = groups.get(arn);
      const known = kept && kept.untilMs > clock.monotonic() && kept.targets.every(({ healthy }) => healthy === true);
      return known ? kept : undefined;
    },
    keepBalancer: ({ arn, listeners, attributes }) =>
      void balancers.set(arn, { listeners, attributes, untilMs: untilMs() }),
    keepGroup: ({ arn, targets, attributes }) => void groups.set(arn, { targets, attributes, untilMs: untilMs() }),
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
