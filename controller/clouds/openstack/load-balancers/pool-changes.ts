import type { Change, Comparison, Found } from '../../../engine/resource.ts';
import type { JsonObject } from '../json.ts';
import { differences } from './differences.ts';
import type { Member, Pool } from './octavia-answer.ts';
import { isMonitor, persistenceBody } from './octavia-bodies.ts';
import type { NewMember, NewMonitor, PoolSpec } from './specs.ts';

/** What one call changes of a pool. */
export type PoolChange =
  | { readonly does: 'set pool'; readonly fields: JsonObject }
  | { readonly does: 'set members'; readonly members: readonly NewMember[] }
  | { readonly does: 'add member' | 'set member'; readonly member: NewMember; readonly id: string }
  | { readonly does: 'remove member'; readonly id: string }
  | { readonly does: 'add monitor' | 'set monitor'; readonly monitor: NewMonitor }
  | { readonly does: 'remove monitor' };

export function comparePool({ body }: Found<Pool>, spec: PoolSpec, isSerial: boolean): Comparison {
  const members = memberChanges(body, spec, isSerial);
  const changes = [...settingChanges(body, spec), ...members, ...monitorChanges(body, spec, members)];
  return changes.length === 0 ? { same: true } : { changes };
}

const change = (what: string, summary: string, body: PoolChange, after?: readonly string[]): Change => ({
  what,
  phase: 'set',
  summary,
  body,
  ...(after !== undefined && { after }),
});

function settingChanges(pool: Pool, spec: PoolSpec): Change[] {
  const { algorithm, persistence } = spec;
  const desired = {
    ...(algorithm !== undefined && pool.algorithm !== algorithm && { algorithm }),
    ...(!samePersistence(pool, spec) && { persistence: persistence ?? null }),
  };
  if (Object.keys(desired).length === 0 && pool.status !== 'ERROR') return [];
  const fields = {
    ...((desired.algorithm ?? (pool.status === 'ERROR' && pool.algorithm)) && {
      lb_algorithm: desired.algorithm ?? pool.algorithm,
    }),
    ...('persistence' in desired && { session_persistence: persistence ? persistenceBody(persistence) : null }),
  };
  return [change('settings', `pool ${pool.name}: ${differences(pool, desired)}`, { does: 'set pool', fields })];
}

/** A time that we have set is kept up to date; the classic controller sets none. */
function samePersistence({ persistence: there, tags }: Pool, { persistence: desired, tags: ours }: PoolSpec): boolean {
  if (there?.type !== desired?.type) return false;
  const isClassic = !ours.every((one) => tags.includes(one));
  return isClassic || there?.timeout === desired?.timeout;
}

const placeOf = ({ address, port }: Pick<Member, 'address' | 'port'>) => `${address} ${port}`;

/** As Octavia tells members apart: by address and port. One call for all of them, or one for each. */
function memberChanges(pool: Pool, { members: desired }: PoolSpec, isSerial: boolean): Change[] {
  // Not read: it is not known what has to change.
  if (pool.members === undefined) return [];
  const there = new Map(pool.members.map((one) => [placeOf(one), one]));
  const kept = new Set(desired.map(placeOf));
  const added = desired.filter((one) => !there.has(placeOf(one)));
  const removed = pool.members.filter((one) => !kept.has(placeOf(one)));
  const changed = desired.filter((one) => differs(there.get(placeOf(one)), one));
  if (added.length + removed.length + changed.length === 0) return [];
  if (!isSerial) {
    const parts = [
      added.length > 0 && `${added.length} added`,
      removed.length > 0 && `${removed.length} removed`,
      changed.length > 0 && `${changed.length} changed`,
    ];
    const summary = `members of pool ${pool.name}: ${parts.filter(Boolean).join(', ')}, ${desired.length} in all`;
    return [change('members', summary, { does: 'set members', members: desired })];
  }
  const of = `pool ${pool.name}`;
  return [
    ...added.map((member) => {
      const summary = `add member ${member.name} (${member.address}) to ${of}`;
      return change(`member ${placeOf(member)}`, summary, { does: 'add member', member, id: '' });
    }),
    ...changed.map((member) => {
      const { name, weight, monitorPort = 'its own port' } = member;
      const summary = `member ${name} of ${of}: weight ${weight}, checked on ${monitorPort}`;
      const { id } = there.get(placeOf(member))!;
      return change(`member ${placeOf(member)}`, summary, { does: 'set member', member, id });
    }),
    ...removed.map((member) => {
      const summary = `delete member ${member.address} of ${of}`;
      return change(`member ${placeOf(member)}`, summary, { does: 'remove member', id: member.id });
    }),
  ];
}

function differs(there: Member | undefined, { weight, monitorPort, providerID }: NewMember): boolean {
  if (there === undefined) return false;
  return (
    there.weight !== weight ||
    there.monitorPort !== monitorPort ||
    (there.providerID !== undefined && there.providerID !== providerID) ||
    there.status === 'ERROR'
  );
}

/** A check that members do not answer yet would take them all out: the port first, then who looks at it. */
function monitorChanges(pool: Pool, { monitor: desired }: PoolSpec, members: readonly Change[]): Change[] {
  const { name, monitor: there } = pool;
  const isUnread = there === undefined && pool.monitorId !== undefined;
  if (desired === undefined || isUnread) return [];
  const isOther = there !== undefined && (desired === 'none' || there.type !== desired.type);
  const remove = isOther
    ? [change('no monitor', `delete the health monitor (${there.type}) of pool ${name}`, { does: 'remove monitor' })]
    : [];
  if (!isMonitor(desired)) return remove;
  const after = [...members, ...remove].map(({ what }) => what);
  if (there === undefined || isOther) {
    const summary = `add a health monitor (${desired.type}) to pool ${name}`;
    return [...remove, change('monitor', summary, { does: 'add monitor', monitor: desired }, after)];
  }
  const { name: _, path, ...times } = desired;
  const isSame =
    there.status !== 'ERROR' &&
    Object.entries(times).every(([key, value]) => there[key as keyof typeof times] === value) &&
    (desired.type !== 'HTTP' || there.path === path);
  if (isSame) return [];
  const summary = `health monitor of pool ${name}: ${differences(there, { ...times, path })}`;
  return [change('monitor', summary, { does: 'set monitor', monitor: desired }, after)];
}

/** Members as they are shown after they were sent. */
export function shownMembers(sent: readonly NewMember[], before: readonly Member[]): readonly Member[] {
  const there = new Map(before.map((one) => [placeOf(one), one]));
  return sent.map(({ address, port, weight, monitorPort, providerID }): Member => {
    const { id = '', healthy } = there.get(placeOf({ address, port })) ?? {};
    return { id, address, port, weight, monitorPort, status: 'ACTIVE', healthy, providerID };
  });
}
