import type { Found } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import type { ShownLoadBalancer } from '../../load-balancer-driver.ts';
import { optionalTexts } from '../json.ts';
import { floatingIpDescription, markIn } from '../load-balancers/names.ts';
import { consentOf } from '../load-balancers/tags.ts';
import { networkKinds } from './network-kinds.ts';

export interface FloatingIp {
  readonly id: string;
  readonly address: string;
  readonly portId: string | undefined;
  readonly description: string;
  readonly tags: readonly string[];
  /** Undefined where this Neutron counts none. */
  readonly revision: number | undefined;
  /** It is on another port than the VIP of the load balancer that it was made for: it serves something else now. */
  readonly isElsewhere: boolean;
}

export const floatingIpFields = [
  'id',
  'floating_ip_address',
  'port_id',
  'description',
  'tags',
  'revision_number',
] as const;

export function readFloatingIp(item: AnswerFields): FloatingIp {
  return {
    id: item.text('id'),
    address: item.text('floating_ip_address'),
    portId: item.optionalText('port_id'),
    description: item.optionalText('description') ?? '',
    tags: optionalTexts(item, 'tags'),
    revision: item.optionalNumber('revision_number'),
    isElsewhere: false,
  };
}

/** The slot of the one that a Service has. */
export function floatingIpSlot(ref: Parameters<typeof floatingIpDescription>[0]): string {
  return `${networkKinds.floatingIp} ${floatingIpDescription(ref)}`;
}

export function foundFloatingIp(body: FloatingIp): Found<FloatingIp> {
  const { id, address, portId, description, tags } = body;
  const mark = markIn(description);
  const isKept = mark !== undefined && mark.service === undefined && mark.keptFor !== undefined;
  return {
    kind: networkKinds.floatingIp,
    id,
    key: 'main',
    status: 'ready',
    body,
    ...(mark?.service !== undefined && { owner: { cluster: mark.cluster, service: mark.service } }),
    ...(isKept && { retained: true }),
    ...(consentOf(tags).length > 0 && { consentForAnyCluster: true }),
    ...(portId !== undefined && {
      address,
      refs: [{ role: 'port', kind: networkKinds.vipPort, id: portId, loose: true, outlives: true }],
    }),
    slots: [
      `address ${address}`,
      ...(mark?.service === undefined ? [] : [`${networkKinds.floatingIp} ${description.replace(/ keep\]$/, ']')}`]),
    ],
  };
}

/** Attached by consent, kept for the namespace, or by a person: what is on a VIP and carries no mark of a Service. */
export function foundOnVip(body: FloatingIp & { readonly portId: string }): Found<FloatingIp> {
  const { id, address, portId } = body;
  return {
    kind: networkKinds.onVip,
    id,
    key: 'main',
    within: portId,
    status: 'ready',
    address,
    body,
    refs: [{ role: 'floating IP', kind: networkKinds.floatingIp, id }],
  };
}

/** Tells of each floating IP whose port it is on: what only the load balancers beside it show. */
export function linkFloatingIps(found: readonly Found[], cluster: string): readonly Found[] {
  return withAddresses(linked(found, cluster));
}

/** What serves under a floating IP is no leftover of an earlier try. */
function withAddresses(found: readonly Found[]): readonly Found[] {
  const addresses = new Map(
    (found as readonly Found<FloatingIp>[]).flatMap(({ kind, body }) =>
      kind === networkKinds.floatingIp && body.portId !== undefined ? [[body.portId, body.address]] : [],
    ),
  );
  const carried = new Map(
    found.flatMap(({ kind, id, within }) => {
      const address = kind === networkKinds.vipPort ? addresses.get(id) : undefined;
      return address === undefined ? [] : [[within, address]];
    }),
  );
  return found.map((one) => {
    const address = one.kind === 'load balancer' && one.status === 'ready' ? carried.get(one.id) : undefined;
    return address === undefined ? one : { ...one, address };
  });
}

function linked(found: readonly Found[], cluster: string): readonly Found[] {
  const vips = new Map(found.flatMap((one) => (one.kind === networkKinds.vipPort ? [[one.id, one]] : [])));
  return found.flatMap((one): Found[] => {
    if (one.kind !== networkKinds.floatingIp) return [one];
    const { retained, ...rest } = one as Found<FloatingIp>;
    const { body, owner } = rest;
    const { portId } = body;
    const vip = vips.get(portId ?? '');
    // What another cluster has kept is none of ours to count, nor what a load balancer has.
    const isKept = retained && vip === undefined && markIn(body.description)?.cluster === cluster;
    const shown = { ...rest, ...(isKept && { retained }), ...(retained && !isKept && { consentForAnyCluster: true }) };
    if (portId === undefined) return [shown];
    if (owner === undefined) return vip === undefined ? [shown] : [shown, foundOnVip({ ...body, portId })];
    return [{ ...shown, body: { ...body, isElsewhere: vip?.owner?.service !== owner.service } }];
  });
}

/** The address of the floating IP on that port, of any owner. */
export function floatingAddressAt(portId: string, known: readonly Found[]): string | undefined {
  return (known as readonly Found<FloatingIp>[]).find(({ body }) => portId !== '' && body.portId === portId)?.body
    .address;
}

/** One that was kept when its Service went. */
export function showFloatingIp({ body }: Found): ShownLoadBalancer {
  const { address, description } = body as FloatingIp;
  return { name: address, ingress: [], service: markIn(description)?.keptFor };
}
