import { DeleteTagsCommand } from '@aws-sdk/client-ec2';
import {
  AddTagsCommand,
  CreateListenerCommand,
  CreateLoadBalancerCommand,
  CreateTargetGroupCommand,
  DeleteListenerCommand,
  DeleteLoadBalancerCommand,
  DeleteTargetGroupCommand,
  DeregisterTargetsCommand,
  type LoadBalancer as ElbLoadBalancer,
  ModifyListenerCommand,
  ModifyLoadBalancerAttributesCommand,
  ModifyTargetGroupAttributesCommand,
  ModifyTargetGroupCommand,
  RegisterTargetsCommand,
  RemoveTagsCommand,
  SetIpAddressTypeCommand,
  SetSecurityGroupsCommand,
  SetSubnetsCommand,
  type SubnetMapping,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import { aws } from '../../../../common/provider-id/aws.ts';
import type { ApplyOptions } from '../../permit.ts';
import type { ClusterTags } from '../cluster-tags.ts';
import { codeOf } from '../errors.ts';
import { keys } from '../load-balancer-annotations.ts';
import { ownedBy, type Tags } from '../load-balancer-tags.ts';
import type { AwsParts } from '../parts.ts';
import { findGroup, type NetworkFacts } from '../security-groups/network-facts.ts';
import type { NetworkReads } from '../security-groups/network-reads.ts';
import type { SecurityGroupCalls } from '../security-groups/security-group-calls.ts';
import { chooseSubnets } from '../subnets.ts';
import { listenerOf, loadBalancerOf, targetGroupOf } from './answers.ts';
import { targetGroupName } from './names.ts';
import {
  assemble,
  type LoadBalancer,
  type NlbObserved,
  type Pieces,
  type Subject,
  type TargetGroup,
} from './observed.ts';
import type { NlbReads } from './reads.ts';
import type { ListenerWish, NewTarget, NlbCall, NlbStep, PlaceWish } from './step.ts';
import type { Health } from './wanted.ts';

export interface ApplyParts {
  readonly parts: AwsParts;
  readonly reads: NlbReads;
  readonly network: NetworkReads;
  readonly securityGroups: SecurityGroupCalls;
}

/** How soon a call is worth another try that something still in use refused. */
const inUseMs = 5_000;

type Call<Does extends NlbCall['does']> = NlbCall & { readonly does: Does };

/** Makes the one call of a step, and answers what there is afterwards: as the answer says it, without another read where that is enough. */
export function createNlbApply({ parts, reads, network, securityGroups }: ApplyParts) {
  const elbv2 = () => parts.elbv2();

  return async function apply(
    step: NlbStep,
    observed: NlbObserved | undefined,
    options: ApplyOptions,
  ): Promise<NlbObserved | undefined> {
    const cluster = await reads.awaitCluster(options.signal);
    const before = observed?.pieces ?? (await emptyPieces(step.subject, cluster, options));
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

  async function emptyPieces(subject: Subject, cluster: ClusterTags, { signal }: ApplyOptions): Promise<Pieces> {
    const facts = await network.facts([], { urgency: 'change', signal });
    return {
      ...{ subject, own: undefined, hosts: [], foreign: undefined, groups: [] },
      ...{ network: facts, subnets: [], adopted: false, cluster },
    };
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
        return createLoadBalancer(call, subject, pieces, options);
      case 'delete load balancer': {
        const command = new DeleteLoadBalancerCommand({ LoadBalancerArn: call.arn });
        await unlessGone(() => elbv2().change('DeleteLoadBalancer', command, options));
        const groups = pieces.groups.map((group) => ({
          ...group,
          loadBalancers: group.loadBalancers.filter((arn) => arn !== call.arn),
        }));
        return { ...pieces, own: undefined, groups, network: securityGroups.left(subject.name, pieces.network) };
      }
      case 'create target group':
        return createTargetGroup(call, subject, pieces, options);
      case 'modify target group': {
        const group = groupOf(pieces, call.group);
        const command = new ModifyTargetGroupCommand({ TargetGroupArn: group.arn, ...healthRequest(call.health) });
        await elbv2().change('ModifyTargetGroup', command, options);
        const health = { ...call.health, timeout: call.health.timeout ?? group.health.timeout };
        return withGroup(pieces, { ...group, health });
      }
      case 'set target group attributes': {
        const group = groupOf(pieces, call.group);
        const command = new ModifyTargetGroupAttributesCommand({
          TargetGroupArn: group.arn,
          Attributes: sdkTags(call.attributes),
        });
        await elbv2().change('ModifyTargetGroupAttributes', command, options);
        return withGroup(pieces, { ...group, attributes: { ...group.attributes, ...call.attributes } });
      }
      case 'register targets':
        return register(call, pieces, options);
      case 'deregister targets': {
        const group = groupOf(pieces, call.group);
        const command = new DeregisterTargetsCommand({
          TargetGroupArn: group.arn,
          Targets: call.ids.map((Id) => ({ Id })),
        });
        await elbv2()
          .change('DeregisterTargets', command, options)
          .catch(async (error: unknown) => {
            if (codeOf(error) !== 'InvalidTarget') throw error;
            // AWS itself lets go of an instance that is terminated.
            const there = await reads.groupNamed(group.name, { signal: options.signal });
            if (there?.targets.some(({ id }) => call.ids.includes(id))) throw error;
          });
        return withGroup(pieces, { ...group, targets: group.targets.filter(({ id }) => !call.ids.includes(id)) });
      }
      case 'delete target group': {
        const group = groupOf(pieces, call.group);
        const command = new DeleteTargetGroupCommand({ TargetGroupArn: group.arn });
        await unlessGone(() => patiently(() => elbv2().change('DeleteTargetGroup', command, options)));
        return { ...pieces, groups: pieces.groups.filter((one) => one !== group) };
      }
      case 'add tags':
      case 'remove tags':
        return retag(call, pieces, options);
      default:
        return changeLoadBalancer(call, loadBalancerFor(pieces, on), pieces, options);
    }
  }

  /** Calls about a load balancer that is there, and its listeners. */
  async function changeLoadBalancer(
    call: Call<
      | 'set attributes'
      | 'set security groups'
      | 'set subnets'
      | 'set address type'
      | 'create listener'
      | 'modify listener'
      | 'delete listener'
    >,
    one: LoadBalancer,
    pieces: Pieces,
    options: ApplyOptions,
  ): Promise<Pieces> {
    const LoadBalancerArn = one.arn;
    switch (call.does) {
      case 'set attributes': {
        const command = new ModifyLoadBalancerAttributesCommand({
          LoadBalancerArn,
          Attributes: sdkTags(call.attributes),
        });
        await elbv2().change('ModifyLoadBalancerAttributes', command, options);
        return withLoadBalancer(pieces, { ...one, attributes: { ...one.attributes, ...call.attributes } });
      }
      case 'set security groups': {
        const SecurityGroups = call.securityGroups.map((ref) => securityGroupId(pieces.network, ref));
        const command = new SetSecurityGroupsCommand({ LoadBalancerArn, SecurityGroups });
        const { facts } = await securityGroups.joining(
          { name: one.name, groups: SecurityGroups },
          pieces.network,
          () => elbv2().change('SetSecurityGroups', command, options),
          options.signal,
        );
        const network = { ...facts, instances: pieces.network.instances };
        return withLoadBalancer({ ...pieces, network }, { ...one, securityGroups: SecurityGroups });
      }
      case 'set subnets': {
        const SubnetMappings = await mappings(call.place, one.scheme === 'internal', one.addressType, options);
        const command = new SetSubnetsCommand({ LoadBalancerArn, SubnetMappings });
        const { AvailabilityZones } = await elbv2().change('SetSubnets', command, options);
        const { places } = loadBalancerOf({ ...(AvailabilityZones ? { AvailabilityZones } : {}) }, {});
        return withLoadBalancer(pieces, { ...one, places });
      }
      case 'set address type': {
        const command = new SetIpAddressTypeCommand({ LoadBalancerArn, IpAddressType: call.addressType });
        await elbv2().change('SetIpAddressType', command, options);
        return withLoadBalancer(pieces, { ...one, addressType: call.addressType });
      }
      case 'create listener': {
        const { group, ...request } = listenerRequest(call.listener, pieces);
        const command = new CreateListenerCommand({ LoadBalancerArn, ...request, Tags: sdkTags(call.tags) });
        const made = await elbv2()
          .change('CreateListener', command, options)
          .then(({ Listeners }) => Listeners?.[0])
          .catch(async (error: unknown) => {
            if (codeOf(error) !== 'DuplicateListener') throw error;
            // An earlier request may have had its effect without our hearing of it.
            const there = (await reads.listeners(one.arn, { signal: options.signal })).find(
              ({ port }) => port === call.listener.port,
            );
            if (!there || !pieces.subject || !ownedBy(there.tags, pieces.subject.owner)) throw error;
            return there;
          });
        const listener = made && 'arn' in made ? made : listenerOf(made ?? {}, call.tags);
        const after = withLoadBalancer(pieces, { ...one, listeners: [...one.listeners, listener] });
        return withGroup(after, { ...group, loadBalancers: [...new Set([...group.loadBalancers, one.arn])] });
      }
      case 'modify listener': {
        const there = one.listeners.find(({ arn }) => arn === call.arn);
        const { group, Protocol, Port, ...request } = listenerRequest(call.listener, pieces);
        void Port;
        // AWS takes each anew; what stays is left out.
        const protocol = there?.protocol === Protocol ? {} : { Protocol };
        const command = new ModifyListenerCommand({ ListenerArn: call.arn, ...request, ...protocol });
        await elbv2().change('ModifyListener', command, options);
        const { certificate, policy } = call.listener;
        const listeners = one.listeners.map((listener) =>
          listener.arn === call.arn
            ? {
                ...listener,
                ...{ protocol: call.listener.protocol, group: group.arn },
                ...{ certificate: certificate ?? listener.certificate, policy: policy ?? listener.policy },
              }
            : listener,
        );
        const after = withLoadBalancer(pieces, { ...one, listeners });
        const groups = after.groups.map((each) => {
          const used = listeners.some((listener) => listener.group === each.arn);
          const others = each.loadBalancers.filter((arn) => arn !== one.arn);
          return { ...each, loadBalancers: used ? [...others, one.arn] : others };
        });
        return { ...after, groups };
      }
      case 'delete listener': {
        const command = new DeleteListenerCommand({ ListenerArn: call.arn });
        await unlessGone(() => elbv2().change('DeleteListener', command, options));
        const after = withLoadBalancer(pieces, {
          ...one,
          listeners: one.listeners.filter(({ arn }) => arn !== call.arn),
        });
        return dropUnusedHosts(after);
      }
    }
  }

  async function createLoadBalancer(
    call: Call<'create load balancer'>,
    subject: Subject,
    pieces: Pieces,
    options: ApplyOptions,
  ): Promise<Pieces> {
    const { scheme, addressType, place, tags } = call;
    const groups = call.securityGroups.map((ref) => securityGroupId(pieces.network, ref));
    const SubnetMappings = await mappings(place, scheme === 'internal', addressType, options);
    const command = new CreateLoadBalancerCommand({
      ...{ Name: subject.name, Type: 'network', Scheme: scheme, IpAddressType: addressType, SubnetMappings },
      ...(groups.length > 0 && { SecurityGroups: groups }),
      Tags: sdkTags(await completeTags(tags, options)),
    });
    const make = async (): Promise<LoadBalancer> => {
      try {
        const { LoadBalancers } = await elbv2().change('CreateLoadBalancer', command, options);
        const [answer] = LoadBalancers ?? [];
        return loadBalancerOf(answer ?? ({} as ElbLoadBalancer), await completeTags(tags, options));
      } catch (error) {
        if (codeOf(error) !== 'DuplicateLoadBalancerName') throw error;
        const there = await reads.named(subject.name, { signal: options.signal });
        if (!there || !ownedBy(there.tags, subject.owner)) throw error;
        return there;
      }
    };
    const { made, facts } = await securityGroups.joining(
      { name: subject.name, groups },
      pieces.network,
      make,
      options.signal,
    );
    const network = { ...facts, instances: pieces.network.instances };
    const subnets = groups.length === 0 ? await subnetsOf(options) : [];
    return { ...pieces, own: made, foreign: undefined, network, subnets };
  }

  async function subnetsOf({ signal }: ApplyOptions) {
    return network.subnets({ urgency: 'change', signal });
  }

  /** With the cluster's tag, which a plan made before any read did not know. */
  async function completeTags(tags: Tags, { signal }: ApplyOptions): Promise<Tags> {
    const cluster = await reads.awaitCluster(signal);
    return { ...tags, ...cluster.owned };
  }

  /** One for each subnet, in the order of their zones. */
  async function mappings(
    { subnets, eips, privateAddresses }: PlaceWish,
    internal: boolean,
    addressType: string,
    options: ApplyOptions,
  ): Promise<SubnetMapping[]> {
    const cluster = await reads.awaitCluster(options.signal);
    const isCluster = (tags: Tags) => cluster.id !== undefined && cluster.has(tags);
    const wish = { internal, named: subnets, ipv6: addressType === 'dualstack', isCluster };
    const choice = chooseSubnets(await subnetsOf(options), wish);
    if ('problem' in choice) throw invalid(subnets.length > 0 ? `${keys.subnets}: ${choice.problem}` : choice.problem);
    const ids = choice.subnets.map(({ id }) => id);
    for (const [key, given] of [
      [keys.eipAllocations, eips],
      [keys.privateAddresses, privateAddresses],
    ] as const) {
      if (given.length > 0 && given.length !== ids.length) {
        const message = `${key}: ${given.length} given, expected ${ids.length}: one for each of ${ids.join(', ')}`;
        throw invalid(message);
      }
    }
    return ids.map((SubnetId, at) => ({
      SubnetId,
      ...(eips[at] !== undefined && { AllocationId: eips[at] }),
      ...(privateAddresses[at] !== undefined && { PrivateIPv4Address: privateAddresses[at] }),
    }));
  }

  async function createTargetGroup(
    { group, tags }: Call<'create target group'>,
    subject: Subject,
    pieces: Pieces,
    options: ApplyOptions,
  ): Promise<Pieces> {
    const cluster = await reads.awaitCluster(options.signal);
    const Name = targetGroupName(cluster.id ?? '', subject.service, group);
    const on = pieces.hosts.find(({ arn }) => arn === subject.attachTo) ?? pieces.own;
    const all = await completeTags(tags, options);
    const command = new CreateTargetGroupCommand({
      ...{ Name, Protocol: group.protocol as 'TCP', Port: group.nodePort, TargetType: group.targetType },
      VpcId: on?.vpcId ?? pieces.network.vpcId,
      ...(group.ipType === 'ipv6' && { IpAddressType: 'ipv6' }),
      ...healthRequest(group.health),
      Tags: sdkTags(all),
    });
    try {
      const { TargetGroups } = await elbv2().change('CreateTargetGroup', command, options);
      return withGroup(pieces, targetGroupOf(TargetGroups?.[0] ?? {}, all));
    } catch (error) {
      if (codeOf(error) !== 'DuplicateTargetGroupName') throw error;
      const there = await reads.groupNamed(Name, { signal: options.signal });
      if (!there || !ownedBy(there.tags, subject.owner)) throw error;
      return withGroup(pieces, there);
    }
  }

  async function register(
    { group: name, targets }: Call<'register targets'>,
    pieces: Pieces,
    options: ApplyOptions,
  ): Promise<Pieces> {
    const group = groupOf(pieces, name);
    const Targets = targets.map(({ id }) => ({ Id: id }));
    const command = new RegisterTargetsCommand({ TargetGroupArn: group.arn, Targets });
    try {
      await elbv2().change('RegisterTargets', command, options);
    } catch (error) {
      throw refusedTargets(error, targets);
    }
    // So that the plan that follows knows in which security groups they are.
    const ids = targets.flatMap(({ providerID }) => aws.parse(providerID)?.instanceId ?? []);
    const seen = await network.instances(ids, { urgency: 'change', signal: options.signal });
    const instances = new Map([...pieces.network.instances, ...seen]);
    const known = new Set(group.targets.map(({ id }) => id));
    const fresh = targets.filter(({ id }) => !known.has(id)).map((target) => ({ ...target, healthy: undefined }));
    const after = { ...pieces, network: { ...pieces.network, instances } };
    return withGroup(after, { ...group, targets: [...group.targets, ...fresh] });
  }

  async function retag(call: Call<'add tags' | 'remove tags'>, pieces: Pieces, options: ApplyOptions): Promise<Pieces> {
    const ResourceArns = [...call.arns];
    let change: (tags: Tags) => Tags;
    if (call.does === 'add tags') {
      const command = new AddTagsCommand({ ResourceArns, Tags: sdkTags(call.tags) });
      await elbv2().change('AddTags', command, options);
      change = (tags) => ({ ...tags, ...call.tags });
    } else {
      await elbv2().change('RemoveTags', new RemoveTagsCommand({ ResourceArns, TagKeys: [...call.keys] }), options);
      change = (tags) => without(tags, call.keys);
    }
    const retagged = <One extends { readonly arn: string; readonly tags: Tags }>(one: One): One =>
      call.arns.includes(one.arn) ? { ...one, tags: change(one.tags) } : one;
    const own = pieces.own && retagged({ ...pieces.own, listeners: pieces.own.listeners.map(retagged) });
    const groups = pieces.groups.map(retagged);
    const owner = pieces.subject?.owner;
    // What carries no tag of ours any more is not ours; until we tagged it, what was adopted counted all the same.
    const ours = (one: { readonly tags: Tags }) => owner !== undefined && ownedBy(one.tags, owner);
    if (call.does === 'add tags') return { ...pieces, own, groups, adopted: pieces.adopted && !(own && ours(own)) };
    const stays = own === undefined || ours(own);
    return {
      ...pieces,
      own: stays ? own : undefined,
      foreign: stays ? pieces.foreign : own,
      groups: groups.filter((group) => ours(group) || (pieces.adopted && !call.arns.includes(group.arn))),
      adopted: pieces.adopted && stays,
    };
  }
}

function loadBalancerFor({ own, hosts }: Pieces, on: string | undefined): LoadBalancer {
  const one = on === undefined ? own : [own, ...hosts].find((each) => each?.arn === on);
  if (one) return one;
  throw new CloudError({ ...about('load balancer'), kind: 'Conflict', message: `${on ?? 'it'} is not there any more` });
}

function groupOf({ groups }: Pieces, name: string): TargetGroup {
  // A plan made before the cluster's id was known has another hash at the end.
  const group = groups.find((one) => one.name === name);
  if (group) return group;
  throw new CloudError({ ...about('target group'), kind: 'Conflict', message: `${name} is not there any more` });
}

function securityGroupId(network: NetworkFacts, ref: string): string {
  const group = findGroup(network, ref);
  if (group) return group.id;
  if (ref.startsWith('sg-')) return ref;
  throw new CloudError({ ...about('security group'), kind: 'Conflict', message: `${ref} is not there any more` });
}

function withGroup(pieces: Pieces, group: TargetGroup): Pieces {
  const others = pieces.groups.filter(({ arn }) => arn !== group.arn);
  return { ...pieces, groups: [...others, group] };
}

function withLoadBalancer(pieces: Pieces, one: LoadBalancer): Pieces {
  if (pieces.own?.arn === one.arn) return { ...pieces, own: one };
  return { ...pieces, hosts: pieces.hosts.map((host) => (host.arn === one.arn ? one : host)) };
}

/** One that nobody asks for and that has nothing of ours is none of our business. */
function dropUnusedHosts(pieces: Pieces): Pieces {
  const { subject, hosts, groups } = pieces;
  const after = groups.map((group) => ({
    ...group,
    loadBalancers: group.loadBalancers.filter((arn) =>
      [pieces.own, ...hosts].some(
        (one) => one?.arn === arn && one.listeners.some((listener) => listener.group === group.arn),
      ),
    ),
  }));
  const used = new Set(after.flatMap(({ loadBalancers }) => loadBalancers));
  return { ...pieces, groups: after, hosts: hosts.filter(({ arn }) => arn === subject?.attachTo || used.has(arn)) };
}

function listenerRequest({ port, protocol, certificate, policy, group: name }: ListenerWish, pieces: Pieces) {
  const group = groupOf(pieces, name);
  return {
    group,
    Port: port,
    Protocol: protocol as 'TCP',
    DefaultActions: [{ Type: 'forward' as const, TargetGroupArn: group.arn }],
    ...(certificate !== undefined && { Certificates: [{ CertificateArn: certificate }] }),
    ...(policy !== undefined && { SslPolicy: policy }),
  };
}

function healthRequest({ protocol, port, path, healthy, unhealthy, interval, timeout }: Health) {
  return {
    ...{ HealthCheckProtocol: protocol as 'TCP', HealthCheckPort: port, HealthCheckIntervalSeconds: interval },
    ...{ HealthyThresholdCount: healthy, UnhealthyThresholdCount: unhealthy },
    ...(path !== undefined && { HealthCheckPath: path }),
    ...(timeout !== undefined && { HealthCheckTimeoutSeconds: timeout }),
  };
}

/** Says which members AWS does not take: it names them in its message. */
function refusedTargets(error: unknown, targets: readonly NewTarget[]): unknown {
  if (!isCloudError(error) || codeOf(error) !== 'InvalidTarget') return error;
  const { kind, operation } = error;
  const message = error.cause instanceof Error ? error.cause.message : error.message;
  const words = new Set(message.match(/i-[0-9a-z]+|[0-9a-f.:]+/g) ?? []);
  const named = targets.filter(({ id }) => words.has(id));
  const subjects = (named.length === 0 && targets.length === 1 ? targets : named).map(({ providerID }) => providerID);
  return new CloudError({
    kind,
    cloud: 'aws',
    operation,
    message: `InvalidTarget: ${message}`,
    subjects,
    cause: error,
  });
}

/** Something uses it for a while after what used it is gone. */
async function patiently<Answer>(run: () => Promise<Answer>): Promise<Answer> {
  try {
    return await run();
  } catch (error) {
    if (!isCloudError(error) || codeOf(error) !== 'ResourceInUse') throw error;
    const { kind, operation, message, cause } = error;
    throw new CloudError({ kind, cloud: 'aws', operation, message, retryAfterMs: inUseMs, cause });
  }
}

async function unlessGone(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!isCloudError(error) || error.kind !== 'NotFound') throw error;
  }
}

function about(operation: string) {
  return { cloud: 'aws', operation };
}

function invalid(message: string): CloudError {
  return new CloudError({ kind: 'Invalid', cloud: 'aws', operation: 'CreateLoadBalancer', message });
}

function without(tags: Tags, gone: readonly string[]): Tags {
  return Object.fromEntries(Object.entries(tags).filter(([key]) => !gone.includes(key)));
}

function sdkTags(tags: Tags): { Key: string; Value: string }[] {
  return Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
}
