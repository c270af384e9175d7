import { isCloudError } from '../../../../common/cloud-error.ts';
import type { Found, Query, Reader, ReadIo, Reading } from '../../../engine/resource.ts';
import type { Urgency } from '../../urgency.ts';
import type { Query as HttpQuery } from '../client.ts';
import { faultOf } from '../fault.ts';
import { markIn } from '../load-balancers/names.ts';
import { type FloatingIp, floatingIpFields, foundFloatingIp, linkFloatingIps, readFloatingIp } from './floating-ip.ts';
import type { NetworkFactsReader } from './network-facts.ts';
import { networkKinds } from './network-kinds.ts';
import type { Neutron } from './neutron.ts';
import {
  foundGroup,
  foundPorts,
  groupFields,
  isOfServices,
  linkGroups,
  portFields,
  readGroup,
  readPort,
  type SecurityGroup,
} from './security-group.ts';

export interface NetworkReaderParts {
  readonly neutron: Neutron;
  readonly managesGroups: boolean;
  readonly facts: NetworkFactsReader;
}

interface GroupsAndPorts {
  readonly groups: readonly SecurityGroup[];
  /** With what is on ports. */
  readonly found: readonly Found[];
  /** Undefined: not read, since no group is on any. */
  readonly ports: readonly unknown[] | undefined;
}

/** Floating IPs in one list; groups and ports in one each, where they are managed or some were left. */
export function createNetworkReader({ neutron, managesGroups, facts }: NetworkReaderParts): Reader {
  /** Whether earlier configurations may have left groups. */
  let mayHaveGroups = true;

  async function floatingIps(query: HttpQuery, io: ReadIo, urgency?: Urgency): Promise<FloatingIp[]> {
    try {
      return (await neutron.list('floatingips', query, floatingIpFields, io, urgency)).map(readFloatingIp);
    } catch (error) {
      // A Neutron without routers has no floating IPs.
      if (isCloudError(error) && faultOf(error)?.type === 'HTTPNotFound') return [];
      throw error;
    }
  }

  async function groupsAndPorts(query: HttpQuery, io: ReadIo, urgency?: Urgency): Promise<GroupsAndPorts> {
    const listed = neutron.list('security-groups', query, groupFields, io, urgency).catch((error: unknown) => {
      // Who does not manage groups may go without the right to see them.
      const mayNot = isCloudError(error) && (error.kind === 'Unauthorized' || error.kind === 'Forbidden');
      if (mayNot && !managesGroups) return [];
      throw error;
    });
    const list = () => neutron.list('ports', [], portFields, io, urgency);
    const [groups, atOnce] = await Promise.all([listed.then((all) => all.map(readGroup)), managesGroups && list()]);
    const ports = atOnce || (groups.some(isMarked) ? await list() : undefined);
    return { groups, found: [...groups.map(foundGroup), ...foundPorts((ports ?? []).map(readPort), groups)], ports };
  }

  /** By their marks, by the addresses that are named, and then what is known and was not shown by that. */
  async function floatingIpsOf({ ids, slots, search }: Query, io: ReadIo): Promise<Reading> {
    const texts = valuesOf(slots, networkKinds.floatingIp);
    if (search && texts.length === 0)
      return { found: (await floatingIps([], io)).map(foundFloatingIp), complete: [networkKinds.floatingIp] };
    const marks = texts.flatMap((text) => [text, text.replace(/\]$/, ' keep]')]);
    const named = valuesOf(slots, 'address');
    const shown = (
      await Promise.all([
        search ? floatingIps(queryOf('description', marks), io) : [],
        named.length > 0 ? floatingIps(queryOf('floating_ip_address', named), io) : [],
      ])
    ).flat();
    const vips = idsOf(ids, networkKinds.vipPort).filter((id) => !shown.some(({ portId }) => portId === id));
    const onVips = vips.length > 0 ? await floatingIps(queryOf('port_id', vips), io) : [];
    const seen = new Set([...shown, ...onVips].map(({ id }) => id));
    const missing = idsOf(ids, networkKinds.floatingIp).filter((id) => !seen.has(id));
    const byId = missing.length > 0 ? await floatingIps(queryOf('id', missing), io) : [];
    const found = new Map([...shown, ...onVips, ...byId].map((one) => [one.id, foundFloatingIp(one)]));
    return { found: [...found.values()] };
  }

  async function groupsOf({ ids, slots, search }: Query, io: ReadIo): Promise<Reading> {
    const known = idsOf(ids, networkKinds.group);
    if (known.length === 0 && !(managesGroups && search)) return { found: [] };
    const query = search ? queryOf('name', valuesOf(slots, networkKinds.group)) : queryOf('id', known);
    const { found, ports } = await groupsAndPorts(query, io);
    return { found, ...(ports !== undefined && { complete: [networkKinds.serverPort] }) };
  }

  return {
    kinds: [networkKinds.floatingIp, networkKinds.group, networkKinds.member, networkKinds.serverPort],
    async all(_cluster, io) {
      const [floating, secured] = await Promise.all([
        floatingIps([], io, 'refresh'),
        managesGroups || mayHaveGroups ? groupsAndPorts([], io, 'refresh') : undefined,
        facts.read(io),
      ]);
      mayHaveGroups = secured?.groups.some(isOfServices) === true;
      return [...floating.map(foundFloatingIp), ...(secured?.found ?? [])];
    },
    async of(query, io) {
      const first = facts.last === undefined && facts.read(io);
      const [floating, secured] = await Promise.all([floatingIpsOf(query, io), groupsOf(query, io), first]);
      return {
        found: [...floating.found, ...secured.found],
        complete: [...(floating.complete ?? []), ...(secured.complete ?? [])],
        isFresh: true,
      };
    },
  };
}

/** One reader of load balancers and of what Neutron keeps for them: only together they tell what is on a VIP. */
export function joinReaders(balancers: Reader, network: Reader): Reader {
  return {
    ...balancers,
    kinds: [...balancers.kinds, ...network.kinds, networkKinds.onVip],
    async all(cluster, io) {
      const all = await Promise.all([balancers.all(cluster, io), network.all(cluster, io)]);
      return linkGroups(linkFloatingIps(all.flat(), cluster));
    },
    async of(query, io) {
      const first = await balancers.of(query, io);
      // Nothing but its place tells of a floating IP that others attached.
      const vips = first.found.filter(({ kind }) => kind === networkKinds.vipPort);
      const ids = new Map([...query.ids, ...vips].map(({ kind, id }) => [`${kind} ${id}`, { kind, id }]));
      const second = await network.of({ ...query, ids: [...ids.values()] }, io);
      return {
        found: linkGroups(linkFloatingIps([...first.found, ...second.found], query.owner.cluster)),
        complete: [...(first.complete ?? []), ...(second.complete ?? [])],
        isFresh: first.isFresh === true && second.isFresh === true,
      };
    },
  };
}

function isMarked({ description }: SecurityGroup): boolean {
  return markIn(description)?.service !== undefined;
}

function queryOf(name: string, values: readonly string[]): HttpQuery {
  return values.map((value) => [name, value] as const);
}

function idsOf(ids: Query['ids'], kind: string): readonly string[] {
  return ids.flatMap((one) => (one.kind === kind ? [one.id] : []));
}

/** Of slots such as `address 203.0.113.7`. */
function valuesOf(slots: readonly string[], what: string): readonly string[] {
  return slots.flatMap((slot) => (slot.startsWith(`${what} `) ? [slot.slice(what.length + 1)] : []));
}
