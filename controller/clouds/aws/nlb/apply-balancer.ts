import {
  CreateListenerCommand,
  CreateLoadBalancerCommand,
  DeleteListenerCommand,
  DeleteLoadBalancerCommand,
  type LoadBalancer as ElbLoadBalancer,
  ModifyListenerCommand,
  ModifyLoadBalancerAttributesCommand,
  SetIpAddressTypeCommand,
  SetSecurityGroupsCommand,
  SetSubnetsCommand,
  type SubnetMapping,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import type { ApplyOptions } from '../../permit.ts';
import { codeOf } from '../errors.ts';
import { keys } from '../load-balancer-annotations.ts';
import { ownedBy, ownerIn, type Tags } from '../load-balancer-tags.ts';
import { demandAllowed } from '../security-groups/allowed-groups.ts';
import { chooseSubnets } from '../subnets.ts';
import { listenerOf, loadBalancerOf } from './answers.ts';
import type { ApplyParts } from './apply.ts';
import { dropUnusedHosts, securityGroupId, withGroup, withLoadBalancer } from './edit-pieces.ts';
import { isLeft } from './left.ts';
import { type LoadBalancer, othersListeners, type Pieces, type Subject } from './observed.ts';
import { type Call, listenerRequest, sdkTags, unlessGone } from './requests.ts';
import type { PlaceWish } from './step.ts';

/** About one that is there, and its listeners. */
export type BalancerCall = Call<
  | 'set attributes'
  | 'set security groups'
  | 'set subnets'
  | 'set address type'
  | 'create listener'
  | 'modify listener'
  | 'delete listener'
>;

/** The calls about load balancers and listeners. */
export function createBalancerApply({ parts, reads, network, securityGroups }: ApplyParts) {
  const elbv2 = () => parts.elbv2();

  return { createLoadBalancer, deleteLoadBalancer, changeLoadBalancer };

  async function deleteLoadBalancer(
    { arn }: Call<'delete load balancer'>,
    subject: Subject,
    pieces: Pieces,
    options: ApplyOptions,
  ): Promise<Pieces> {
    const one = [pieces.own, ...pieces.hosts].find((each) => each?.arn === arn);
    if (one) {
      // Whoever attached meanwhile, or took it back, has not told us.
      const seen = await asItIs(one, pieces, options);
      const isOthers = one !== pieces.own && !isLeft(seen, subject.owner.cluster);
      if (isOthers || othersListeners(seen, pieces, subject.owner).length > 0) return withLoadBalancer(pieces, seen);
    }
    const command = new DeleteLoadBalancerCommand({ LoadBalancerArn: arn });
    await unlessGone(() => elbv2().change('DeleteLoadBalancer', command, options));
    if (one && one !== pieces.own) reads.noteEnded(subject.owner, arn);
    const groups = pieces.groups.map((group) => ({
      ...group,
      loadBalancers: group.loadBalancers.filter((each) => each !== arn),
    }));
    return {
      ...pieces,
      own: one === pieces.own ? undefined : pieces.own,
      hosts: pieces.hosts.filter((each) => each !== one),
      ended: [...pieces.ended, arn],
      groups,
      network: securityGroups.left(one?.name ?? subject.name, pieces.network),
    };
  }

  /** With the listeners and, where it is not our own, the tags that it has now. */
  async function asItIs(one: LoadBalancer, { own }: Pieces, { signal }: ApplyOptions): Promise<LoadBalancer> {
    const options = { urgency: 'change', signal } as const;
    const [listeners, tags] = await Promise.all([
      reads.listeners(one.arn, options, one.listeners).catch(noneIfGone),
      one === own ? one.tags : reads.tags(one.arn, options),
    ]);
    return { ...one, listeners, tags: tags ?? one.tags };
  }

  /** Calls about a load balancer that is there, and its listeners. */
  async function changeLoadBalancer(
    call: BalancerCall,
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
        demandGroups(SecurityGroups, pieces, one.securityGroups, 'SetSecurityGroups');
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
        const left = { ...one, listeners: one.listeners.filter(({ arn }) => arn !== call.arn) };
        const mayBeLeft = one !== pieces.own && left.listeners.length === 0 && isOfCluster(one, pieces);
        // Whoever it was made for may have left it to us meanwhile.
        return dropUnusedHosts(withLoadBalancer(pieces, mayBeLeft ? await asItIs(left, pieces, options) : left));
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
    demandGroups(groups, { ...pieces, subject }, [], 'CreateLoadBalancer');
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

  function demandGroups(
    ids: readonly string[],
    { subject, network: { groups } }: Pieces,
    carried: readonly string[],
    operation: string,
  ): void {
    if (subject) demandAllowed(ids, subject, { allowed: parts.allowedGroups, groups }, carried, operation);
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
    const wish = {
      ...{ internal, named: subnets, ipv6: addressType === 'dualstack', isCluster },
      fallback: parts.config.subnetId,
    };
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
}

function invalid(message: string): CloudError {
  return new CloudError({ kind: 'Invalid', cloud: 'aws', operation: 'CreateLoadBalancer', message });
}

function isOfCluster({ tags }: LoadBalancer, { subject }: Pieces): boolean {
  return subject !== undefined && ownerIn(tags, subject.owner.cluster) !== undefined;
}

function noneIfGone(error: unknown): [] {
  if (isCloudError(error) && error.kind === 'NotFound') return [];
  throw error;
}
