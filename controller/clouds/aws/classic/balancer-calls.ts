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
  type Instance,
  RegisterInstancesWithLoadBalancerCommand,
  type Listener as SdkListener,
  SetLoadBalancerListenerSSLCertificateCommand,
  SetLoadBalancerPoliciesForBackendServerCommand,
  SetLoadBalancerPoliciesOfListenerCommand,
} from '@aws-sdk/client-elastic-load-balancing';
import { isCloudError } from '../../../../common/cloud-error.ts';
import { codeOf } from '../errors.ts';
import { sdkTags, type Tags } from '../load-balancer-tags.ts';
import type { SdkCommand } from '../service-calls.ts';
import type { Member } from './balancer-spec.ts';
import { type ClassicLoadBalancer, type Listener, readHealth, readListener } from './classic-load-balancer.ts';

/** Sends one mutating call. */
export type Send = <Out>(command: SdkCommand<Out>) => Promise<Out>;

interface Call<Input> {
  readonly Command: new (input: Input) => SdkCommand<unknown>;
  /** What of the load balancer is different then. */
  after(there: ClassicLoadBalancer, input: Input): Partial<ClassicLoadBalancer>;
}

const call = <Input>(Command: Call<Input>['Command'], after: Call<Input>['after']): Call<Input> => ({ Command, after });

/** The calls that change a load balancer, by their names. */
const calls = {
  AttachLoadBalancerToSubnets: call(AttachLoadBalancerToSubnetsCommand, ({ subnets }, { Subnets = [] }) => ({
    subnets: [...subnets, ...Subnets],
  })),
  DetachLoadBalancerFromSubnets: call(DetachLoadBalancerFromSubnetsCommand, ({ subnets }, { Subnets = [] }) => ({
    subnets: subnets.filter((id) => !Subnets.includes(id)),
  })),
  ApplySecurityGroupsToLoadBalancer: call(
    ApplySecurityGroupsToLoadBalancerCommand,
    (_, { SecurityGroups: securityGroups = [] }) => ({ securityGroups }),
  ),
  CreateLoadBalancerListeners: call(CreateLoadBalancerListenersCommand, ({ listeners }, { Listeners = [] }) => ({
    listeners: [...listeners, ...Listeners.map((one) => readListener(one, []))],
  })),
  DeleteLoadBalancerListeners: call(
    DeleteLoadBalancerListenersCommand,
    ({ listeners }, { LoadBalancerPorts = [] }) => ({
      listeners: listeners.filter(({ port }) => !LoadBalancerPorts.includes(port)),
    }),
  ),
  SetLoadBalancerListenerSSLCertificate: call(
    SetLoadBalancerListenerSSLCertificateCommand,
    (there, { LoadBalancerPort, SSLCertificateId: certificate }) =>
      withListener(there, LoadBalancerPort, { certificate }),
  ),
  CreateLoadBalancerPolicy: call(CreateLoadBalancerPolicyCommand, ({ policies }, { PolicyName = '' }) => ({
    policies: [...policies, PolicyName],
  })),
  SetLoadBalancerPoliciesOfListener: call(
    SetLoadBalancerPoliciesOfListenerCommand,
    (there, { LoadBalancerPort, PolicyNames: policies = [] }) => withListener(there, LoadBalancerPort, { policies }),
  ),
  SetLoadBalancerPoliciesForBackendServer: call(
    SetLoadBalancerPoliciesForBackendServerCommand,
    ({ backendPolicies }, { InstancePort = 0, PolicyNames = [] }) => ({
      backendPolicies: new Map(backendPolicies).set(InstancePort, PolicyNames),
    }),
  ),
  ConfigureHealthCheck: call(ConfigureHealthCheckCommand, (_, { HealthCheck }) => ({
    health: readHealth(HealthCheck),
  })),
  RegisterInstancesWithLoadBalancer: call(RegisterInstancesWithLoadBalancerCommand, ({ instances }, { Instances }) => ({
    instances: [...new Set([...instances, ...idsOf(Instances)])],
  })),
  DeregisterInstancesFromLoadBalancer: call(
    DeregisterInstancesFromLoadBalancerCommand,
    ({ instances }, { Instances }) => ({ instances: instances.filter((id) => !idsOf(Instances).includes(id)) }),
  ),
} as const;

type Calls = typeof calls;

interface SentCall<Does extends keyof Calls> {
  readonly does: Does;
  /** Without the name of the load balancer. */
  readonly input: Omit<Parameters<Calls[Does]['after']>[1], 'LoadBalancerName'>;
  /** Those that it registers. */
  readonly joining?: readonly Member[];
}

/** Exactly one call. */
export type BalancerChange =
  | { [Does in keyof Calls]: SentCall<Does> }[keyof Calls]
  | { readonly does: 'AddTags'; readonly tags: Tags };

/** Sends the one call of a change, and answers the load balancer as it is then. Throws a CloudError. */
export async function applyChange(
  there: ClassicLoadBalancer,
  change: BalancerChange,
  send: Send,
): Promise<ClassicLoadBalancer> {
  if (change.does === 'AddTags') {
    await send(new AddTagsCommand({ LoadBalancerNames: [there.name], Tags: sdkTags(change.tags) }));
    return { ...there, tags: { ...there.tags, ...change.tags } };
  }
  const { Command, after } = calls[change.does] as Call<unknown>;
  const input = { LoadBalancerName: there.name, ...change.input };
  try {
    await send(new Command(input));
  } catch (error) {
    // Its name says what it does, so one of that name is as good.
    if (codeOf(error) !== 'DuplicatePolicyName') throw namingMembers(error, change.joining ?? []);
  }
  return { ...there, ...after(there, input) };
}

/** An instance that is gone, or is not there any more. */
export function isNoInstance(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'InvalidInstance' || code === 'InvalidEndPoint';
}

export function idsOf(instances: readonly Instance[] | undefined): string[] {
  return (instances ?? []).flatMap(({ InstanceId }) => InstanceId ?? []);
}

/** Tells refused members by their providerIDs. */
function namingMembers(error: unknown, instances: readonly Member[]): unknown {
  if (!isCloudError(error) || !isNoInstance(error) || instances.length === 0) return error;
  const named = new Set(error.message.match(/i-[0-9a-zA-Z]+/g));
  const refused = instances.filter(({ id }) => named.has(id));
  if (refused.length === 0 && instances.length > 1) return error;
  const subjects = (refused.length > 0 ? refused : instances).map(({ providerID }) => providerID);
  return error.with({ subjects });
}

function withListener(
  { listeners }: ClassicLoadBalancer,
  at: number | undefined,
  changed: Partial<ClassicLoadBalancer['listeners'][number]>,
): Partial<ClassicLoadBalancer> {
  return { listeners: listeners.map((one) => (one.port === at ? { ...one, ...changed } : one)) };
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
