import {
  AuthorizeSecurityGroupIngressCommand,
  CreateSecurityGroupCommand,
  CreateTagsCommand,
  DeleteSecurityGroupCommand,
  DeleteTagsCommand,
  DescribeSecurityGroupsCommand,
  RevokeSecurityGroupIngressCommand,
} from '@aws-sdk/client-ec2';
import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import { ownerTags } from '../../load-balancers.ts';
import type { ApplyOptions } from '../../permit.ts';
import { tagMap } from '../cluster-tags.ts';
import { codeOf } from '../errors.ts';
import { sdkTags, type Tags } from '../load-balancer-tags.ts';
import type { AwsParts } from '../parts.ts';
import type { Carrier, UsersOfGroups } from './group-users.ts';
import { missingRules, permissionsOf, ruleKey, rulesOf } from './ingress-rule.ts';
import { findGroup, type NetworkFacts, type ObservedSecurityGroup, withGroup, withoutGroup } from './network-facts.ts';
import type { NetworkReads } from './network-reads.ts';
import { clientOf, hasOwnRules } from './rule-descriptions.ts';
import type { Needed, SecurityGroupCall } from './security-group-call.ts';

/** How long the network interfaces of a load balancer that was deleted hold its groups; the cloud says no better than by refusing. */
const firstBusyMs = 5000;
const longestBusyMs = 300_000;
/** After that it is somebody else. */
const patienceMs = 600_000;

/** The calls that change security groups. */
export interface SecurityGroupCalls {
  /**
   * Makes the one call, and answers the facts after it. Repeated after a lost answer it finds what it made. Without a call where somebody turns out to need what was to
   * go. A group that cannot be deleted yet is `busy` in the answer. Throws a CloudError or a WithheldError.
   */
  apply(call: SecurityGroupCall, facts: NetworkFacts, options: ApplyOptions): Promise<NetworkFacts>;
  /**
   * Makes a load balancer that will carry these groups, or has it carry them. From before until it is gone its use of them counts, and what is answered beside are the
   * facts as they are when it is made: what somebody removed meanwhile is missing in them.
   */
  joining<Made>(
    carrier: Carrier,
    facts: NetworkFacts,
    make: () => Promise<Made>,
    signal?: AbortSignal,
  ): Promise<{ readonly made: Made; readonly facts: NetworkFacts }>;
  /**
   * The same where what groups let in is planned anew from what is known: it answers when no removal is under way that
   * was decided before.
   */
  carrying<Made>(carrier: Carrier, make: () => Promise<Made>): Promise<Made>;
  /** It is gone, or was not there when it was looked for. Answers the facts without it. */
  left(loadBalancer: string, facts: NetworkFacts): NetworkFacts;
}

export function createSecurityGroupCalls(
  { ec2, cluster, context: { clock } }: Pick<AwsParts, 'context' | 'ec2' | 'cluster'>,
  reads: Pick<NetworkReads, 'facts'>,
  users: UsersOfGroups,
): SecurityGroupCalls {
  let turn: Promise<unknown> = Promise.resolve();
  /** Groups that could not be deleted, by id: since when, monotonic, and how often that was tried. */
  const inUse = new Map<string, { readonly sinceMs: number; readonly tries: number }>();

  /** One at a time: whether a shared rule is needed, and taking it away, must not overlap with somebody's beginning to need it. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = turn.then(work, work);
    turn = mine.catch(() => {});
    return mine;
  }

  /** One group as it is now; undefined when it is gone. */
  async function reread(id: string, signal: AbortSignal | undefined): Promise<ObservedSecurityGroup | undefined> {
    const command = new DescribeSecurityGroupsCommand({ GroupIds: [id] });
    try {
      const { SecurityGroups } = await ec2.read('DescribeSecurityGroups', command, { urgency: 'change', signal });
      const [group] = SecurityGroups ?? [];
      if (group === undefined) return undefined;
      const { GroupName = '', Tags, IpPermissions } = group;
      return { id, name: GroupName, tags: tagMap(Tags), ingress: rulesOf(IpPermissions) };
    } catch (error) {
      if (isCloudError(error) && error.kind === 'NotFound') return undefined;
      throw error;
    }
  }

  async function refreshed(facts: NetworkFacts, id: string, signal: AbortSignal | undefined): Promise<NetworkFacts> {
    const group = await reread(id, signal);
    return group === undefined ? withoutGroup(facts, id) : withGroup(facts, group);
  }

  /** Whether somebody needs it, and the facts that show that. `reread`: they hold the group itself as it is now. */
  async function lookWhoNeeds(
    needed: Needed,
    group: string,
    facts: NetworkFacts,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly facts: NetworkFacts; readonly isNeeded: boolean; readonly reread: boolean }> {
    if (needed.by === 'users of a group') {
      const fresh = { ...facts, users: await users.read({ urgency: 'change', signal }) };
      const there = facts.groups.get(group);
      const isAdmitted = (name: string) =>
        needed.unlessAdmitted === true && there !== undefined && hasOwnRules(there, needed.group, name);
      const others = (fresh.users.get(needed.group) ?? []).filter((name) => name !== needed.but);
      const isNeeded = others.some((name) => !isAdmitted(name));
      return { facts: fresh, isNeeded, reread: false };
    }
    const fresh = await refreshed(facts, group, signal);
    const { but, sources } = needed;
    const others = (fresh.groups.get(group)?.ingress ?? []).filter(
      (rule) => ![undefined, but].includes(clientOf(rule)),
    );
    const isNeeded = others.some(({ source }) => sources?.includes(source) ?? true);
    return { facts: fresh, isNeeded, reread: true };
  }

  async function create(
    { name, description, tags }: SecurityGroupCall & { does: 'create security group' },
    facts: NetworkFacts,
    options: ApplyOptions,
  ): Promise<NetworkFacts> {
    const { owned } = await cluster(options.signal);
    const all = { ...owned, ...tags };
    const command = new CreateSecurityGroupCommand({
      GroupName: name,
      Description: description,
      VpcId: facts.vpcId,
      TagSpecifications: [{ ResourceType: 'security-group', Tags: sdkTags(all) }],
    });
    try {
      const { GroupId: id = '' } = await ec2.change('CreateSecurityGroup', command, options);
      return withGroup(facts, { id, name, tags: all, ingress: [] });
    } catch (error) {
      if (codeOf(error) !== 'InvalidGroup.Duplicate') throw error;
      const fresh = await reads.facts([], { urgency: 'change', signal: options.signal });
      const there = findGroup(fresh, name);
      if (there === undefined || !isSameOwner(there.tags, tags)) throw error;
      return { ...facts, groups: fresh.groups };
    }
  }

  async function changeRules(
    call: SecurityGroupCall & { does: 'authorize ingress' | 'revoke ingress' },
    facts: NetworkFacts,
    options: ApplyOptions,
  ): Promise<NetworkFacts> {
    const { id, name, tags, ingress } = groupIn(facts, call.group, call.does);
    const { rules } = call;
    const request = { GroupId: id, IpPermissions: permissionsOf(rules) };
    const adds = call.does === 'authorize ingress';
    try {
      if (adds) {
        await ec2.change('AuthorizeSecurityGroupIngress', new AuthorizeSecurityGroupIngressCommand(request), options);
      } else await ec2.change('RevokeSecurityGroupIngress', new RevokeSecurityGroupIngressCommand(request), options);
    } catch (error) {
      const code = codeOf(error);
      if (code !== 'InvalidPermission.Duplicate' && code !== 'InvalidPermission.NotFound') throw error;
      const fresh = await refreshed(facts, id, options.signal);
      const there = fresh.groups.get(id)?.ingress ?? [];
      const left = adds ? missingRules(rules, there) : missingRules(rules, missingRules(rules, there));
      if (left.length === 0) return fresh;
      // Some are there and some are not: what is left shows when it is looked at anew.
      const message = `${code}: security group ${name} has changed meanwhile`;
      throw new CloudError({ kind: 'Conflict', cloud: 'aws', operation: call.does, message, cause: error });
    }
    const gone = new Set(rules.map(ruleKey));
    const after = adds ? [...ingress, ...rules] : ingress.filter((rule) => !gone.has(ruleKey(rule)));
    return withGroup(facts, { id, name, tags, ingress: after });
  }

  async function remove(
    call: SecurityGroupCall & { does: 'delete security group' },
    facts: NetworkFacts,
    options: ApplyOptions,
  ): Promise<NetworkFacts> {
    const id = findGroup(facts, call.group)?.id ?? call.group;
    try {
      await ec2.change('DeleteSecurityGroup', new DeleteSecurityGroupCommand({ GroupId: id }), options);
    } catch (error) {
      const code = codeOf(error);
      // The load balancer's network interfaces go some time after it.
      if (code === 'DependencyViolation')
        return { ...facts, busy: new Set([...facts.busy, id]), busyMs: waitFor(id, facts) };
      if (code !== 'InvalidGroup.NotFound') throw error;
    }
    inUse.delete(id);
    return withoutGroup(facts, id);
  }

  /** @throws CloudError when it has been in use for longer than any load balancer takes to go */
  function waitFor(id: string, facts: NetworkFacts): number {
    const now = clock.monotonic();
    const { sinceMs, tries } = inUse.get(id) ?? { sinceMs: now, tries: 0 };
    inUse.set(id, { sinceMs, tries: tries + 1 });
    const waitMs = Math.min(firstBusyMs * 2 ** tries, longestBusyMs);
    if (now - sinceMs < patienceMs) return waitMs;
    const message = `DependencyViolation: security group ${facts.groups.get(id)?.name ?? ''} (${id}) is used by something else, a rule of another group or a network interface`;
    throw new CloudError({
      kind: 'Conflict',
      cloud: 'aws',
      operation: 'DeleteSecurityGroup',
      message,
      retryAfterMs: waitMs,
    });
  }

  async function tag(
    call: SecurityGroupCall & { does: 'tag security group' },
    facts: NetworkFacts,
    options: ApplyOptions,
  ): Promise<NetworkFacts> {
    const group = groupIn(facts, call.group, call.does);
    const command = new CreateTagsCommand({ Resources: [group.id], Tags: sdkTags(call.tags) });
    await ec2.change('CreateTags', command, options);
    return withGroup(facts, { ...group, tags: { ...group.tags, ...call.tags } });
  }

  async function untag(
    call: SecurityGroupCall & { does: 'untag security group' },
    facts: NetworkFacts,
    options: ApplyOptions,
  ): Promise<NetworkFacts> {
    const group = groupIn(facts, call.group, call.does);
    const command = new DeleteTagsCommand({ Resources: [group.id], Tags: call.keys.map((Key) => ({ Key })) });
    await ec2.change('DeleteTags', command, options);
    const left = Object.entries(group.tags).filter(([key]) => !call.keys.includes(key));
    return withGroup(facts, { ...group, tags: Object.fromEntries(left) });
  }

  async function apply(call: SecurityGroupCall, facts: NetworkFacts, options: ApplyOptions): Promise<NetworkFacts> {
    const { signal } = options;
    switch (call.does) {
      case 'create security group':
        return create(call, facts, options);
      case 'tag security group':
        return tag(call, facts, options);
      case 'untag security group':
        return untag(call, facts, options);
      case 'authorize ingress':
        if (!call.shared) return changeRules(call, facts, options);
        return inTurn(async () => {
          const after = await changeRules(call, facts, options);
          return refreshed(after, groupIn(after, call.group, call.does).id, signal);
        });
      case 'revoke ingress':
        return inTurn(async () => {
          const look = call.unless && (await lookWhoNeeds(call.unless, call.group, facts, signal));
          if (look?.isNeeded) return look.facts;
          const after = await changeRules(call, look?.facts ?? facts, options);
          return look?.reread ? after : refreshed(after, call.group, signal);
        });
      case 'delete security group':
        return inTurn(async () => {
          const look = call.unless && (await lookWhoNeeds(call.unless, call.group, facts, signal));
          return look?.isNeeded ? look.facts : remove(call, look?.facts ?? facts, options);
        });
    }
  }

  async function join<Made>(carrier: Carrier, make: () => Promise<Made>): Promise<Made> {
    const before = users.joinedBefore(carrier.name);
    users.joins(carrier);
    const made = await make().catch((error: unknown) => {
      if (!mayHaveHappened(error)) users.forgetJoining(carrier.name, before);
      throw error;
    });
    await inTurn(async () => undefined);
    return made;
  }

  return {
    apply: async (call, facts, options) => ({ ...(await apply(call, facts, options)), ...knownUsers(users) }),
    carrying: join,
    async joining(carrier, facts, make, signal) {
      const made = await join(carrier, make);
      const fresh = await inTurn(() => reads.facts([], { urgency: 'change', signal }));
      return { made, facts: { ...facts, groups: fresh.groups, ...knownUsers(users) } };
    },
    left(loadBalancer, facts) {
      users.left(loadBalancer);
      return { ...facts, ...knownUsers(users) };
    },
  };
}

function knownUsers(users: UsersOfGroups): Pick<NetworkFacts, 'users'> {
  return { users: users.known() };
}

function mayHaveHappened(error: unknown): boolean {
  return isCloudError(error) && (error.kind === 'Timeout' || error.kind === 'Unavailable');
}

function groupIn(facts: NetworkFacts, ref: string, operation: string): ObservedSecurityGroup {
  const group = findGroup(facts, ref);
  if (group !== undefined) return group;
  throw new CloudError({ kind: 'Conflict', cloud: 'aws', operation, message: `security group ${ref} is not there` });
}

/** Whether both are of the same cluster and Service, or of the same cluster as a whole. */
function isSameOwner(there: Tags, wanted: Tags): boolean {
  return [ownerTags.cluster, ownerTags.service].every((key) => there[key] === wanted[key]);
}
