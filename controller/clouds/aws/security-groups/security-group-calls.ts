import {
  AuthorizeSecurityGroupIngressCommand,
  CreateSecurityGroupCommand,
  CreateTagsCommand,
  DeleteSecurityGroupCommand,
  DeleteTagsCommand,
  DescribeSecurityGroupsCommand,
  RevokeSecurityGroupIngressCommand,
} from '@aws-sdk/client-ec2';
import { type CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import { ownerTags } from '../../load-balancers.ts';
import type { ApplyOptions } from '../../permit.ts';
import { awsError, codeOf } from '../errors.ts';
import { createInUse } from '../in-use.ts';
import { sdkTags, type Tags } from '../load-balancer-tags.ts';
import type { AwsParts } from '../parts.ts';
import type { Carriers } from './carriers.ts';
import { type IngressRule, missingRules, permissionsOf, ruleKey } from './ingress-rule.ts';
import { groupOf, type ObservedSecurityGroup } from './network-facts.ts';
import type { NetworkReads } from './network-reads.ts';

/** How long the network interfaces of a deleted load balancer hold its groups; AWS tells only by refusing. */
const patience = { firstMs: 5000, longestMs: 300_000, wholeMs: 600_000 };

/** Tells whether rules are still needed, and what has to be read again to know it. */
export interface Needed {
  /** Read again first: who carries which group, or the rules of this one. */
  readonly by: 'carriers' | 'rules';
  isNeeded(group: ObservedSecurityGroup): boolean;
}

export type SecurityGroupCalls = ReturnType<typeof createSecurityGroupCalls>;

/**
 * The calls that change security groups. Each answers the group as it is then, and what reads have shown of it follows.
 * Repeated after a lost answer each finds what it made. All throw a CloudError or a WithheldError.
 */
export function createSecurityGroupCalls(
  { ec2, cluster, context: { clock } }: Pick<AwsParts, 'context' | 'ec2' | 'cluster'>,
  reads: Pick<NetworkReads, 'vpc' | 'groups' | 'lastGroups' | 'noteGroup'>,
  carriers: Pick<Carriers, 'read' | 'carrying'>,
) {
  const turns = new Map<string, Promise<unknown>>();
  const inUse = createInUse(clock, patience);

  /** Runs what is about the same thing one after the other. */
  function inTurn<T>(thing: string, work: () => Promise<T>): Promise<T> {
    const mine = (turns.get(thing) ?? Promise.resolve()).then(work, work);
    const ended = mine.catch(() => undefined);
    turns.set(thing, ended);
    void ended.then(() => turns.get(thing) === ended && turns.delete(thing));
    return mine;
  }
  /** Whether a shared rule is needed, and taking it away, must not overlap with the start of another need. */
  const inRemovalTurn = <T>(work: () => Promise<T>) => inTurn('removals', work);

  function known(id: string, operation: string): ObservedSecurityGroup {
    const group = reads.lastGroups()?.get(id);
    if (group !== undefined) return group;
    throw awsError('Conflict', operation, `security group ${id} is not there`);
  }
  function noted(group: ObservedSecurityGroup): ObservedSecurityGroup {
    reads.noteGroup(group.id, group);
    return group;
  }

  /** As it is now; undefined when it is gone. */
  async function reread(id: string, signal: AbortSignal | undefined): Promise<ObservedSecurityGroup | undefined> {
    const command = new DescribeSecurityGroupsCommand({ GroupIds: [id] });
    try {
      const { SecurityGroups } = await ec2.read(command, { urgency: 'change', signal });
      const [group] = SecurityGroups ?? [];
      if (group !== undefined) return noted(groupOf(group));
    } catch (error) {
      if (!isCloudError(error) || error.kind !== 'NotFound') throw error;
    }
    reads.noteGroup(id, undefined);
    return undefined;
  }

  async function isNeeded(needed: Needed, id: string, signal: AbortSignal | undefined): Promise<boolean> {
    if (needed.by === 'carriers') await carriers.read({ urgency: 'change', signal });
    else await reread(id, signal);
    const group = reads.lastGroups()?.get(id);
    return group !== undefined && needed.isNeeded(group);
  }

  async function changeRules(
    does: 'AuthorizeSecurityGroupIngress' | 'RevokeSecurityGroupIngress',
    id: string,
    rules: readonly IngressRule[],
    options: ApplyOptions,
  ): Promise<ObservedSecurityGroup> {
    known(id, does);
    const adds = does === 'AuthorizeSecurityGroupIngress';
    const request = { GroupId: id, IpPermissions: permissionsOf(rules) };
    try {
      if (adds) await ec2.change(new AuthorizeSecurityGroupIngressCommand(request), options);
      else await ec2.change(new RevokeSecurityGroupIngressCommand(request), options);
    } catch (error) {
      const code = codeOf(error);
      if (adds && isCloudError(error) && error.kind === 'QuotaExceeded') {
        const { name, ingress } = known(id, does);
        const more = missingRules(rules, ingress).length;
        const message = `${code}: security group ${name} (${id}) has ${ingress.length} rules, and needs ${more} more`;
        throw awsError(error.kind, does, message, { cause: error });
      }
      if (code !== 'InvalidPermission.Duplicate' && code !== 'InvalidPermission.NotFound') throw error;
      const fresh = await reread(id, options.signal);
      const there = fresh?.ingress ?? [];
      const left = adds ? missingRules(rules, there) : missingRules(rules, missingRules(rules, there));
      if (left.length === 0 && fresh !== undefined) return fresh;
      // Some are there and some are not: the next plan tells what is left.
      const message = `${code}: security group ${id} has changed meanwhile`;
      throw awsError('Conflict', does, message, { cause: error });
    }
    const group = known(id, does);
    const gone = new Set(rules.map(ruleKey));
    const others = group.ingress.filter((rule) => !gone.has(ruleKey(rule)));
    return noted({ ...group, ingress: adds ? [...others, ...rules] : others });
  }

  /** @throws CloudError when it has been in use for longer than any load balancer takes to go */
  function busy(id: string): CloudError {
    const { isLate, retryAfterMs } = inUse.refused(id);
    const name = `security group ${reads.lastGroups()?.get(id)?.name ?? ''} (${id})`;
    const message = isLate
      ? `DependencyViolation: ${name} is used by something else, a rule of another group or a network interface`
      : `${name} is still in use`;
    return awsError(isLate ? 'Conflict' : 'Busy', 'DeleteSecurityGroup', message, { retryAfterMs });
  }

  return {
    /** The cluster's tags are added. */
    async create(
      { name, description, tags }: { readonly name: string; readonly description: string; readonly tags: Tags },
      options: ApplyOptions,
    ): Promise<ObservedSecurityGroup> {
      const all = { ...(await cluster(options.signal)).owned, ...tags };
      const command = new CreateSecurityGroupCommand({
        GroupName: name,
        Description: description,
        VpcId: await reads.vpc({ urgency: 'change', signal: options.signal }),
        TagSpecifications: [{ ResourceType: 'security-group', Tags: sdkTags(all) }],
      });
      try {
        const { GroupId: id = '' } = await ec2.change(command, options);
        return noted({ id, name, tags: all, ingress: [] });
      } catch (error) {
        if (codeOf(error) !== 'InvalidGroup.Duplicate') throw error;
        const groups = await reads.groups({ urgency: 'change', signal: options.signal });
        const there = [...groups.values()].find((group) => group.name === name);
        if (there === undefined || !isSameOwner(there.tags, tags)) throw error;
        return there;
      }
    },
    /** The cluster's tags are added. */
    tag: (id: string, tags: Tags, options: ApplyOptions) =>
      inTurn(id, async () => {
        known(id, 'CreateTags');
        const all = { ...(await cluster(options.signal)).owned, ...tags };
        await ec2.change(new CreateTagsCommand({ Resources: [id], Tags: sdkTags(all) }), options);
        const group = known(id, 'CreateTags');
        return noted({ ...group, tags: { ...group.tags, ...all } });
      }),
    untag: (id: string, keys: readonly string[], options: ApplyOptions) =>
      inTurn(id, async () => {
        const Tags = keys.map((Key) => ({ Key }));
        await ec2.change(new DeleteTagsCommand({ Resources: [id], Tags }), options);
        const group = known(id, 'DeleteTags');
        return noted({
          ...group,
          tags: Object.fromEntries(Object.entries(group.tags).filter(([key]) => !keys.includes(key))),
        });
      }),
    authorize: (id: string, rules: readonly IngressRule[], options: ApplyOptions) =>
      inTurn(id, () => changeRules('AuthorizeSecurityGroupIngress', id, rules, options)),
    /** `needed`: looked at right before; nothing is sent where something needs them. Undefined: the group is gone. */
    revoke: (id: string, rules: readonly IngressRule[], needed: Needed | undefined, options: ApplyOptions) =>
      inTurn(id, () =>
        inRemovalTurn(async () => {
          if (needed !== undefined && (await isNeeded(needed, id, options.signal))) return reads.lastGroups()?.get(id);
          return changeRules('RevokeSecurityGroupIngress', id, rules, options);
        }),
      ),
    /** @throws CloudError `Busy` while something still uses it */
    remove: (id: string, options: ApplyOptions) =>
      inRemovalTurn(async () => {
        try {
          await ec2.change(new DeleteSecurityGroupCommand({ GroupId: id }), options);
        } catch (error) {
          const code = codeOf(error);
          if (code === 'DependencyViolation') throw busy(id);
          if (code !== 'InvalidGroup.NotFound') throw error;
        }
        inUse.ended(id);
        reads.noteGroup(id, undefined);
      }),
    /**
     * Makes a load balancer that will carry these groups: it counts from before, and no removal decided before is left.
     */
    async carrying<Made>(name: string, groups: readonly string[], make: () => Promise<Made>): Promise<Made> {
      const made = await carriers.carrying(name, groups, make);
      await inRemovalTurn(async () => undefined);
      return made;
    },
  };
}

/** Whether both are of the same cluster and Service, or of the same cluster as a whole. */
function isSameOwner(there: Tags, desired: Tags): boolean {
  return [ownerTags.cluster, ownerTags.service].every((key) => there[key] === desired[key]);
}
