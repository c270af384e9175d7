import { aws } from '../../../../common/provider-id/aws.ts';
import type { Change } from '../../../engine/resource.ts';
import type { DesiredMember } from '../../load-balancers.ts';
import { memberChanges } from '../../member-changes.ts';
import type { Tags } from '../load-balancer-tags.ts';
import { type DesiredGroup, preservesClientIp } from './desired-listeners.ts';
import type { TagSpec } from './marks.ts';
import type { AttributeList, Target, TargetList } from './network-load-balancer.ts';
import { attributeChanges } from './resources.ts';

/** As upstream; one call takes as many as a request may carry. */
const targetsPerCall = 100;

export interface NewTarget {
  readonly id: string;
  readonly providerID: string;
}

/** What the members of a Service come to in one target group. */
export interface Targets {
  /** Everything that is to serve. */
  readonly targets: readonly NewTarget[];
  /** Ids of instances that stay where they are, and are added nowhere. */
  readonly kept: ReadonlySet<string>;
  /** Ids of instances that serve this Service on any port already. */
  readonly trusted: readonly string[];
}

export interface TargetsSpec {
  readonly group: DesiredGroup;
  readonly members: Targets;
}

export interface TargetGroupSpec extends TagSpec, TargetsSpec {
  /** Undefined = the one of the cluster. */
  readonly vpcId: string | undefined;
}

/** Exactly one call each. */
export type TargetChange =
  | { readonly does: 'register'; readonly targets: readonly NewTarget[]; readonly trusted: readonly string[] }
  | { readonly does: 'deregister'; readonly ids: readonly string[] };

/** Members as targets of a group. Those that drain are let go: AWS itself then drains them. */
export function targetsOf(
  members: readonly DesiredMember[],
  { targetType, ipType }: Pick<DesiredGroup, 'targetType' | 'ipType'>,
  trusted: readonly string[],
): Targets {
  const targets = new Map<string, NewTarget>();
  const kept = new Set<string>();
  for (const { providerID, addresses, draining } of members) {
    const instanceId = aws.parse(providerID)?.instanceId;
    if (draining || instanceId === undefined) continue;
    if (addresses.length === 0) {
      kept.add(instanceId);
      continue;
    }
    const isOfFamily = (address: string) => address.includes(':') === (ipType === 'ipv6');
    const id = targetType === 'instance' ? instanceId : addresses.find(isOfFamily);
    if (id !== undefined) targets.set(id, { id, providerID });
  }
  return { targets: [...targets.values()], kept, trusted };
}

/** What a new target group has. */
export function defaultAttributes(group: Pick<DesiredGroup, 'targetType' | 'protocol'>): Tags {
  return { 'preserve_client_ip.enabled': String(preservesClientIp(group)), 'proxy_protocol_v2.enabled': 'false' };
}

/** What differs, each a call. Pure. */
export function compareTargets({ name, targets: there }: TargetList, asked: Targets): readonly Change[] {
  const ids = new Set(there.map(({ id }) => id));
  const stay = new Set(asked.targets.map(({ id }) => id));
  const added = asked.targets.filter(({ id }) => !ids.has(id));
  const removed = there.filter(
    ({ id, providerID }) => !stay.has(id) && !asked.kept.has(aws.parse(providerID)?.instanceId ?? id),
  );
  const isFailed = ({ healthy }: Target) => healthy === false;
  return memberChanges(
    { added, removed, count: there.length, isFailed, atOnce: targetsPerCall },
    (targets, at) => {
      const body: TargetChange = { does: 'register', targets, trusted: asked.trusted };
      return { what: `register ${at + 1}`, summary: `target group ${name}: register ${listed(targets)}`, body };
    },
    (targets, at) => {
      const body: TargetChange = { does: 'deregister', ids: targets.map(({ id }) => id) };
      return { what: `deregister ${at + 1}`, summary: `target group ${name}: deregister ${listed(targets)}`, body };
    },
  );
}

export function compareAttributes({ name, attributes: there }: AttributeList, group: DesiredGroup): readonly Change[] {
  const { attributes: asked } = group;
  return attributeChanges(`target group ${name}`, { there, asked, defaults: defaultAttributes(group) });
}

/** The targets after that change. */
export function withChange(there: TargetList, call: TargetChange): TargetList {
  if (call.does === 'deregister')
    return { ...there, targets: there.targets.filter(({ id }) => !call.ids.includes(id)) };
  const known = new Set(there.targets.map(({ id }) => id));
  const added = call.targets.filter(({ id }) => !known.has(id)).map((one) => ({ ...one, healthy: undefined }));
  return { ...there, targets: [...there.targets, ...added] };
}

/** The registration of targets with a group that was just made, and those that are registered by then. */
export interface FirstTargets {
  readonly call: TargetChange;
  readonly before: TargetList;
}

/** What a new group needs; targets go one call after the other, and each answers what all before it have made. Pure. */
export function firstChanges({ group, members }: TargetsSpec): readonly Change[] {
  const { name } = group;
  let before: TargetList = { name, targets: [] };
  let after: readonly string[] = [];
  const registered = compareTargets(before, members).map((change): Change => {
    const body: FirstTargets = { call: change.body as TargetChange, before };
    before = withChange(before, body.call);
    const first = { ...change, body, after };
    after = [change.what];
    return first;
  });
  return [...compareAttributes({ name, attributes: defaultAttributes(group) }, group), ...registered];
}

function listed(targets: readonly { readonly id: string }[]): string {
  const shown = targets.slice(0, 5).map(({ id }) => id);
  return targets.length > 5 ? `${shown.join(', ')} and ${targets.length - 5} more` : shown.join(', ');
}
