import { systemClock } from '../../../common/process/clock.ts';
import { listen } from '../fake-http.ts';
import type { LifeCloud, LifeMachine } from '../life/life-cloud.ts';
import { createFakeDigitalOcean, token } from './fake/fake-digitalocean.ts';
import type { FakeDroplet } from './fake/fake-droplets.ts';

/** Droplets in a VPC; there are no routes. */
export async function openDigitalOceanLife(): Promise<LifeCloud> {
  const fake = createFakeDigitalOcean(systemClock());
  fake.activeMs = 3000;
  fake.busyMs = 1000;
  const served = await listen(fake);
  const droplets = ['droplet-1', 'droplet-2', 'droplet-3'].map((name) => fake.addDroplet(name));
  const machineOf = (droplet: FakeDroplet): LifeMachine => ({
    node: droplet.name,
    providerID: `digitalocean://${droplet.id}`,
    labels: { 'topology.kubernetes.io/region': 'nyc3', 'node.kubernetes.io/instance-type': 's-2vcpu-2gb' },
    readdress(address) {
      droplet.networks.v4.find(({ type }) => type === 'public')!['ip_address'] = address;
    },
    stop() {
      droplet.status = 'off';
    },
    remove: () => void fake.droplets.delete(droplet.id),
  });
  return {
    served: {
      cloud: 'digitalocean',
      configText: `DO_ACCESS_TOKEN: ${token}\nDO_CLUSTER_VPC_ID: ${fake.vpc}\n`,
      env: { DO_OVERRIDE_URL: served.url },
    },
    machines: droplets.map(machineOf),
    changes: () => fake.calls.filter(({ method }) => method !== 'GET').length,
    audits: () => fake.calls.filter(({ path }) => path === '/v2/load_balancers').length,
    routes: () => undefined,
    balancers: () =>
      [...fake.balancers.values()].map(({ wire, address }) => ({
        members: wire.droplet_ids.map((id) => fake.droplets.get(id)?.name ?? String(id)),
        ports: wire.forwarding_rules.map((rule) => Number(rule['entry_port'])),
        addresses: [address.ip],
        removePorts() {
          wire.forwarding_rules = [];
        },
      })),
    checks: ['droplets', 'VPC', 'load balancers', 'writing'],
    refuse(refused) {
      const body = { id: 'unauthorized', message: 'Unable to authenticate you' };
      fake.fault = refused ? () => ({ status: 401, body }) : undefined;
    },
    secrets: [token],
    close: () => served.close(),
  };
}
