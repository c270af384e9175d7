import {
  AddTagsCommand,
  ApplySecurityGroupsToLoadBalancerCommand,
  AttachLoadBalancerToSubnetsCommand,
  ConfigureHealthCheckCommand,
  CreateLoadBalancerListenersCommand,
  CreateLoadBalancerPolicyCommand,
  DeleteLoadBalancerListenersCommand,
  DeregisterInstancesFromLoadBalancerCommand,
  DetachLoadBalancerFromSubnetsCommand,
  ModifyLoadBalancerAttributesCommand,
  RegisterInstancesWithLoadBalancerCommand,
  type Listener as SdkListener,
  SetLoadBalancerListenerSSLCertificateCommand,
  SetLoadBalancerPoliciesForBackendServerCommand,
  SetLoadBalancerPoliciesOfListenerCommand,
} from '@aws-sdk/client-elastic-load-balancing';
import { isCloudError } from '../../../../common/cloud-error.ts';
import { codeOf } from '../errors.ts';
import { sdkTags } from '../load-balancer-tags.ts';
import type { SdkCommand } from '../service-calls.ts';
import type { BalancerChange } from './balancer-changes.ts';
import type { Member } from './balancer-spec.ts';
import { type ClassicLoadBalancer, type Listener, sdkAttributes } from './classic-load-balancer.ts';

/** Sends one mutating call. */
export type Send = <Out>(command: SdkCommand<Out>) => Promise<Out>;

/** Sends the one call of a change, and answers the load balancer as it is then. Throws a CloudError. */
export async function applyChange(
  there: ClassicLoadBalancer,
  call: BalancerChange,
  send: Send,
): Promise<ClassicLoadBalancer> {
  const name = { LoadBalancerName: there.name };
  switch (call.does) {
    case 'attach subnets': {
      const { Subnets } = await send(new AttachLoadBalancerToSubnetsCommand({ ...name, Subnets: [...call.subnets] }));
      return { ...there, subnets: Subnets ?? [...there.subnets, ...call.subnets] };
    }
    case 'detach subnets': {
      await send(new DetachLoadBalancerFromSubnetsCommand({ ...name, Subnets: [...call.subnets] }));
      return { ...there, subnets: there.subnets.filter((id) => !call.subnets.includes(id)) };
    }
    case 'apply security groups': {
      await send(new ApplySecurityGroupsToLoadBalancerCommand({ ...name, SecurityGroups: [...call.groups] }));
      return { ...there, securityGroups: call.groups };
    }
    case 'create listeners': {
      const Listeners = call.listeners.map(sdkListener);
      await send(new CreateLoadBalancerListenersCommand({ ...name, Listeners }));
      const added = call.listeners.map((listener) => ({ ...listener, policies: [] }));
      return { ...there, listeners: [...there.listeners, ...added] };
    }
    case 'delete listeners': {
      await send(new DeleteLoadBalancerListenersCommand({ ...name, LoadBalancerPorts: [...call.ports] }));
      return { ...there, listeners: there.listeners.filter(({ port }) => !call.ports.includes(port)) };
    }
    case 'set certificate': {
      const { port, certificate } = call;
      const request = { ...name, LoadBalancerPort: port, SSLCertificateId: certificate };
      await send(new SetLoadBalancerListenerSSLCertificateCommand(request));
      return withListener(there, port, { certificate });
    }
    case 'create policy': {
      const { policy, type, attribute } = call;
      const PolicyAttributes = [{ AttributeName: attribute.name, AttributeValue: attribute.value }];
      const request = { ...name, PolicyName: policy, PolicyTypeName: type, PolicyAttributes };
      try {
        await send(new CreateLoadBalancerPolicyCommand(request));
      } catch (error) {
        // Its name says what it does, so one of that name is as good.
        if (codeOf(error) !== 'DuplicatePolicyName') throw error;
      }
      return { ...there, policies: [...there.policies, policy] };
    }
    case 'set listener policies': {
      const { port, policies } = call;
      const request = { ...name, LoadBalancerPort: port, PolicyNames: [...policies] };
      await send(new SetLoadBalancerPoliciesOfListenerCommand(request));
      return withListener(there, port, { policies });
    }
    case 'set backend policies': {
      const { port, policies } = call;
      const request = { ...name, InstancePort: port, PolicyNames: [...policies] };
      await send(new SetLoadBalancerPoliciesForBackendServerCommand(request));
      return { ...there, backendPolicies: new Map(there.backendPolicies).set(port, policies) };
    }
    case 'modify attributes': {
      const LoadBalancerAttributes = sdkAttributes(call.attributes);
      await send(new ModifyLoadBalancerAttributesCommand({ ...name, LoadBalancerAttributes }));
      return { ...there, attributes: { ...there.attributes, ...call.attributes } };
    }
    case 'configure health check': {
      const { target, interval, timeout, healthy, unhealthy } = call.health;
      const thresholds = { HealthyThreshold: healthy, UnhealthyThreshold: unhealthy };
      const HealthCheck = { Target: target, Interval: interval, Timeout: timeout, ...thresholds };
      await send(new ConfigureHealthCheckCommand({ ...name, HealthCheck }));
      return { ...there, health: call.health };
    }
    case 'register instances': {
      const Instances = call.instances.map(({ id }) => ({ InstanceId: id }));
      const command = new RegisterInstancesWithLoadBalancerCommand({ ...name, Instances });
      try {
        await send(command);
      } catch (error) {
        throw namingMembers(error, call.instances);
      }
      const instances = [...new Set([...there.instances, ...call.instances.map(({ id }) => id)])];
      return { ...there, instances };
    }
    case 'deregister instances': {
      const Instances = call.instances.map((InstanceId) => ({ InstanceId }));
      await send(new DeregisterInstancesFromLoadBalancerCommand({ ...name, Instances }));
      return { ...there, instances: there.instances.filter((id) => !call.instances.includes(id)) };
    }
    case 'add tags': {
      await send(new AddTagsCommand({ LoadBalancerNames: [there.name], Tags: sdkTags(call.tags) }));
      return { ...there, tags: { ...there.tags, ...call.tags } };
    }
  }
}

/** An instance that is gone, or is not there any more. */
export function isNoInstance(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'InvalidInstance' || code === 'InvalidEndPoint';
}

/** Tells refused members by their providerIDs. */
function namingMembers(error: unknown, instances: readonly Member[]): unknown {
  if (!isCloudError(error) || !isNoInstance(error)) return error;
  const named = new Set(error.message.match(/i-[0-9a-zA-Z]+/g));
  const refused = instances.filter(({ id }) => named.has(id));
  if (refused.length === 0 && instances.length > 1) return error;
  const subjects = (refused.length > 0 ? refused : instances).map(({ providerID }) => providerID);
  return error.with({ subjects });
}

function withListener(
  there: ClassicLoadBalancer,
  port: number,
  changed: Partial<ClassicLoadBalancer['listeners'][number]>,
): ClassicLoadBalancer {
  return { ...there, listeners: there.listeners.map((one) => (one.port === port ? { ...one, ...changed } : one)) };
}

export function sdkListener({ port, protocol, instancePort, instanceProtocol, certificate }: Listener): SdkListener {
  return {
    LoadBalancerPort: port,
    Protocol: protocol,
    InstancePort: instancePort,
    InstanceProtocol: instanceProtocol,
    ...(certificate !== undefined && { SSLCertificateId: certificate }),
  };
}
