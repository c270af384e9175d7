import {
  AddTagsCommand,
  ApplySecurityGroupsToLoadBalancerCommand,
  AttachLoadBalancerToSubnetsCommand,
  ConfigureHealthCheckCommand,
  CreateLoadBalancerCommand,
  CreateLoadBalancerListenersCommand,
  CreateLoadBalancerPolicyCommand,
  DeleteLoadBalancerCommand,
  DeleteLoadBalancerListenersCommand,
  DeregisterInstancesFromLoadBalancerCommand,
  DetachLoadBalancerFromSubnetsCommand,
  ModifyLoadBalancerAttributesCommand,
  RegisterInstancesWithLoadBalancerCommand,
  RemoveTagsCommand,
  type Listener as SdkListener,
  SetLoadBalancerListenerSSLCertificateCommand,
  SetLoadBalancerPoliciesForBackendServerCommand,
  SetLoadBalancerPoliciesOfListenerCommand,
} from '@aws-sdk/client-elastic-load-balancing';
import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import type { ApplyOptions } from '../../permit.ts';
import { codeOf } from '../errors.ts';
import { type Tags, tagsFor } from '../load-balancer-tags.ts';
import type { AwsParts } from '../parts.ts';
import { demandAllowed } from '../security-groups/allowed-groups.ts';
import { findGroup, type NetworkFacts } from '../security-groups/network-facts.ts';
import { refuseClosedNodes } from '../security-groups/node-group.ts';
import type { SdkCommand } from '../service-calls.ts';
import { chooseSubnets } from '../subnets.ts';
import type { ClassicLoadBalancer, Listener } from './classic-load-balancer.ts';
import { sdkAttributes } from './classic-load-balancer.ts';
import { assemble, type ClassicObserved, type ClassicPieces, isOwn } from './observed.ts';
import type { ClassicReads, SharedNetwork } from './reads.ts';
import type { ClassicCall, ClassicStep, Registered } from './step.ts';

type Apply = (
  step: ClassicStep,
  observed: ClassicObserved | undefined,
  options: ApplyOptions,
) => Promise<ClassicObserved | undefined>;

/** What a call changes in the picture of the load balancer. */
type Change = Partial<ClassicLoadBalancer>;

/** The one call of each step, and what there is after it. */
export function createClassicApply(
  parts: Pick<AwsParts, 'config' | 'allowedGroups' | 'elb' | 'cluster'>,
  network: SharedNetwork,
  reads: ClassicReads,
): Apply {
  return async function apply(step, observed, options) {
    const { signal } = options;
    const { subject, call } = step;
    const known = observed?.pieces;
    const facts = known?.facts ?? (await network.reads.facts([], { urgency: 'change', signal }));
    const pieces: ClassicPieces = known ?? {
      ...{ subject, facts, balancer: undefined, isOurs: false, adopted: false },
      ...{ subnets: undefined, providerIds: reads.providerIds },
    };
    const change = <Out>(operation: string, command: SdkCommand<Out>) =>
      parts.elb().change(operation, command, options);
    const name = { LoadBalancerName: subject.name };

    switch (call.does) {
      case 'change security groups':
        return assemble({ ...pieces, facts: await network.groups.apply(call.call, facts, options) });
      case 'create load balancer':
        return create(call);
      case 'delete load balancer':
        // Answers without a fault where there is none.
        await change('DeleteLoadBalancer', new DeleteLoadBalancerCommand(name));
        return assemble({
          ...pieces,
          balancer: undefined,
          isOurs: false,
          facts: network.groups.left(subject.name, facts),
        });
      case 'apply security groups': {
        const SecurityGroups = call.securityGroups.map((ref) => groupId(facts, ref));
        demandGroups(SecurityGroups, facts, balancerOf(pieces).securityGroups, 'ApplySecurityGroupsToLoadBalancer');
        const command = new ApplySecurityGroupsToLoadBalancerCommand({ ...name, SecurityGroups });
        const carrier = { name: subject.name, groups: SecurityGroups };
        const make = () => change('ApplySecurityGroupsToLoadBalancer', command);
        const joined = await network.groups.joining(carrier, facts, make, signal);
        return assemble({ ...withChange(pieces, { securityGroups: SecurityGroups }), facts: joined.facts });
      }
      case 'register instances':
        return register(call.instances);
      default:
        return assemble(withChange(pieces, await changeOf(call, balancerOf(pieces))));
    }

    async function create(wish: ClassicCall & { does: 'create load balancer' }): Promise<ClassicObserved | undefined> {
      const { internal, listeners, securityGroups } = wish;
      const [all, cluster] = await Promise.all([
        network.reads.subnets({ urgency: 'change', signal }),
        parts.cluster(signal),
      ]);
      const isCluster = (tags: Tags) => facts.isCluster(tags);
      const choice = chooseSubnets(all, {
        internal,
        named: wish.subnets,
        ipv6: false,
        fallback: parts.config.subnetId,
        isCluster,
      });
      if ('problem' in choice) throw invalid('CreateLoadBalancer', choice.problem);
      const subnets = choice.subnets.map(({ id }) => id);
      const groups = securityGroups.map((ref) => groupId(facts, ref));
      demandGroups(groups, facts, [], 'CreateLoadBalancer');
      const tags = tagsFor(subject, cluster, wish.tags);
      const command = new CreateLoadBalancerCommand({
        ...name,
        Listeners: listeners.map(sdkListener),
        Subnets: subnets,
        SecurityGroups: groups,
        ...(internal && { Scheme: 'internal' }),
        Tags: sdkTags(tags),
      });
      const joined = await network.groups.joining({ name: subject.name, groups }, facts, () => made(command), signal);
      const common = { ...pieces, subnets: all, isOurs: true, adopted: false, facts: joined.facts };
      const { hostname } = joined.made;
      if (hostname === undefined) return reread(common);
      const balancer: ClassicLoadBalancer = {
        ...{ name: subject.name, hostname, scheme: internal ? 'internal' : 'internet-facing', subnets, tags },
        listeners: listeners.map((listener) => ({ ...listener, policies: [] })),
        ...{ securityGroups: groups, policies: [], backendPolicies: new Map(), health: undefined, instances: [] },
        ...{ createdAtMs: undefined, attributes: {} },
      };
      // A new one has the defaults.
      reads.noteAttributes(hostname, {});
      return assemble({ ...common, balancer });
    }

    function demandGroups(
      ids: readonly string[],
      { groups }: NetworkFacts,
      carried: readonly string[],
      operation: string,
    ) {
      demandAllowed(ids, subject, { allowed: parts.allowedGroups, groups }, carried, operation);
    }

    /** Without a name of the host where an earlier call has made it. */
    async function made(command: CreateLoadBalancerCommand): Promise<{ readonly hostname: string | undefined }> {
      try {
        return { hostname: (await change('CreateLoadBalancer', command)).DNSName };
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        const there = await reads.get(subject.name, { urgency: 'change', signal });
        if (there === undefined || !isOwn(there, subject)) throw error;
        return { hostname: undefined };
      }
    }

    async function reread(common: ClassicPieces): Promise<ClassicObserved | undefined> {
      const balancer = await reads.get(subject.name, { urgency: 'change', signal });
      if (balancer === undefined || !isOwn(balancer, subject))
        throw conflict('CreateLoadBalancer', `${subject.name} was made, and is not there`);
      const instances = await network.reads.instances(balancer.instances, { urgency: 'change', signal });
      return assemble({ ...common, balancer, facts: { ...common.facts, instances } });
    }

    async function register(instances: readonly Registered[]): Promise<ClassicObserved | undefined> {
      const balancer = balancerOf(pieces);
      const ids = [...new Set([...balancer.instances, ...instances.map(({ id }) => id)])];
      // Their security groups tell what is to be let in, and whether it may be.
      const known = await network.reads.instances(ids, { urgency: 'change', signal });
      const after = { ...facts, instances: known };
      if (!parts.config.disableSecurityGroupIngress) {
        const joining = new Map(instances.map(({ id, providerID }) => [id, providerID]));
        refuseClosedNodes(joining, after, 'RegisterInstancesWithLoadBalancer');
      }
      for (const { id, providerID } of instances) reads.providerIds.set(id, providerID);
      const Instances = instances.map(({ id }) => ({ InstanceId: id }));
      const command = new RegisterInstancesWithLoadBalancerCommand({ ...name, Instances });
      try {
        await change('RegisterInstancesWithLoadBalancer', command);
      } catch (error) {
        throw namingMembers(error, instances);
      }
      return assemble({ ...withChange(pieces, { instances: ids }), facts: after });
    }

    async function changeOf(other: Exclude<ClassicCall, Handled>, balancer: ClassicLoadBalancer): Promise<Change> {
      switch (other.does) {
        case 'attach subnets': {
          const command = new AttachLoadBalancerToSubnetsCommand({ ...name, Subnets: [...other.subnets] });
          const { Subnets } = await change('AttachLoadBalancerToSubnets', command);
          return { subnets: Subnets ?? [...balancer.subnets, ...other.subnets] };
        }
        case 'detach subnets': {
          const command = new DetachLoadBalancerFromSubnetsCommand({ ...name, Subnets: [...other.subnets] });
          await change('DetachLoadBalancerFromSubnets', command);
          return { subnets: balancer.subnets.filter((id) => !other.subnets.includes(id)) };
        }
        case 'create listeners': {
          const Listeners = other.listeners.map(sdkListener);
          await change('CreateLoadBalancerListeners', new CreateLoadBalancerListenersCommand({ ...name, Listeners }));
          const added = other.listeners.map((listener) => ({ ...listener, policies: [] }));
          return { listeners: [...balancer.listeners, ...added] };
        }
        case 'delete listener': {
          const command = new DeleteLoadBalancerListenersCommand({ ...name, LoadBalancerPorts: [other.port] });
          await change('DeleteLoadBalancerListeners', command);
          return { listeners: balancer.listeners.filter(({ port }) => port !== other.port) };
        }
        case 'set certificate': {
          const { port, certificate } = other;
          const request = { ...name, LoadBalancerPort: port, SSLCertificateId: certificate };
          await change(
            'SetLoadBalancerListenerSSLCertificate',
            new SetLoadBalancerListenerSSLCertificateCommand(request),
          );
          return { listeners: balancer.listeners.map((one) => (one.port === port ? { ...one, certificate } : one)) };
        }
        case 'create policy': {
          const { policy, type, attribute } = other;
          const PolicyAttributes = [{ AttributeName: attribute.name, AttributeValue: attribute.value }];
          const request = { ...name, PolicyName: policy, PolicyTypeName: type, PolicyAttributes };
          try {
            await change('CreateLoadBalancerPolicy', new CreateLoadBalancerPolicyCommand(request));
          } catch (error) {
            // Its name says what it does, so one of that name is as good.
            if (codeOf(error) !== 'DuplicatePolicyName') throw error;
          }
          return { policies: [...balancer.policies, policy] };
        }
        case 'set listener policies': {
          const { port, policies } = other;
          const request = { ...name, LoadBalancerPort: port, PolicyNames: [...policies] };
          await change('SetLoadBalancerPoliciesOfListener', new SetLoadBalancerPoliciesOfListenerCommand(request));
          return { listeners: balancer.listeners.map((one) => (one.port === port ? { ...one, policies } : one)) };
        }
        case 'set backend policies': {
          const { port, policies } = other;
          const request = { ...name, InstancePort: port, PolicyNames: [...policies] };
          const command = new SetLoadBalancerPoliciesForBackendServerCommand(request);
          await change('SetLoadBalancerPoliciesForBackendServer', command);
          return { backendPolicies: new Map(balancer.backendPolicies).set(port, policies) };
        }
        case 'modify attributes': {
          const LoadBalancerAttributes = sdkAttributes(other.attributes);
          reads.noteAttributes(balancer.hostname, undefined);
          const command = new ModifyLoadBalancerAttributesCommand({ ...name, LoadBalancerAttributes });
          await change('ModifyLoadBalancerAttributes', command);
          const attributes = { ...balancer.attributes, ...other.attributes };
          reads.noteAttributes(balancer.hostname, attributes);
          return { attributes };
        }
        case 'configure health check': {
          const { target, interval, timeout, healthy, unhealthy } = other.health;
          const thresholds = { HealthyThreshold: healthy, UnhealthyThreshold: unhealthy };
          const HealthCheck = { Target: target, Interval: interval, Timeout: timeout, ...thresholds };
          await change('ConfigureHealthCheck', new ConfigureHealthCheckCommand({ ...name, HealthCheck }));
          return { health: other.health };
        }
        case 'deregister instances': {
          const Instances = other.instances.map((InstanceId) => ({ InstanceId }));
          const command = new DeregisterInstancesFromLoadBalancerCommand({ ...name, Instances });
          try {
            await change('DeregisterInstancesFromLoadBalancer', command);
          } catch (error) {
            // An instance that is gone, or is not there any more.
            if (!isNoInstance(error)) throw error;
            const there = await reads.get(subject.name, { urgency: 'change', signal });
            if (there === undefined || other.instances.some((id) => there.instances.includes(id))) throw error;
          }
          return { instances: balancer.instances.filter((id) => !other.instances.includes(id)) };
        }
        case 'add tags': {
          const command = new AddTagsCommand({ LoadBalancerNames: [subject.name], Tags: sdkTags(other.tags) });
          await change('AddTags', command);
          return { tags: { ...balancer.tags, ...other.tags } };
        }
        case 'remove tags': {
          const Tags = other.keys.map((Key) => ({ Key }));
          await change(
            'RemoveTags',
            new RemoveTagsCommand({ LoadBalancerNames: [subject.name], Tags: Tags as [{ Key: string }] }),
          );
          const left = Object.entries(balancer.tags).filter(([key]) => !other.keys.includes(key));
          return { tags: Object.fromEntries(left) };
        }
      }
    }

    function withChange(before: ClassicPieces, changed: Change): ClassicPieces {
      const balancer = { ...balancerOf(before), ...changed };
      const own = isOwn(balancer, subject);
      const adopted = before.adopted && !own;
      return { ...before, balancer, isOurs: own || adopted, adopted };
    }

    function balancerOf({ balancer, isOurs }: ClassicPieces): ClassicLoadBalancer {
      if (balancer !== undefined && isOurs) return balancer;
      throw conflict(call.does, `load balancer ${subject.name} is not there, or is not ours`);
    }
  };
}

type Handled = {
  readonly does:
    | 'change security groups'
    | 'create load balancer'
    | 'delete load balancer'
    | 'apply security groups'
    | 'register instances';
};

function isDuplicate(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'DuplicateLoadBalancerName' || code === 'DuplicateAccessPointName';
}

function isNoInstance(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'InvalidInstance' || code === 'InvalidEndPoint';
}

/** Tells refused members by their providerIDs. */
function namingMembers(error: unknown, instances: readonly Registered[]): unknown {
  if (!isCloudError(error) || !isNoInstance(error)) return error;
  const named = new Set(error.message.match(/i-[0-9a-zA-Z]+/g));
  const refused = instances.filter(({ id }) => named.has(id));
  if (refused.length === 0 && instances.length > 1) return error;
  const subjects = (refused.length > 0 ? refused : instances).map(({ providerID }) => providerID);
  const { kind, operation, message } = error;
  return new CloudError({
    kind,
    cloud: 'aws',
    operation,
    message: message.replace(`aws ${operation}: `, ''),
    subjects,
    cause: error.cause,
  });
}

function groupId(facts: NetworkFacts, ref: string): string {
  if (ref.startsWith('sg-')) return ref;
  const group = findGroup(facts, ref);
  if (group !== undefined) return group.id;
  throw conflict('security groups', `security group ${ref} is not there`);
}

function sdkListener({ port, protocol, instancePort, instanceProtocol, certificate }: Listener): SdkListener {
  return {
    LoadBalancerPort: port,
    Protocol: protocol,
    InstancePort: instancePort,
    InstanceProtocol: instanceProtocol,
    ...(certificate !== undefined && { SSLCertificateId: certificate }),
  };
}

function sdkTags(tags: Tags): { Key: string; Value: string }[] {
  return Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
}

function invalid(operation: string, message: string): CloudError {
  return new CloudError({ kind: 'Invalid', cloud: 'aws', operation, message });
}

function conflict(operation: string, message: string): CloudError {
  return new CloudError({ kind: 'Conflict', cloud: 'aws', operation, message });
}
