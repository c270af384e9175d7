import type { DesiredMember, Refusal } from '../../load-balancers.ts';
import type { ClassicLoadBalancer } from './classic-load-balancer.ts';
import type { Subject } from './observed.ts';
import { type ClassicStep, type Registered, stepOf } from './step.ts';

export interface SortedMembers {
  /** Everybody who may be there. */
  readonly all: readonly Registered[];
  /** Of these, who is to be there. Of one that is known by its id alone, what is there stays. */
  readonly active: readonly Registered[];
}

/** Members as instances of this scope; what is none is named. */
export function memberSorter(idOf: (providerID: string) => string | undefined) {
  return (members: readonly DesiredMember[]): { readonly members: SortedMembers; readonly strangers: Refusal[] } => {
    const all: Registered[] = [];
    const active: Registered[] = [];
    const strangers: Refusal[] = [];
    for (const { node, providerID, addresses } of members) {
      const id = idOf(providerID);
      if (id === undefined) {
        const message = `member ${node}: providerID ${JSON.stringify(providerID)} is of another place`;
        strangers.push({ reason: 'Unsupported', message });
        continue;
      }
      all.push({ id, providerID });
      if (addresses.length > 0) active.push({ id, providerID });
    }
    return { members: { all, active }, strangers };
  };
}

/** New members come before others go. */
export function planMembers(
  subject: Subject,
  { name, instances }: ClassicLoadBalancer,
  { all, active }: SortedMembers,
): readonly ClassicStep[] {
  const there = new Set(instances);
  const wanted = new Set(all.map(({ id }) => id));
  const joining = active.filter(({ id }) => !there.has(id));
  const leaving = instances.filter((id) => !wanted.has(id));
  const steps: ClassicStep[] = [];
  if (joining.length > 0) {
    const summary = `register with ${name}: ${listed(joining.map(({ id }) => id))}`;
    steps.push(stepOf(subject, summary, { does: 'register instances', instances: joining }));
  }
  if (leaving.length > 0) {
    const summary = `deregister from ${name}: ${listed(leaving)}`;
    steps.push(stepOf(subject, summary, { does: 'deregister instances', instances: leaving }));
  }
  return steps;
}

function listed(ids: readonly string[]): string {
  const shown = ids.slice(0, 5).join(', ');
  return ids.length > 5 ? `${shown} and ${ids.length - 5} more` : shown;
}
