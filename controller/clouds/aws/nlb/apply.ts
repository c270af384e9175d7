import { DeleteTagsCommand } from '@aws-sdk/client-ec2';
import { AddTagsCommand, RemoveTagsCommand } from '@aws-sdk/client-elastic-load-balancing-v2';
import type { ApplyOptions } from '../../permit.ts';
import type { ClusterTags } from '../cluster-tags.ts';
import { ownedBy, type Tags } from '../load-balancer-tags.ts';
import type { AwsParts } from '../parts.ts';
import { markedBy, type NetworkFacts } from '../security-groups/network-facts.ts';
import type { NetworkReads } from '../security-groups/network-reads.ts';
import type { SecurityGroupCalls } from '../security-groups/security-group-calls.ts';
import { createBalancerApply } from './apply-balancer.ts';
import { createGroupApply } from './apply-group.ts';
import { loadBalancerFor, without } from './edit-pieces.ts';
import { assemble, type NlbObserved, type Pieces } from './observed.ts';
import type { NlbReads } from './reads.ts';
import { type Call, sdkTags } from './requests.ts';
import type { NlbStep } from './step.ts';

export interface ApplyParts {
  readonly parts: AwsParts;
  readonly reads: NlbReads;
  readonly network: NetworkReads;
  readonly securityGroups: SecurityGroupCalls;
}

/** Makes the one call of a step, and answers what there is afterwards: as the answer says it, without another read where that is enough. */
export function createNlbApply(given: ApplyParts) {
  const { parts, reads, network, securityGroups } = given;
  const balancers = createBalancerApply(given);
  const applyGroup = createGroupApply(given);

  return async function apply(
    step: NlbStep,
    observed: NlbObserved | undefined,
    options: ApplyOptions,
  ): Promise<NlbObserved | undefined> {
    const cluster = await reads.awaitCluster(options.signal);
    const before = observed?.pieces ?? (await emptyPieces(step, cluster, options));
    // What was retained has no subject; whoever changes it now has.
    const pieces = { ...before, subject: before.subject ?? step.subject };
    try {
      const after = await perform(step, pieces, options);
      if (after.own) reads.kept.keepBalancer(after.own);
      for (const group of after.groups) reads.kept.keepGroup(group);
      return assemble(after);
    } catch (error) {
      reads.kept.forget([pieces.own, ...pieces.hosts, ...pieces.groups].flatMap((one) => one?.arn ?? []));
      throw error;
    }
  };

  async function emptyPieces(
    { subject, call }: NlbStep,
    cluster: ClusterTags,
    { signal }: ApplyOptions,
  ): Promise<Pieces> {
    const isBare = call.does === 'create load balancer' && call.securityGroups.length === 0;
    const facts = await (isBare ? noFacts(cluster, signal) : network.facts([], { urgency: 'change', signal }));
    return {
      ...{ subject, own: undefined, hosts: [], foreign: undefined, groups: [], ended: [] },
      ...{ network: facts, subnets: [], adopted: false, cluster },
    };
  }

  /** Security groups are read when it is made. */
  async function noFacts(cluster: ClusterTags, signal: AbortSignal | undefined): Promise<NetworkFacts> {
    const vpcId = await network.vpc({ urgency: 'change', signal });
    return { vpcId, groups: new Map(), instances: new Map(), ...markedBy(cluster), users: undefined, busy: new Set() };
  }

  async function perform({ call, on, subject }: NlbStep, pieces: Pieces, options: ApplyOptions): Promise<Pieces> {
    switch (call.does) {
      case 'security group': {
        const facts = await securityGroups.apply(call.call, pieces.network, options);
        return { ...pieces, network: { ...facts, instances: pieces.network.instances } };
      }
      case 'untag security group': {
        const Tags = call.keys.map((Key) => ({ Key }));
        const command = new DeleteTagsCommand({ Resources: [call.group], Tags });
        await parts.ec2.change('DeleteTags', command, options);
        const group = pieces.network.groups.get(call.group);
        if (!group) return pieces;
        const groups = new Map(pieces.network.groups).set(group.id, { ...group, tags: without(group.tags, call.keys) });
        return { ...pieces, network: { ...pieces.network, groups } };
      }
      case 'create load balancer':
        return balancers.createLoadBalancer(call, subject, pieces, options);
      case 'delete load balancer':
        return balancers.deleteLoadBalancer(call, subject, pieces, options);
      case 'create target group':
      case 'modify target group':
      case 'set target group attributes':
      case 'register targets':
      case 'deregister targets':
      case 'delete target group':
        return applyGroup(call, subject, pieces, options);
      case 'add tags':
      case 'remove tags':
        return retag(call, pieces, options);
      default:
        return balancers.changeLoadBalancer(call, loadBalancerFor(pieces, on), pieces, options);
    }
  }

  async function retag(call: Call<'add tags' | 'remove tags'>, pieces: Pieces, options: ApplyOptions): Promise<Pieces> {
    const ResourceArns = [...call.arns];
    let change: (tags: Tags) => Tags;
    if (call.does === 'add tags') {
      const command = new AddTagsCommand({ ResourceArns, Tags: sdkTags(call.tags) });
      await parts.elbv2().change('AddTags', command, options);
      change = (tags) => ({ ...tags, ...call.tags });
    } else {
      await parts
        .elbv2()
        .change('RemoveTags', new RemoveTagsCommand({ ResourceArns, TagKeys: [...call.keys] }), options);
      change = (tags) => without(tags, call.keys);
    }
    const retagged = <One extends { readonly arn: string; readonly tags: Tags }>(one: One): One =>
      call.arns.includes(one.arn) ? { ...one, tags: change(one.tags) } : one;
    const own = pieces.own && retagged({ ...pieces.own, listeners: pieces.own.listeners.map(retagged) });
    const hosts = pieces.hosts.map(retagged);
    const groups = pieces.groups.map(retagged);
    const owner = pieces.subject?.owner;
    // What carries no tag of ours any more is not ours; until we tagged it, what was adopted counted all the same.
    const ours = (one: { readonly tags: Tags }) => owner !== undefined && ownedBy(one.tags, owner);
    if (call.does === 'add tags')
      return { ...pieces, own, hosts, groups, adopted: pieces.adopted && !(own && ours(own)) };
    const stays = own === undefined || ours(own);
    return {
      ...pieces,
      own: stays ? own : undefined,
      foreign: stays ? pieces.foreign : own,
      groups: groups.filter((group) => ours(group) || (pieces.adopted && stays && !call.arns.includes(group.arn))),
      adopted: pieces.adopted && stays,
    };
  }
}
