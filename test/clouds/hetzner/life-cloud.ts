import { systemClock } from '../../../common/process/clock.ts';
import { listen } from '../fake-http.ts';
import type { LifeCloud, LifeMachine } from '../life/life-cloud.ts';
import { createFakeHetzner, robotUser, token } from './fake-hetzner.ts';
import type { FakeServer } from './fake-servers.ts';

/** Servers in a network. */
export async function openHetznerLife(): Promise<LifeCloud> {
  const fake = createFakeHetzner(systemClock());
  const served = await listen(fake);
  const network = fake.addNetwork('k8s');
  const servers = ['hetzner-1', 'hetzner-2', 'hetzner-3'].map((name) => fake.addServer(name, { network: network.id }));
  const machineOf = (server: FakeServer): LifeMachine => ({
    node: server.name,
    providerID: `hcloud://${server.id}`,
    labels: {
      'topology.kubernetes.io/zone': 'fsn1-dc14',
      'node.kubernetes.io/instance-type': 'cpx11',
      'instance.hetzner.cloud/provided-by': 'cloud',
    },
    readdress(address) {
      server.ipv4 = address;
    },
    stop() {
      server.status = 'off';
    },
    remove: () => fake.deleteServer(server.id),
  });
  const callsOf = (url: string) => fake.calls.filter(({ method, path }) => method === 'GET' && path === url).length;
  return {
    served: {
      // As the classic controller's manifests have it.
      cloud: 'hcloud',
      configText: `HCLOUD_TOKEN: ${token}\nHCLOUD_NETWORK: k8s\nHCLOUD_LOAD_BALANCERS_LOCATION: fsn1\n`,
      env: { HCLOUD_ENDPOINT: `${served.url}/v1` },
    },
    machines: servers.map(machineOf),
    changes: () => fake.calls.filter(({ method }) => method !== 'GET').length,
    audits: () => Math.min(callsOf(`/v1/networks/${network.id}`), callsOf('/v1/load_balancers')),
    routes: () =>
      network.routes.map(({ destination, gateway }) => {
        const hop = servers.find(({ privateNets }) => privateNets[0]!.ip === gateway);
        return `${destination} ${hop?.name ?? gateway}`;
      }),
    balancers: () =>
      [...fake.balancers.values()].map((balancer) => ({
        // The annotation wants private addresses.
        members: balancer.targets.flatMap(({ server, use_private_ip }) =>
          use_private_ip ? (servers.find(({ id }) => id === server?.id)?.name ?? String(server?.id)) : [],
        ),
        ports: balancer.services.map(({ listen_port }) => listen_port),
        addresses: [balancer.ipv4, balancer.ipv6, ...balancer.privateNets.map(({ ip }) => ip)],
        removePorts() {
          balancer.services = [];
        },
      })),
    services: { web: { 'load-balancer.hetzner.cloud/use-private-ip': 'true' } },
    checks: ['servers', 'network', 'writing'],
    refuse(refused) {
      const body = { error: { code: 'unauthorized', message: 'unable to authenticate' } };
      fake.fault = refused ? () => ({ status: 401, body }) : undefined;
    },
    secrets: [token, robotUser.password],
    close: () => served.close(),
  };
}
