import { isCloudError } from '../../../../common/cloud-error.ts';
import type { Comparison, Found, Kind, ReadIo, ResourceName, WriteIo } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { sameAddress } from '../../ip-address.ts';
import type { Owner } from '../../load-balancers.ts';
import { faultOf } from '../fault.ts';
import type { JsonObject } from '../json.ts';
import {
  createdOn,
  floatingIpDescription,
  markIn,
  retainedMark,
  serviceIn,
  withMark,
} from '../load-balancers/names.ts';
import { type FloatingIp, foundFloatingIp, readFloatingIp } from './floating-ip.ts';
import type { FloatingPool } from './network-facts.ts';
import { networkKinds } from './network-kinds.ts';
import type { Neutron } from './neutron.ts';

export interface FloatingIpSpec {
  readonly owner: Owner;
  /** `namespace/name`. */
  readonly service: string;
  /** It outlives its Service. Undefined: as its description says. */
  readonly keep: boolean | undefined;
  /** Undefined: it is on no port. */
  readonly port: ResourceName | undefined;
  /** The port that the Service names for its VIP: it outlives the load balancer. */
  readonly givenPort: string | undefined;
  /** The one that the Service names. */
  readonly address: string | undefined;
  /** Where it can come from, to be tried in this order. */
  readonly pools: readonly FloatingPool[];
}

/** For how long a request whose answer was lost may still be at work. */
const settleMs = 10_000;
const fullTypes: ReadonlySet<string> = new Set(['IpAddressGenerationFailure', 'ExternalIpAddressExhausted']);

/** Owners of a port that no server, router or other device has. */
const unused: ReadonlySet<string> = new Set(['', 'Octavia']);

/** VIP ports of all load balancers of the project, of any owner. */
export type VipPorts = (io: ReadIo) => Promise<readonly string[]>;

/** A floating IP of one Service: its description says whose it is. */
export function floatingIpKind(neutron: Neutron, vipPorts: VipPorts): Kind<FloatingIpSpec | undefined, FloatingIp> {
  async function put(
    { id, revision }: FloatingIp,
    fields: JsonObject,
    io: Pick<WriteIo, 'permit' | 'signal'>,
  ): Promise<{ readonly found: readonly Found[] }> {
    // An address that two Services name goes to one of them.
    const guarded = fields['port_id'] ? revision : undefined;
    const request = { method: 'PUT', collection: 'floatingips', id, fields, revision: guarded } as const;
    return { found: (await neutron.change(request, io)).map(readFloatingIp).map(foundFloatingIp) };
  }

  /** Whether its port went with the load balancer, or is the one that it was created on and nothing uses any more. */
  async function isLeft({ id, portId, description }: FloatingIp, io: ReadIo): Promise<boolean> {
    const [now] = await neutron.list('floatingips', [['id', id]], ['port_id'], io);
    if (now?.optionalText('port_id') === undefined) return true;
    if (portId === undefined || createdOn(description) !== portId) return false;
    const [port] = await neutron.list('ports', [['id', portId]], ['device_owner'], io);
    const isFree = port !== undefined && unused.has(port.optionalText('device_owner') ?? '');
    return isFree && !(await vipPorts(io)).includes(portId);
  }

  async function create(
    { pools, address, port, givenPort, owner, service, keep }: FloatingIpSpec,
    io: WriteIo,
  ): Promise<readonly AnswerFields[]> {
    const portId = port && io.idOf(port);
    const ref = { owner, service, port: portId === givenPort ? portId : undefined };
    for (const [at, { networkId, subnetId }] of pools.entries()) {
      const fields = {
        floating_network_id: networkId,
        ...(subnetId !== undefined && { subnet_id: subnetId }),
        ...(address !== undefined && { floating_ip_address: address }),
        ...(portId !== undefined && { port_id: portId }),
        description: floatingIpDescription(ref, keep === true),
      };
      try {
        return await neutron.change({ method: 'POST', collection: 'floatingips', fields }, io);
      } catch (error) {
        if (at === pools.length - 1 || !isFull(error)) throw error;
      }
    }
    throw new Error(`floating IP of ${service}: it has no network`);
  }

  return {
    kind: networkKinds.floatingIp,
    retryCreate: 'afterSearch',
    settleMs,
    compare: ({ body }, spec, pointsAt) =>
      spec === undefined ? { same: true } : compare(body, spec, pointsAt('port').includes(spec.port ?? '')),
    async create({ spec }, _inside, io) {
      const [made] = (await create(spec!, io)).map(readFloatingIp);
      return { id: made!.id, found: [foundFloatingIp(made!)] };
    },
    update({ body }, change, io) {
      const { port, ...fields } = change.body as { readonly port?: ResourceName | null; readonly description?: string };
      if (port === undefined && fields.description === body.description)
        return Promise.resolve({ found: [foundFloatingIp(body)] });
      return put(body, { ...fields, ...(port !== undefined && { port_id: port && io.idOf(port) }) }, io);
    },
    async remove({ body }, io) {
      const isElsewhere = body.isElsewhere && !(await isLeft(body, io));
      if (!isKept(body) && !isElsewhere) {
        await neutron.change({ method: 'DELETE', collection: 'floatingips', id: body.id }, io);
        return {};
      }
      // What serves something else stays where it is.
      return put(body, { ...retained(body, io.owner), ...(!isElsewhere && { port_id: null }) }, io);
    },
    mark({ body }, as, want, io) {
      if (as === 'retained') return put(body, retained(body, io.owner), io);
      const { owner, service, keep } = want!.spec!;
      return put(body, { description: floatingIpDescription({ owner, service }, keep === true) }, io);
    },
  };
}

/** Written on itself: the Service, and what it asked for, may be gone when it matters. */
export function isKept({ description }: FloatingIp): boolean {
  return markIn(description)?.keep === true;
}

function compare(body: FloatingIp, spec: FloatingIpSpec, isOnPort: boolean): Comparison {
  const { address, portId, isElsewhere, description } = body;
  const { owner, service, keep, port } = spec;
  if (isElsewhere && !isOnPort)
    return port === undefined
      ? { same: true }
      : { replace: `${address} is on port ${portId} of others`, order: 'createFirst' };
  // A port takes one at a time.
  if (spec.address !== undefined && !sameAddress(spec.address, address))
    return { replace: `from ${address} to ${spec.address}`, order: 'deleteFirst' };
  // The mark of what is taken over says it, too, and waits for a change.
  const says = keep !== undefined && keep !== isKept(body);
  const moves = port === undefined ? portId !== undefined : !isOnPort;
  if (!says && !moves) return { same: true };
  const summaries = [
    moves && (port === undefined ? `detach floating IP ${address}` : `attach floating IP ${address}`),
    says && `floating IP ${address} ${keep ? 'stays' : 'goes'} when its Service goes`,
  ];
  return {
    changes: [
      {
        what: 'update',
        phase: 'set',
        summary: summaries.filter((one) => typeof one === 'string').join(', '),
        ...(moves && port === undefined && { changesAddress: true }),
        body: {
          ...(moves && { port: port ?? null }),
          ...(says && { description: floatingIpDescription({ owner, service, port: createdOn(description) }, keep) }),
        },
      },
    ],
  };
}

function retained({ description }: FloatingIp, owner: Owner): JsonObject {
  const text = description.replace(/ ?\[[^\]]*\]$/, '');
  return { description: withMark(text, retainedMark(owner, serviceIn(description))) };
}

function isFull(error: unknown): boolean {
  return isCloudError(error) && fullTypes.has(faultOf(error)?.type ?? '');
}
