import { annotations, conditions, labels } from '../../../common/well-known.ts';
import { conditionOf, type NodeView } from '../../model/node-view.ts';
import type { ServiceView } from '../../model/service-view.ts';
import { leavingReason } from '../../services/members/facts.ts';
import { parseRecord } from '../../services/record.ts';
import type { DesiredMembers } from '../explain/desired-members.ts';
import { hasMembers } from '../explain/explain-service.ts';
import type { Surroundings } from '../explain/facts.ts';
import { countNodes } from '../explain/member-facts.ts';
import { isWell, type RowOptions, rowsOf } from '../status/cluster-status.ts';
import type { Decision, NodeRow, ServiceRow } from './update.ts';

/** The row of a Node: what `status` says of it, and where it is. Pure. */
export function nodeRow(node: NodeView, around: Surroundings, options: RowOptions): NodeRow {
  const [row] = rowsOf({ ...around, nodes: [node], services: undefined }, options).nodes!;
  return {
    ...row!,
    ok: isWell(row!),
    zone: node.labels[labels.zone] ?? '',
    providerID: node.providerID,
    podRanges: node.podCIDRs.join(', '),
    route: conditionOf(node, conditions.networkUnavailable)?.reason ?? '',
    // What is not ours leaves nothing of ours.
    leaving: row!.scope === null ? '' : (leavingReason(node) ?? ''),
  };
}

/**
 * The row of a Service that has, or may have, a load balancer. Pure.
 *
 * @param membersOf asked where the controller chooses members
 */
export function serviceRow(
  service: ServiceView,
  around: Surroundings,
  options: RowOptions,
  membersOf: (service: ServiceView) => DesiredMembers,
): ServiceRow {
  const [row] = rowsOf({ ...around, nodes: undefined, services: [service] }, options).services!;
  const record = parseRecord(service.annotations[annotations.loadBalancer]);
  return {
    ...row!,
    scope: record?.scope ?? null,
    ok: isWell(row!),
    balancer: record === undefined ? null : (record.id ?? ''),
    addresses: service.ingress.map(({ ip, hostname }) => ip ?? hostname ?? '').join(', '),
    listeners: service.ports.map(({ port, protocol }) => `${protocol} ${port}`),
    members: hasMembers({ service, ...options }) ? countsOf(membersOf(service)) : null,
  };
}

function countsOf(members: DesiredMembers): ServiceRow['members'] {
  if ('unknown' in members) return members;
  const { serving, draining, refused, hash } = members;
  return { serving, draining: countNodes(draining), refused: countNodes(refused), hash };
}

interface RawEvent {
  readonly metadata?: { readonly name?: string; readonly namespace?: string; readonly resourceVersion?: string };
  readonly involvedObject?: { readonly kind?: string; readonly name?: string; readonly namespace?: string };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
}

/** What the page shows of an Event. Pure. */
export function viewDecision(raw: unknown): Decision {
  const { metadata = {}, involvedObject = {}, ...event } = raw as RawEvent;
  const { kind = '', name = '', namespace } = involvedObject;
  const explained = kind === 'Node' ? 'node' : kind === 'Service' ? 'service' : '';
  return {
    key: `${metadata.namespace ?? ''}/${metadata.name ?? ''}`,
    time: event.lastTimestamp ?? event.eventTime ?? '',
    type: event.type ?? '',
    kind: explained,
    name: explained === 'service' && namespace ? `${namespace}/${name}` : name,
    reason: event.reason ?? '',
    message: event.message ?? '',
    count: event.count ?? 1,
    version: Number(metadata.resourceVersion) || 0,
  };
}
