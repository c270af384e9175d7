import type { PolicyAttribute } from '@aws-sdk/client-elastic-load-balancing';
import type { Change, Comparison } from '../../../engine/resource.ts';
import { memberChanges } from '../../member-changes.ts';
import type { Tags } from '../load-balancer-tags.ts';
import { type BalancerChange, sdkListener } from './balancer-calls.ts';
import type { BalancerSpec } from './balancer-spec.ts';
import type { ClassicLoadBalancer, HealthCheck, Listener } from './classic-load-balancer.ts';

const proxyPolicy = 'k8s-proxyprotocol-enabled';

/** Name that the classic controller gives to the policy. */
function sslPolicyName(policy: string): string {
  return `k8s-SSLNegotiationPolicy-${policy}`;
}

/** Names of changes that others wait for. */
const adding = 'new listeners';
const policyNamed = (policy: string) => `policy ${policy}`;

/**
 * What differs, each a call: what is new comes first, and members join before others leave. A listener that changes is
 * deleted and made again; a certificate is exchanged in place. `tags`: all that one of ours carries. Pure.
 */
export function compareBalancer(
  there: ClassicLoadBalancer,
  spec: BalancerSpec | undefined,
  tags: Tags | undefined,
): Comparison {
  if (spec === undefined) return { same: true };
  if (spec.internal !== undefined && (there.scheme === 'internal') !== spec.internal)
    return { replace: `it is ${there.scheme}`, order: 'deleteFirst' };
  const changes = [
    ...subnetChanges(there, spec),
    ...listenerChanges(there, spec),
    ...policyChanges(there, spec),
    ...healthChanges(there, spec),
    ...instanceChanges(there, spec),
    ...groupChanges(there, spec),
    ...tagChanges(there, tags),
  ];
  return changes.length > 0 ? { changes } : { same: true };
}

/** @param after default: none */
function change(
  what: string,
  phase: Change['phase'],
  summary: string,
  body: BalancerChange,
  after: readonly string[] = [],
): Change {
  return { what, phase, summary, body, after };
}

/**
 * AWS attaches one subnet a zone and never detaches the last. So other zones join first; then one zone after the other
 * changes its subnet, each without one for a moment; then zones leave.
 */
function subnetChanges({ name, subnets: there }: ClassicLoadBalancer, spec: BalancerSpec): Change[] {
  const { subnets } = spec;
  if (subnets === undefined) return [];
  const missing = subnets.filter((id) => !there.includes(id));
  const exchanges = missing.flatMap((id) => {
    const old = spec.exchanged[id];
    return old !== undefined && there.includes(old) ? [{ id, old }] : [];
  });
  const changes: Change[] = [];
  const attach = (phase: Change['phase'], ids: readonly string[]) =>
    add(phase, 'AttachLoadBalancerToSubnets', `attach ${name} to ${ids.join(', ')}`, ids);
  const detach = (phase: Change['phase'], ids: readonly string[]) =>
    add(phase, 'DetachLoadBalancerFromSubnets', `detach ${name} from ${ids.join(', ')}`, ids);
  function add(
    phase: Change['phase'],
    does: 'AttachLoadBalancerToSubnets' | 'DetachLoadBalancerFromSubnets',
    summary: string,
    ids: readonly string[],
  ): void {
    if (ids.length === 0) return;
    const before = changes.slice(-1).map(({ what }) => what);
    changes.push(change(summary, phase, summary, { does, input: { Subnets: [...ids] } }, before));
  }
  attach(
    'grow',
    missing.filter((id) => !exchanges.some((one) => one.id === id)),
  );
  for (const { id, old } of exchanges) {
    detach('set', [old]);
    attach('set', [id]);
  }
  detach(
    'shrink',
    there.filter((id) => !subnets.includes(id) && !exchanges.some(({ old }) => old === id)),
  );
  return changes;
}

function groupChanges({ name, securityGroups }: ClassicLoadBalancer, { groups }: BalancerSpec): Change[] {
  if (sameSet(groups, securityGroups)) return [];
  const summary = `security groups of ${name} from ${securityGroups.join(', ')} to ${groups.join(', ')}`;
  const body: BalancerChange = { does: 'ApplySecurityGroupsToLoadBalancer', input: { SecurityGroups: [...groups] } };
  return [change('security groups', 'set', summary, body)];
}

function listenerChanges({ name, listeners: there }: ClassicLoadBalancer, { listeners }: BalancerSpec): Change[] {
  if (listeners === undefined) return [];
  const create = (all: readonly Listener[]): BalancerChange => {
    return { does: 'CreateLoadBalancerListeners', input: { Listeners: all.map(sdkListener) } };
  };
  const remove = (all: readonly Listener[]): BalancerChange => {
    return { does: 'DeleteLoadBalancerListeners', input: { LoadBalancerPorts: all.map(({ port }) => port) } };
  };
  const byPort = new Map(there.map((listener) => [listener.port, listener]));
  const changes: Change[] = [];
  const missing = listeners.filter(({ port }) => !byPort.has(port));
  if (missing.length > 0) {
    const summary = `add to ${name}: ${missing.map(describe).join(', ')}`;
    changes.push(change(adding, 'grow', summary, create(missing)));
  }
  const differing = listeners.filter((one) => {
    const old = byPort.get(one.port);
    return old !== undefined && !sameListener(old, one);
  });
  if (differing.length > 0) {
    const gone = `delete listeners ${differing.map(({ port }) => port).join(', ')} of ${name}; they are made again`;
    const made = `add to ${name}: ${differing.map(describe).join(', ')}`;
    changes.push(
      change('old listeners', 'set', gone, remove(differing)),
      change('listeners again', 'set', made, create(differing), ['old listeners']),
    );
  }
  for (const { port, certificate } of listeners) {
    const old = byPort.get(port);
    if (old === undefined || certificate === undefined || certificate === old.certificate) continue;
    if (differing.some((one) => one.port === port)) continue;
    const summary = `certificate of listener ${port} of ${name} from ${old.certificate ?? 'none'} to ${certificate}`;
    const input = { LoadBalancerPort: port, SSLCertificateId: certificate };
    const body: BalancerChange = { does: 'SetLoadBalancerListenerSSLCertificate', input };
    changes.push(change(`certificate ${port}`, 'set', summary, body));
  }
  const extra = there.filter(({ port }) => !listeners.some((one) => one.port === port));
  if (extra.length > 0) {
    const summary = `delete of ${name}: ${extra.map(describe).join(', ')}`;
    changes.push(change('extra listeners', 'shrink', summary, remove(extra), [adding]));
  }
  return changes;
}

/** What TLS negotiates, and what members are told of clients. */
function policyChanges(there: ClassicLoadBalancer, { listeners, sslPolicy, proxyProtocol }: BalancerSpec): Change[] {
  if (listeners === undefined) return [];
  const { name, policies } = there;
  const changes: Change[] = [];
  const create = (policy: string, is: { PolicyTypeName: string; PolicyAttributes: PolicyAttribute[] }) => {
    if (policies.includes(policy)) return [];
    const body: BalancerChange = { does: 'CreateLoadBalancerPolicy', input: { PolicyName: policy, ...is } };
    changes.push(change(policyNamed(policy), 'grow', `add policy ${policy} to ${name}`, body));
    return [policyNamed(policy)];
  };
  if (sslPolicy !== undefined) {
    const policy = sslPolicyName(sslPolicy);
    // A listener that is still to be made gets it when it is there.
    const kept = there.listeners.filter((old) =>
      listeners.some((one) => one.port === old.port && sameListener(old, one)),
    );
    const lacking = kept.filter((old) => isTls(old.protocol) && !old.policies.includes(policy));
    const PolicyAttributes = [{ AttributeName: 'Reference-Security-Policy', AttributeValue: sslPolicy }];
    const type = { PolicyTypeName: 'SSLNegotiationPolicyType', PolicyAttributes };
    const after = lacking.length > 0 ? create(policy, type) : [];
    for (const { port, policies: old } of lacking) {
      const summary = `policies of listener ${port} of ${name} from ${old.join(', ') || 'none'} to ${policy}`;
      const input = { LoadBalancerPort: port, PolicyNames: [policy] };
      const body: BalancerChange = { does: 'SetLoadBalancerPoliciesOfListener', input };
      changes.push(change(`policies ${port}`, 'set', summary, body, after));
    }
  }
  if (proxyProtocol === undefined) return changes;
  const ports = new Set(proxyProtocol ? listeners.map(({ instancePort }) => instancePort) : []);
  const PolicyAttributes = [{ AttributeName: 'ProxyProtocol', AttributeValue: 'true' }];
  const type = { PolicyTypeName: 'ProxyProtocolPolicyType', PolicyAttributes };
  const after = proxyProtocol ? create(proxyPolicy, type) : [];
  const set = (port: number, next: string[], on: boolean) => {
    const summary = `PROXY protocol to port ${port} of the members of ${name} ${on ? 'on' : 'off'}`;
    const input = { InstancePort: port, PolicyNames: next };
    const body: BalancerChange = { does: 'SetLoadBalancerPoliciesForBackendServer', input };
    const before = [...after, ...(on ? [adding, 'listeners again'] : [])];
    changes.push(change(`backend ${port}`, 'set', summary, body, before));
  };
  for (const port of ports) {
    const old = there.backendPolicies.get(port) ?? [];
    if (!old.includes(proxyPolicy)) set(port, [...old, proxyPolicy], true);
  }
  for (const [port, old] of there.backendPolicies) {
    if (!ports.has(port) && old.includes(proxyPolicy))
      set(
        port,
        old.filter((policy) => policy !== proxyPolicy),
        false,
      );
  }
  return changes;
}

function healthChanges({ name, health: there }: ClassicLoadBalancer, { health }: BalancerSpec): Change[] {
  if (health === undefined || (there !== undefined && describeHealth(there) === describeHealth(health))) return [];
  const before = there === undefined ? 'none' : describeHealth(there);
  const summary = `health check of ${name} from ${before} to ${describeHealth(health)}`;
  const { target, interval, timeout, healthy, unhealthy } = health;
  const thresholds = { HealthyThreshold: healthy, UnhealthyThreshold: unhealthy };
  const HealthCheck = { Target: target, Interval: interval, Timeout: timeout, ...thresholds };
  return [change('health check', 'grow', summary, { does: 'ConfigureHealthCheck', input: { HealthCheck } })];
}

function instanceChanges({ name, instances }: ClassicLoadBalancer, { members, joining }: BalancerSpec): Change[] {
  const there = new Set(instances);
  const all = new Set(members.map(({ id }) => id));
  const added = joining.filter(({ id }) => !there.has(id));
  const removed = instances.filter((id) => !all.has(id));
  return memberChanges(
    { added, removed, count: instances.length },
    (some, at) => {
      const input = { Instances: some.map(({ id }) => ({ InstanceId: id })) };
      const body: BalancerChange = { does: 'RegisterInstancesWithLoadBalancer', input, joining: some };
      const summary = `register with ${name}: ${listed(some.map(({ id }) => id))}`;
      return { what: `register ${at + 1}`, summary, body };
    },
    (some, at) => {
      const input = { Instances: some.map((InstanceId) => ({ InstanceId })) };
      const body: BalancerChange = { does: 'DeregisterInstancesFromLoadBalancer', input };
      return { what: `deregister ${at + 1}`, summary: `deregister from ${name}: ${listed(some)}`, body };
    },
  );
}

function tagChanges({ name, tags: there }: ClassicLoadBalancer, desired: Tags | undefined): Change[] {
  const missing = Object.entries(desired ?? {}).filter(([key, value]) => there[key] !== value);
  if (missing.length === 0) return [];
  const summary = `tags of ${name}: ${missing.map(([key, value]) => `${key}=${value}`).join(', ')}`;
  return [change('tags', 'set', summary, { does: 'AddTags', tags: Object.fromEntries(missing) })];
}

function isTls(protocol: string): boolean {
  return protocol === 'SSL' || protocol === 'HTTPS';
}

function sameListener(there: Listener, desired: Listener): boolean {
  return (
    there.protocol === desired.protocol &&
    there.instancePort === desired.instancePort &&
    there.instanceProtocol === desired.instanceProtocol
  );
}

export function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && new Set([...a, ...b]).size === new Set(a).size && new Set(a).size === a.length;
}

function describe({ protocol, port, instanceProtocol, instancePort }: Listener): string {
  return `${protocol} ${port} to ${instanceProtocol} ${instancePort}`;
}

function describeHealth({ target, interval, timeout, healthy, unhealthy }: HealthCheck): string {
  return `${target} every ${interval} s, at most ${timeout} s, ${healthy} good, ${unhealthy} bad`;
}

function listed(ids: readonly string[]): string {
  const shown = ids.slice(0, 5).join(', ');
  return ids.length > 5 ? `${shown} and ${ids.length - 5} more` : shown;
}
