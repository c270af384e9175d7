import { randomUUID } from 'node:crypto';
import type { LifeBalancer, LifeCloud, LifeMachine } from '../life/life-cloud.ts';
import type { FakeBalancer } from './fake/fake-octavia-model.ts';
import { password, startFakeOpenStack } from './fake/fake-openstack.ts';
import type { FakeOctavia } from './fake/octavia-state.ts';
import type { FakeOpenStack } from './fake/openstack-state.ts';
import { fakeOpenStack, networkId, routerId, subnetId } from './fake-world.ts';
import { fakeOctaviaWorld } from './octavia-world.ts';

export interface OpenStackLife extends LifeCloud {
  readonly fake: FakeOpenStack;
  readonly octavia: FakeOctavia;
}

export const openStackNodes = ['openstack-1', 'openstack-2', 'openstack-3'] as const;

/** Servers of one network, a router with routes, and Octavia. */
export async function openOpenStackLife(): Promise<OpenStackLife> {
  const fake = fakeOpenStack(await startFakeOpenStack());
  const { octavia, edge } = fakeOctaviaWorld(fake);
  octavia.looks = 2;
  fake.flavors.set('f1', 'm1.small');
  const router = fake.routers.get(routerId)!;
  const nodes = new Map<string, string>();

  function machineNamed(name: string, at: number): LifeMachine {
    const [id, address] = [randomUUID(), `10.20.0.${at + 11}`];
    const addressesOf = (...external: readonly string[]) => ({
      'k8s-net': [
        { addr: address, type: 'fixed' as const },
        ...external.map((addr) => ({ addr, type: 'floating' as const })),
      ],
    });
    const flavor = { id: 'f1', name: 'm1.small' };
    const addresses = addressesOf(`203.0.113.${at + 200}`);
    fake.servers.set(id, { id, name, status: 'ACTIVE', zone: 'nova', flavor, addresses });
    fake.ports.push({ id: `port-${id}`, deviceId: id, networkId, subnetId, ips: [address] });
    nodes.set(address, name);
    const change = (fields: object) => fake.servers.set(id, { ...fake.servers.get(id)!, ...fields });
    return {
      node: name,
      providerID: `openstack:///${id}`,
      labels: {
        'topology.kubernetes.io/zone': 'nova',
        'topology.kubernetes.io/region': 'RegionOne',
        'node.kubernetes.io/instance-type': 'm1.small',
      },
      readdress: (external) => void change({ addresses: addressesOf(external) }),
      stop: () => void change({ status: 'SHUTOFF' }),
      remove() {
        fake.servers.delete(id);
        const port = fake.ports.findIndex(({ deviceId }) => deviceId === id);
        fake.ports.splice(port, 1);
      },
    };
  }

  const nodeAt = (address: unknown) => nodes.get(String(address)) ?? String(address);
  const sent = (method: string, end: string) =>
    fake.calls.filter((call) => call.method === method && call.path.endsWith(end)).length;
  function addressesOf({ fields }: FakeBalancer): string[] {
    const floating = [...edge.floatingIps.values()].find(({ portId }) => portId === fields['vip_port_id']);
    return [floating?.address ?? String(fields['vip_address'])];
  }
  const balancers = (): LifeBalancer[] =>
    [...octavia.balancers.values()].map((balancer) => ({
      members: [
        ...new Set(balancer.pools.flatMap(({ members }) => members.map(({ fields }) => fields['address']))),
      ].map(nodeAt),
      ports: balancer.listeners.map(({ fields }) => Number(fields['protocol_port'])),
      addresses: addressesOf(balancer),
      removePorts: () => void balancer.listeners.splice(0),
    }));

  return {
    fake,
    octavia,
    balancers,
    served: {
      cloud: 'openstack',
      configText: `[Global]
auth-url = ${fake.authUrl}/v3
username = k8s
password = ${password}
domain-name = Default
tenant-name = k8s
region = RegionOne
[Networking]
public-network-name = public
[Route]
router-id = ${routerId}
[LoadBalancer]
subnet-id = ${subnetId}
create-monitor = true
`,
      env: {},
    },
    services: { web: {}, inside: { 'service.beta.kubernetes.io/openstack-internal-load-balancer': 'true' } },
    balancerParts: () => [...edge.floatingIps.values()].map(({ address }) => address),
    machines: openStackNodes.map(machineNamed),
    changes: () => fake.calls.filter(({ method, service }) => method !== 'GET' && service !== 'identity').length,
    audits: () => Math.min(sent('GET', '/lbaas/loadbalancers'), sent('GET', `/routers/${routerId}`)),
    routes: () => router.routes.map(({ destination, nexthop }) => `${destination} ${nodeAt(nexthop)}`),
    checks: ['servers', 'router'],
    refuse(refused) {
      fake.fault = refused
        ? (_, response) => {
            response.writeHead(401, { 'content-type': 'application/json' });
            response.end(JSON.stringify({ error: { code: 401, message: 'The request requires authentication.' } }));
            return 'answered';
          }
        : undefined;
    },
    secrets: [password],
    close: () => fake.close(),
  };
}
