import { CloudError } from '../../../../common/cloud-error.ts';
import type { Answer, Change, Comparison, Found, Kind, WriteIo } from '../../../engine/resource.ts';
import { ownerTags } from '../../load-balancers.ts';
import { ownedBy, type Tags } from '../load-balancer-tags.ts';
import { type FrontBody, type GroupView, groupKinds, showGroups } from './group-resources.ts';
import { type IngressRule, missingRules } from './ingress-rule.ts';
import type { NetworkFacts, ObservedSecurityGroup } from './network-facts.ts';
import type { NetworkReads } from './network-reads.ts';
import { plannedCall, type SecurityGroupCall } from './security-group-call.ts';
import type { SecurityGroupCalls } from './security-group-calls.ts';

/** A security group that one Service has, or all have. Undefined: as it stands. */
export interface GroupSpec {
  readonly name: string;
  readonly description: string;
  readonly tags: Tags;
  /** Exactly these. Undefined: those that stand. */
  readonly rules?: readonly IngressRule[];
}

export interface GroupKindsParts {
  readonly reads: Pick<NetworkReads, 'vpc' | 'lastGroups' | 'noteGroup'>;
  readonly calls: Pick<SecurityGroupCalls, 'apply'>;
  /** Runs one after the other what is about the same group. */
  inTurn<T>(group: string, work: () => Promise<T>): Promise<T>;
  view(): GroupView;
  /** Names of the load balancers that carry a group; undefined = not known yet. */
  carriersOf(group: string): readonly string[] | undefined;
  /** UID of the Service of a load balancer; its name, where that is not known. */
  userOf(loadBalancer: string): string;
  /** Name of the load balancer of a Service. */
  nameOf(service: string): string;
}

/** For how long a list may not show a change of security groups. */
export const groupsSettleMs = 10_000;

/** Makes one call about groups, by what is known of them, and answers what the groups that it names show then. */
export function callGroups(parts: GroupKindsParts, call: SecurityGroupCall, io: WriteIo): Promise<GroupsAnswer> {
  return parts.inTurn('group' in call ? call.group : call.name, () => callGroupsNow(parts, call, io));
}

interface GroupsAnswer {
  readonly facts: NetworkFacts;
  readonly found: readonly Found[];
  readonly id: string;
}

async function callGroupsNow(
  { reads, calls, view }: GroupKindsParts,
  call: SecurityGroupCall,
  { permit, signal }: WriteIo,
): Promise<GroupsAnswer> {
  const groups = reads.lastGroups() ?? new Map<string, ObservedSecurityGroup>();
  const nobody = { isCluster: () => false, mayBeNode: () => false, users: undefined, busy: new Set<string>() };
  const known = { vpcId: await reads.vpc({ signal }), groups, instances: new Map(), ...nobody };
  const facts = await calls.apply(call, known, { permit, signal });
  const isIt = ({ id, name }: ObservedSecurityGroup) => ('group' in call ? id === call.group : name === call.name);
  const after = [...facts.groups.values()].find(isIt);
  const id = after?.id ?? ('group' in call ? call.group : '');
  reads.noteGroup(id, after);
  const shown = showGroups((reads.lastGroups() ?? groups).values(), view());
  return { facts, id, found: shown.filter((one) => one.id === id || one.id.startsWith(`${id} `)) };
}

export function createGroupKinds(parts: GroupKindsParts): readonly Kind[] {
  async function remove(found: Found<ObservedSecurityGroup>, unless: Unless, io: WriteIo): Promise<Answer> {
    const { id, name } = found.body;
    const call = { does: 'delete security group', group: id, unless } as const;
    const { facts } = await callGroups(parts, call, io);
    if (!facts.groups.has(id)) return {};
    // The load balancer's network interfaces go some time after it.
    if (facts.busy.has(id)) throw refusal('Busy', `security group ${name} (${id}) is still in use`, facts.busyMs);
    throw refusal('Conflict', `security group ${name} (${id}) is carried by another load balancer meanwhile`);
  }

  async function create({ name, description, tags }: GroupSpec, io: WriteIo): Promise<Answer> {
    const call = { does: 'create security group', name, description, tags } as const;
    const { found, id } = await callGroups(parts, call, io);
    return { id, found };
  }

  const front: Kind<GroupSpec | undefined, FrontBody> = {
    kind: groupKinds.front,
    again: 'safe',
    settleMs: groupsSettleMs,
    compare: ({ body, owner }, spec) => compareFront(body, spec, owner !== undefined),
    fresh: (want) => ({ body: { id: '', name: '', tags: want.spec?.tags ?? {}, ingress: [], carrier: undefined } }),
    create: (want, _, io) => create(want.spec!, io),
    async update({ id }, { what, body }, io) {
      const call: SecurityGroupCall =
        what === 'tags'
          ? { does: 'tag security group', group: id, tags: body as Tags }
          : what === 'open'
            ? { does: 'authorize ingress', group: id, rules: body as IngressRule[], shared: false }
            : { does: 'revoke ingress', group: id, rules: body as IngressRule[], unless: undefined };
      return { found: (await callGroups(parts, call, io)).found };
    },
    remove: (found, io) => remove(found, undefined, io),
    async mark({ id, body }, as, want, io) {
      const service = body.tags[ownerTags.serviceName] ?? body.name;
      const isTold = body.tags[ownerTags.retained] !== undefined;
      const call: SecurityGroupCall =
        as === 'ours'
          ? { does: 'tag security group', group: id, tags: (want?.spec as GroupSpec | undefined)?.tags ?? {} }
          : isTold
            ? { does: 'untag security group', group: id, keys: [ownerTags.service, ownerTags.serviceName] }
            : { does: 'tag security group', group: id, tags: { [ownerTags.retained]: service } };
      return { found: (await callGroups(parts, call, io)).found };
    },
  };

  const traffic: Kind<GroupSpec | undefined, ObservedSecurityGroup> = {
    kind: groupKinds.traffic,
    again: 'safe',
    settleMs: groupsSettleMs,
    merge: ([spec]) => spec,
    usedBy: ({ id }) => parts.carriersOf(id)?.map(parts.userOf),
    compare: () => ({ same: true }),
    create: (want, _, io) => create(want.spec!, io),
    remove: (found, io) =>
      remove(found, { by: 'users of a group', group: found.id, but: parts.nameOf(io.owner.service) }, io),
  };

  const others: Kind = { kind: groupKinds.others, again: 'safe', compare: () => ({ same: true }) };
  return [front, traffic, others] as readonly Kind[];
}

type Unless = (SecurityGroupCall & { does: 'delete security group' })['unless'];

function compareFront(body: FrontBody, spec: GroupSpec | undefined, isOurs: boolean): Comparison {
  if (spec === undefined) return { same: true };
  const changes: Change[] = [];
  const change = (what: string, phase: Change['phase'], about: unknown) => {
    const group = body.id || spec.name;
    const call: SecurityGroupCall =
      what === 'tags'
        ? { does: 'tag security group', group, tags: about as Tags }
        : what === 'open'
          ? { does: 'authorize ingress', group, rules: about as IngressRule[], shared: false }
          : { does: 'revoke ingress', group, rules: about as IngressRule[], unless: undefined };
    changes.push({ what, phase, summary: plannedCall(call, body.name || spec.name).summary, body: about });
  };
  // Stripped by hand: the load balancer that carries it tells whose it is.
  const owner = { cluster: spec.tags[ownerTags.cluster] ?? '', service: spec.tags[ownerTags.service] ?? '' };
  if (isOurs && !ownedBy(body.tags, owner)) change('tags', 'set', spec.tags);
  if (spec.rules !== undefined) {
    const missing = missingRules(spec.rules, body.ingress);
    const extra = missingRules(body.ingress, spec.rules);
    if (missing.length > 0) change('open', 'grow', missing);
    if (extra.length > 0) change('close', 'shrink', extra);
  }
  return changes.length > 0 ? { changes } : { same: true };
}

function refusal(kind: 'Busy' | 'Conflict', message: string, retryAfterMs?: number): CloudError {
  return new CloudError({ kind, cloud: 'aws', operation: 'DeleteSecurityGroup', message, retryAfterMs });
}
