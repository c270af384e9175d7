import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { compute_v1 } from '@googleapis/compute';
import { systemClock } from '../../../common/process/clock.ts';
import type { LifeBalancer, LifeCloud, LifeMachine } from '../life/life-cloud.ts';
import { configFor, keyFile } from './fake/configuration.ts';
import { refusal } from './fake/fake-api.ts';
import { createFakeGce, type FakeGce, listen, zones } from './fake/fake-gce.ts';

export interface GceLife extends LifeCloud {
  readonly fake: FakeGce;
  readonly url: string;
  /** The file with the key of the service account. */
  readonly keyPath: string;
}

export const gceNodes = ['gce-1', 'gce-2', 'gce-3'] as const;

/** VMs of two zones of one project. */
export async function openGceLife(): Promise<GceLife> {
  const fake = createFakeGce(systemClock());
  fake.operations.durationMs = 700;
  const served = await listen(fake);
  const folder = await mkdtemp(join(tmpdir(), 'mooring-gce-key-'));
  const keyPath = join(folder, 'key.json');
  await writeFile(keyPath, keyFile(fake, served.url), { mode: 0o600 });

  function machineNamed(name: string, at: number): LifeMachine {
    const zone = zones[at % 2]!;
    fake.addVm(name, { in: zone });
    const wire = () => fake.vm(zone, name)!.wire;
    return {
      node: name,
      providerID: `gce://proj/${zone}/${name}`,
      labels: {
        'topology.kubernetes.io/zone': zone,
        'topology.kubernetes.io/region': 'us-central1',
        'node.kubernetes.io/instance-type': 'e2-standard-4',
      },
      readdress(address) {
        wire().networkInterfaces![0]!.accessConfigs![0]!.natIP = address;
      },
      // As a preempted VM is shown.
      stop() {
        wire().status = 'TERMINATED';
      },
      remove: () => fake.deleteVm(zone, name),
    };
  }

  const { resources } = fake.balancing;
  const readsOf = (list: string) =>
    fake.calls.filter(({ method, path }) => method === 'GET' && path.endsWith(list)).length;
  const nameIn = (link: string) => link.slice(link.lastIndexOf('/') + 1);
  /** All that have a backend service share the groups. */
  function balancers(): LifeBalancer[] {
    const grouped = [...fake.balancing.members.values()].flatMap((paths) => [...paths]);
    return [...resources].flatMap(([path, wire]) => {
      if (!path.includes('/forwardingRules/')) return [];
      const { ports, portRange, IPAddress, target } = wire as compute_v1.Schema$ForwardingRule;
      const pool = [...resources].find(([other]) => target?.endsWith(other))?.[1] as compute_v1.Schema$TargetPool;
      return {
        members: (pool?.instances ?? grouped).map(nameIn),
        ports: [...new Set(ports ?? portRange?.split('-'))].map(Number),
        addresses: [IPAddress ?? ''],
        removePorts: () => void resources.delete(path),
      };
    });
  }

  return {
    fake,
    keyPath,
    url: served.url,
    balancers,
    services: {
      web: {},
      inside: { 'networking.gke.io/load-balancer-type': 'Internal' },
      backend: { 'cloud.google.com/l4-rbs': 'enabled' },
    },
    balancerParts: () => [...resources.keys()],
    served: {
      cloud: 'gce',
      configText: configFor(served.url),
      env: { GOOGLE_APPLICATION_CREDENTIALS: keyPath },
    },
    machines: gceNodes.map(machineNamed),
    changes: () =>
      fake.calls.filter(
        ({ method, path }) => method !== 'GET' && /\/compute\/v1\/.*(?<!\/wait|\/listInstances)$/.test(path),
      ).length,
    audits: () => Math.min(readsOf('/global/routes'), readsOf('/forwardingRules')),
    routes: () =>
      [...fake.routes.values()].map((route) => `${route.destRange} ${route.nextHopInstance?.split('/').at(-1)}`),
    checks: ['project', 'permissions for nodes', 'permissions for routes', 'network'],
    refuse(refused) {
      const isCompute = (path: string) => path.startsWith('/compute/');
      fake.fault = refused
        ? ({ path }) => (isCompute(path) ? refusal(401, 'authError', 'Invalid Credentials') : undefined)
        : undefined;
    },
    secrets: ['ya29', 'PRIVATE KEY', 'assertion='],
    async close() {
      await served.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
