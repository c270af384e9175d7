import { systemClock } from '../../../common/process/clock.ts';
import { listen } from '../fake-http.ts';
import type { LifeCloud, LifeMachine } from '../life/life-cloud.ts';
import { endpoints } from './alibaba-world.ts';
import { accessKey, createFakeAlibaba } from './fake/fake-alibaba.ts';
import type { FakeInstance } from './fake/fake-region.ts';

export const alibabaNodes = ['alibaba-1', 'alibaba-2', 'alibaba-3'] as const;

/** ECS instances in a VPC with two route tables. */
export async function openAlibabaLife(): Promise<LifeCloud> {
  const fake = createFakeAlibaba(systemClock());
  fake.routeTables.set('vtb-bp1second', []);
  fake.busyMs = 300;
  const served = await listen(fake);
  const instances = alibabaNodes.map((name) => fake.addInstance(name));
  const nameOf = (id: unknown) => instances.find((one) => one.id === id)?.name ?? String(id);
  const machineOf = (one: FakeInstance): LifeMachine => ({
    node: one.name,
    providerID: `cn-hangzhou.${one.id}`,
    labels: {
      'topology.kubernetes.io/region': 'cn-hangzhou',
      'topology.kubernetes.io/zone': 'cn-hangzhou-h',
      'node.kubernetes.io/instance-type': 'ecs.g7.large',
    },
    readdress(address) {
      one.publicAddress = address;
    },
    stop() {
      one.status = 'Stopped';
    },
    remove: () => void fake.instances.delete(one.id),
  });
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const global = {
    accessKeyID: base64(accessKey.id),
    accessKeySecret: base64(accessKey.secret),
    region: fake.id,
    vpcid: fake.vpc,
    routeTableIDs: [...fake.routeTables.keys()].join(),
  };
  return {
    served: {
      cloud: 'alibaba',
      configText: `Global:\n${Object.entries(global)
        .map(([name, value]) => `  ${name}: ${value}\n`)
        .join('')}`,
      env: endpoints(served.url),
    },
    machines: instances.map(machineOf),
    changes: () => fake.calls.filter((action) => !/^(Describe|Get|List)/.test(action)).length,
    audits: () => fake.calls.filter((action) => action === 'DescribeRouteEntryList').length / 2,
    routes() {
      const [first = [], second = []] = fake.routeTables.values();
      const shown = [first, second].map((table) => table.map((one) => `${one.destination} ${nameOf(one.nextHop)}`));
      // A route of one table alone is none.
      return shown[0]!.filter((route) => shown[1]!.includes(route));
    },
    balancers: () =>
      [...fake.balancers.values()].map(({ wire, listeners, groups }) => ({
        members: [...groups.values()][0]?.servers.map((server) => nameOf(server['ServerId'])) ?? [],
        ports: [...listeners.values()].map(({ port }) => port),
        addresses: [String(wire['Address'])],
        removePorts: () => listeners.clear(),
      })),
    checks: ['credentials', 'instances', 'route tables', 'load balancers'],
    refuse(refused) {
      if (refused) fake.keys.clear();
      else fake.keys.set(accessKey.id, { secret: accessKey.secret });
    },
    secrets: [accessKey.secret, base64(accessKey.secret)],
    close: () => served.close(),
  };
}
