import type { Change, Comparison } from '../../../engine/resource.ts';
import { memberChanges } from '../../member-changes.ts';
import type { Tags } from '../load-balancer-tags.ts';
import { attributesChanged, describeAttributes } from './attributes.ts';
import type { BalancerSpec, Member } from './balancer-spec.ts';
import type { Attributes, ClassicLoadBalancer, HealthCheck, Listener } from './classic-load-balancer.ts';

/** Exactly one call each. */
export type BalancerChange =
  | { readonly does: 'attach subnets'; readonly subnets: readonly string[] }
  | { readonly does: 'detach subnets'; readonly subnets: readonly string[] }
  | { readonly does: 'apply security groups'; readonly groups: readonly string[] }
  | { readonly does: 'create listeners'; readonly listeners: readonly Listener[] }
  | { readonly does: 'delete listeners'; readonly ports: readonly number[] }
  | { readonly does: 'set certificate'; readonly port: number; readonly certificate: string }
  | { readonly does: 'create policy'; readonly policy: string; readonly type: string; readonly attribute: Attribute }
  | { readonly does: 'set listener policies'; readonly port: number; readonly policies: readonly string[] }
  | { readonly does: 'set backend policies'; readonly port: number; readonly policies: readonly string[] }
  | { readonly does: 'modify attributes'; readonly attributes: Attributes }
  | { readonly does: 'configure health check'; readonly health: HealthCheck }
  | { readonly does: 'register instances'; readonly instances: readonly Member[] }
  | { readonly does: 'deregister instances'; readonly instances: readonly string[] }
  | { readonly does: 'add tags'; readonly tags: Tags };

interface Attribute {
  readonly name: string;
  readonly value: string;
}

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
    ...attributeChanges(there, spec),
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
    add(phase, `attach ${name} to ${ids.join(', ')}`, { does: 'attach subnets', subnets: ids });
  const detach = (phase: Change['phase'], ids: readonly string[]) =>
    add(phase, `detach ${name} from ${ids.join(', ')}`, { does: 'detach subnets', subnets: ids });
  function add(phase: Change['phase'], summary: string, body: BalancerChange): void {
    if ('subnets' in body && body.subnets.length === 0) return;
    changes.push(
      change(
        summary,
        phase,
        summary,
        body,
        changes.slice(-1).map(({ what }) => what),
      ),
    );
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
  return [change('security groups', 'set', summary, { does: 'apply security groups', groups })];
}

function listenerChanges({ name, listeners: there }: ClassicLoadBalancer, { listeners }: BalancerSpec): Change[] {
  if (listeners === undefined) return [];
  const byPort = new Map(there.map((listener) => [listener.port, listener]));
  const changes: Change[] = [];
  const missing = listeners.filter(({ port }) => !byPort.has(port));
  if (missing.length > 0) {
    const summary = `add to ${name}: ${missing.map(describe).join(', ')}`;
    changes.push(change(adding, 'grow', summary, { does: 'create listeners', listeners: missing }));
  }
  const differing = listeners.filter((one) => {
    const old = byPort.get(one.port);
    return old !== undefined && !sameListener(old, one);
  });
  if (differing.length > 0) {
    const ports = differing.map(({ port }) => port);
    const gone = `delete listeners ${ports.join(', ')} of ${name}; they are made again`;
    const made = `add to ${name}: ${differing.map(describe).join(', ')}`;
    changes.push(
      change('old listeners', 'set', gone, { does: 'delete listeners', ports }),
      change('listeners again', 'set', made, { does: 'create listeners', listeners: differing }, ['old listeners']),
    );
  }
  for (const { port, certificate } of listeners) {
    const old = byPort.get(port);
    if (old === undefined || certificate === undefined || certificate === old.certificate) continue;
    if (differing.some((one) => one.port === port)) continue;
    const summary = `certificate of listener ${port} of ${name} from ${old.certificate ?? 'none'} to ${certificate}`;
    changes.push(change(`certificate ${port}`, 'set', summary, { does: 'set certificate', port, certificate }));
  }
  const extra = there.filter(({ port }) => !listeners.some((one) => one.port === port));
  if (extra.length > 0) {
    const ports = extra.map(({ port }) => port);
    const summary = `delete of ${name}: ${extra.map(describe).join(', ')}`;
    changes.push(change('extra listeners', 'shrink', summary, { does: 'delete listeners', ports }, [adding]));
  }
  return changes;
}

/** What TLS negotiates, and what members are told of clients. */
function policyChanges(there: ClassicLoadBalancer, { listeners, sslPolicy, proxyProtocol }: BalancerSpec): Change[] {
  if (listeners === undefined) return [];
  const { name, policies } = there;
  const changes: Change[] = [];
  const create = (policy: string, type: string, attribute: Attribute) => {
    if (policies.includes(policy)) return [];
    const call = { does: 'create policy', policy, type, attribute } as const;
    changes.push(change(policyNamed(policy), 'grow', `add policy ${policy} to ${name}`, call));
    return [policyNamed(policy)];
  };
  if (sslPolicy !== undefined) {
    const policy = sslPolicyName(sslPolicy);
    // A listener that is still to be made gets it when it is there.
    const kept = there.listeners.filter((old) =>
      listeners.some((one) => one.port === old.port && sameListener(old, one)),
    );
    const lacking = kept.filter((old) => isTls(old.protocol) && !old.policies.includes(policy));
    const attribute = { name: 'Reference-Security-Policy', value: sslPolicy };
    const after = lacking.length > 0 ? create(policy, 'SSLNegotiationPolicyType', attribute) : [];
    for (const { port, policies: old } of lacking) {
      const summary = `policies of listener ${port} of ${name} from ${old.join(', ') || 'none'} to ${policy}`;
      const call = { does: 'set listener policies', port, policies: [policy] } as const;
      changes.push(change(`policies ${port}`, 'set', summary, call, after));
    }
  }
  if (proxyProtocol === undefined) return changes;
  const ports = new Set(proxyProtocol ? listeners.map(({ instancePort }) => instancePort) : []);
  const attribute = { name: 'ProxyProtocol', value: 'true' };
  const after = proxyProtocol ? create(proxyPolicy, 'ProxyProtocolPolicyType', attribute) : [];
  const set = (port: number, next: readonly string[], on: boolean) => {
    const summary = `PROXY protocol to port ${port} of the members of ${name} ${on ? 'on' : 'off'}`;
    const call = { does: 'set backend policies', port, policies: next } as const;
    changes.push(
      change(`backend ${port}`, 'set', summary, call, [...after, ...(on ? [adding, 'listeners again'] : [])]),
    );
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
  return [change('health check', 'grow', summary, { does: 'configure health check', health })];
}

function instanceChanges({ name, instances }: ClassicLoadBalancer, { members, joining }: BalancerSpec): Change[] {
  const there = new Set(instances);
  const all = new Set(members.map(({ id }) => id));
  const added = joining.filter(({ id }) => !there.has(id));
  const removed = instances.filter((id) => !all.has(id));
  return memberChanges(
    { added, removed, count: instances.length },
    (some, at) => {
      const body: BalancerChange = { does: 'register instances', instances: some };
      const summary = `register with ${name}: ${listed(some.map(({ id }) => id))}`;
      return { what: `register ${at + 1}`, summary, body };
    },
    (some, at) => {
      const body: BalancerChange = { does: 'deregister instances', instances: some };
      return { what: `deregister ${at + 1}`, summary: `deregister from ${name}: ${listed(some)}`, body };
    },
  );
}

/** Of one that was just made, which has the defaults; of others they are a resource of their own. */
function attributeChanges({ name, attributes: there }: ClassicLoadBalancer, spec: BalancerSpec): Change[] {
  const attributes = there === undefined ? undefined : attributesChanged(there, spec.attributes);
  if (there === undefined || attributes === undefined) return [];
  const summary = describeAttributes(name, there, attributes);
  return [change('attributes', 'set', summary, { does: 'modify attributes', attributes })];
}

function tagChanges({ name, tags: there }: ClassicLoadBalancer, desired: Tags | undefined): Change[] {
  const missing = Object.entries(desired ?? {}).filter(([key, value]) => there[key] !== value);
  if (missing.length === 0) return [];
  const summary = `tags of ${name}: ${missing.map(([key, value]) => `${key}=${value}`).join(', ')}`;
  return [change('tags', 'set', summary, { does: 'add tags', tags: Object.fromEntries(missing) })];
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
