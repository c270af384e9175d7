import type { Member, Pool } from './answer.ts';
import { type NewMember, type OctaviaStep, stepOf } from './step.ts';
import type { Wanted } from './wanted.ts';

const key = ({ address, port }: Pick<Member, 'address' | 'port'>) => `${address} ${port}`;

export interface MemberDifference {
  readonly added: readonly NewMember[];
  readonly removed: readonly Member[];
  readonly changed: readonly { readonly there: Member; readonly wanted: NewMember }[];
}

/** By address and port, as Octavia tells members apart. */
export function memberDifference(there: readonly Member[], wanted: readonly NewMember[]): MemberDifference {
  const known = new Map(there.map((member) => [key(member), member]));
  const added: NewMember[] = [];
  const changed: { there: Member; wanted: NewMember }[] = [];
  const kept = new Set<string>();
  for (const member of wanted) {
    const before = known.get(key(member));
    kept.add(key(member));
    if (before === undefined) added.push(member);
    else if (differs(before, member)) changed.push({ there: before, wanted: member });
  }
  return { added, changed, removed: there.filter((member) => !kept.has(key(member))) };
}

function differs(there: Member, wanted: NewMember): boolean {
  return (
    there.weight !== wanted.weight ||
    there.monitorPort !== wanted.monitorPort ||
    (there.providerID !== undefined && there.providerID !== wanted.providerID) ||
    there.status === 'ERROR'
  );
}

/** One batch for a pool, or one call a member where the provider takes no batch. */
export function memberSteps(
  { subject, config }: Wanted,
  loadBalancer: { readonly id: string; readonly name: string },
  pool: Pool | undefined,
  portTag: string,
  wanted: readonly NewMember[],
): OctaviaStep[] {
  const { added, changed, removed } = memberDifference(pool?.members ?? [], wanted);
  if (added.length + changed.length + removed.length === 0) return [];
  const name = pool?.name ?? portTag;
  const target = pool?.id ?? name;
  const place = { loadBalancer: loadBalancer.id, pool: pool?.id, portTag };
  if (!config.serialCalls) {
    const parts = [
      added.length > 0 && `${added.length} added`,
      removed.length > 0 && `${removed.length} removed`,
      changed.length > 0 && `${changed.length} changed`,
    ];
    const summary = `members of pool ${name}: ${parts.filter(Boolean).join(', ')}, ${wanted.length} in all`;
    return [stepOf(subject, target, summary, { does: 'update members', ...place, members: wanted })];
  }
  return [
    ...added.map((member) => {
      const summary = `add member ${member.name} (${member.address}) to pool ${name}`;
      return stepOf(subject, target, summary, { does: 'create member', ...place, member });
    }),
    ...changed.map(({ there, wanted: member }) => {
      const summary = `member ${member.name} of pool ${name}: weight ${member.weight}, checked on ${member.monitorPort ?? 'its own port'}`;
      const call = {
        does: 'update member',
        loadBalancer: loadBalancer.id,
        pool: pool?.id ?? '',
        id: there.id,
        member,
      } as const;
      return stepOf(subject, there.id, summary, call);
    }),
    ...removed.map(({ id, name: gone, address }) => {
      const summary = `delete member ${gone} (${address}) of pool ${name}`;
      return stepOf(subject, id, summary, {
        does: 'delete member',
        loadBalancer: loadBalancer.id,
        pool: pool?.id ?? '',
        id,
      });
    }),
  ];
}
