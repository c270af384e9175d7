import { randomUUID } from 'node:crypto';
import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import { keys } from '../../../controller/clouds/openstack/load-balancers/annotations.ts';
import {
  classicFloatingIpDescription,
  classicName,
  markIn,
} from '../../../controller/clouds/openstack/load-balancers/names.ts';
import { tag } from '../../../controller/clouds/openstack/load-balancers/tags.ts';
import type { CloudCapabilities, InventoryItem } from '../suite/world.ts';
import { addFloatingIps, type FakeEdge, floatingIpFor } from './fake/fake-floating-ips.ts';
import { addOctavia } from './fake/fake-octavia.ts';
import { balancerJson, type FakeBalancer, type FakePool, thing, timestamp } from './fake/fake-octavia-model.ts';
import type { FakeOctavia } from './fake/octavia-state.ts';
import type { FakeOpenStack } from './fake/openstack-state.ts';
import { networkId, subnetId } from './fake-world.ts';
import type { OctaviaWorld } from './openstack-world.ts';

/** Kinds that only `manage-security-groups` creates. */
export const withGroups = {
  'security group': 'test/clouds/openstack/conformance.test.ts',
  'group member': 'test/clouds/openstack/conformance.test.ts',
};

export const octaviaCapabilities: NonNullable<CloudCapabilities['loadBalancers']> = {
  protocols: ['TCP', 'UDP', 'SCTP'],
  sourceRanges: true,
  sessionAffinity: true,
  uniqueNames: false,
  attach: true,
  drains: true,
  retain: true,
  refusesMembers: false,
  calls: { first: 2, further: 2, member: 2, removal: 2 },
  createdElsewhere: { ...withGroups, 'floating IP on VIP': 'test/clouds/openstack/conformance.test.ts' },
};

/** Follows [Global] of a cloud.conf: with health monitors, so that there are changes of them. */
export const octaviaConfig = `[LoadBalancer]
create-monitor = true
`;

type Json = Record<string, unknown>;

const theirs = { team: 'other' };
const tagsFor = (consent: string | undefined) =>
  consent ? [tag(ownerTags.consent, consent)] : [tag('team', theirs.team)];

/** What names an owner is one word, so that two runs can be compared. */
export function plainName(name: unknown): string {
  return String(name).replaceAll(/web-[0-9a-f]{8}/g, 'web-ID');
}

export interface FakeOctaviaWorld extends OctaviaWorld {
  readonly octavia: FakeOctavia;
  readonly edge: FakeEdge;
}

/** One that stands in a fake OpenStack, seen and touched without its API. */
export function fakeOctaviaWorld(fake: FakeOpenStack): FakeOctaviaWorld {
  const octavia = addOctavia(fake);
  const edge = addFloatingIps(fake);
  const poolText = ({ fields, members, monitor }: FakePool) =>
    `${String(fields['protocol'])} of ${members.length}, ${monitor ? String(monitor.fields['type']) : 'unchecked'}`;
  return {
    octavia,
    edge,
    async inventory() {
      for (const one of edge.floatingIps.values())
        if (!fake.ports.some(({ id }) => id === one.portId)) one.portId = null;
      const items: InventoryItem[] = [];
      for (const one of octavia.balancers.values()) {
        const name = plainName(one.fields['name']);
        items.push({ kind: 'load balancer', name });
        for (const { fields, poolId } of one.listeners) {
          items.push({
            kind: 'listener',
            name:
              `${name} ${String(fields['protocol'])} ${String(fields['protocol_port'])} ` +
              `${poolId ? 'to a pool' : 'to nowhere'}`,
          });
        }
        for (const pool of one.pools) items.push({ kind: 'pool', name: `${name} ${poolText(pool)}` });
      }
      for (const { description, portId } of edge.floatingIps.values())
        items.push(...floatingItems(description, portId));
      for (const { description } of edge.groups.values())
        items.push({ kind: 'security group', name: ownerWord(description) });
      for (const { deviceOwner, securityGroups = [] } of fake.ports) {
        if (deviceOwner === 'Octavia') items.push({ kind: 'port', name: 'of a VIP' });
        for (const _ of securityGroups) items.push({ kind: 'group member', name: 'a port' });
      }
      return items;
    },
    async createForeignLoadBalancer(name, consent) {
      const port = {
        id: randomUUID(),
        deviceId: 'theirs',
        deviceOwner: 'Octavia',
        networkId,
        subnetId,
        ips: [`10.20.250.${octavia.balancers.size + 1}`],
      };
      fake.ports.push(port);
      const made: FakeBalancer = {
        ...thing(
          {
            name,
            description: '',
            provider: 'amphora',
            vip_address: port.ips[0],
            vip_port_id: port.id,
            vip_subnet_id: subnetId,
            tags: tagsFor(consent),
          },
          'ACTIVE',
        ),
        listeners: [],
        pools: [],
        looksLeft: 0,
        becomes: 'ACTIVE' as const,
      };
      const pool: FakePool = {
        ...thing(
          { name: 'their-pool', protocol: 'TCP', lb_algorithm: 'ROUND_ROBIN', session_persistence: null, tags: [] },
          'ACTIVE',
        ),
        members: [],
        monitor: undefined,
      };
      made.pools.push(pool);
      made.listeners.push({
        ...thing({ name: 'theirs', protocol: 'TCP', protocol_port: 9000, tags: [] }, 'ACTIVE'),
        poolId: pool.id,
      });
      octavia.balancers.set(made.id, made);
      return made.id;
    },
    async describeLoadBalancer(id) {
      const one = octavia.balancers.get(id);
      if (!one) return undefined;
      const plain = ({ updated_at: _, provisioning_status: __, ...rest }: Json) => rest;
      const { listeners, pools } = one;
      return JSON.stringify([
        plain({ ...balancerJson(one) }),
        listeners.map(({ fields, poolId }) => [plain(fields), poolId]),
        pools.map(({ fields, members }) => [plain(fields), members.length]),
      ]);
    },
    async deleteLoadBalancer(id) {
      const one = octavia.balancers.get(id);
      octavia.balancers.delete(id);
      const at = fake.ports.findIndex((port) => port.id === one?.fields['vip_port_id']);
      if (at >= 0) fake.ports.splice(at, 1);
    },
    async stripMarks({ id }) {
      const described = edge.floatingIps.get(id) ?? edge.groups.get(id);
      if (described !== undefined) {
        described.description = described.description.replace(/ \[mooring .*\]$/, '');
        return true;
      }
      const all = [...octavia.balancers.values()].flatMap((one) => [one, ...one.listeners, ...one.pools]);
      const marked = all.find((one) => one.id === id);
      if (marked === undefined) return false;
      marked.fields['tags'] = [];
      marked.fields['updated_at'] = timestamp();
      return true;
    },
    async markAsClassic({ id }, desired) {
      const balancer = octavia.balancers.get(id)!;
      const name = classicName(desired);
      Object.assign(balancer.fields, { name, tags: [name] });
      for (const { fields } of balancer.listeners) fields['tags'] = [name];
      for (const { fields } of balancer.pools) fields['tags'] = [];
      for (const { fields } of balancer.pools.flatMap(({ members }) => members)) fields['tags'] = [];
      for (const one of edge.floatingIps.values())
        if (one.portId === balancer.fields['vip_port_id']) one.description = classicFloatingIpDescription(desired);
    },
    freeAddress: async (consent) => floatingIpFor(fake, edge, { tags: tagsFor(consent) }).address,
    close: async () => {},
  };
}

/** The same with Services that name a floating IP, and a port for the VIP, which are there. */
export function octaviaWithExamples(fake: FakeOpenStack, cluster: string): FakeOctaviaWorld {
  const world = fakeOctaviaWorld(fake);
  const { address } = floatingIpFor(fake, world.edge, { tags: tagsFor(`${cluster}/default`) });
  const port = { id: randomUUID(), deviceId: '', deviceOwner: '', networkId, subnetId, ips: ['10.20.251.1'] };
  fake.ports.push(port);
  return { ...world, examples: [{ address }, { annotations: { [keys.portId]: port.id } }] };
}

function ownerWord(description: string): string {
  return markIn(description) === undefined ? 'of others' : 'of a cluster';
}

function floatingItems(description: string, portId: unknown): InventoryItem[] {
  const name = ownerWord(description);
  return [{ kind: 'floating IP', name }, ...(portId ? [{ kind: 'attached floating IP', name }] : [])];
}
