import { aws } from '../../../../common/provider-id/aws.ts';
import type { DesiredLoadBalancer, DesiredMember, Refusal } from '../../load-balancers.ts';
import type { Subject, TargetGroup } from './observed.ts';
import { type NewTarget, type NlbStep, stepOf } from './step.ts';
import type { WantedGroup } from './wanted.ts';

/** As upstream; one call takes as many as a request may carry. */
const targetsPerCall = 100;

export interface WantedTargets {
  /** Everything that is to serve. */
  readonly targets: readonly NewTarget[];
  /** Instances that stay where they are, and are added nowhere. */
  readonly kept: ReadonlySet<string>;
}

/** Members as targets of a group. Who drains is let go: AWS itself then drains it. */
export function wantedTargets(
  members: readonly DesiredMember[],
  { targetType, ipType }: Pick<WantedGroup, 'targetType' | 'ipType'>,
): WantedTargets {
  const targets = new Map<string, NewTarget>();
  const kept = new Set<string>();
  for (const { providerID, addresses, draining } of members) {
    const instanceId = aws.parse(providerID)?.instanceId;
    if (draining || instanceId === undefined) continue;
    if (addresses.length === 0) {
      kept.add(instanceId);
      continue;
    }
    const isWanted = (address: string) => address.includes(':') === (ipType === 'ipv6');
    const id = targetType === 'instance' ? instanceId : addresses.find(isWanted);
    if (id !== undefined) targets.set(id, { id, providerID });
  }
  return { targets: [...targets.values()], kept };
}

/** Members that cannot be targets here. */
export function strangers(desired: DesiredLoadBalancer, accepts: (providerID: string) => boolean): Refusal[] {
  return desired.members
    .filter(({ providerID }) => !accepts(providerID))
    .map(({ node, providerID }) => {
      const message = `member ${node}: providerID ${JSON.stringify(providerID)} is no instance of EC2 in this region`;
      return { reason: 'Unsupported', message };
    });
}

/** Register before deregister, so that a group is never empty in between. */
export function planTargets(
  subject: Subject,
  name: string,
  wanted: WantedTargets,
  observed: TargetGroup | undefined,
): { readonly register: readonly NlbStep[]; readonly deregister: readonly NlbStep[] } {
  const there = observed?.targets ?? [];
  const ids = new Set(there.map(({ id }) => id));
  const stay = new Set(wanted.targets.map(({ id }) => id));
  const missing = wanted.targets.filter(({ id }) => !ids.has(id));
  const extra = there.filter(
    ({ id, providerID }) => !stay.has(id) && !wanted.kept.has(aws.parse(providerID)?.instanceId ?? id),
  );
  const register = chunks(missing).map((targets) =>
    stepOf(subject, name, `target group ${name}: register ${listed(targets)}`, {
      ...{ does: 'register targets', group: name, targets },
    }),
  );
  const deregister = chunks(extra).map((targets) =>
    stepOf(subject, name, `target group ${name}: deregister ${listed(targets)}`, {
      ...{ does: 'deregister targets', group: name, ids: targets.map(({ id }) => id) },
    }),
  );
  return { register, deregister };
}

function chunks<T>(items: readonly T[]): T[][] {
  const result: T[][] = [];
  for (let at = 0; at < items.length; at += targetsPerCall) result.push(items.slice(at, at + targetsPerCall));
  return result;
}

function listed(targets: readonly { readonly id: string }[]): string {
  const shown = targets.slice(0, 5).map(({ id }) => id);
  return targets.length > 5 ? `${shown.join(', ')} and ${targets.length - 5} more` : shown.join(', ');
}
