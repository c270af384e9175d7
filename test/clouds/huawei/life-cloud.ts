import { systemClock } from '../../../common/process/clock.ts';
import { prefix } from '../../../controller/clouds/huaweicloud/annotations.ts';
import { listen } from '../fake-http.ts';
import type { LifeCloud, LifeMachine } from '../life/life-cloud.ts';
import { firstOf, type Wire } from './fake/fake-balancing.ts';
import { accessKey, createFakeHuawei, region, vpcId } from './fake/fake-huawei.ts';
import type { FakeProject } from './fake/fake-project.ts';
import type { FakeServer } from './fake/fake-server.ts';

export const huaweiNodes = ['huawei-1', 'huawei-2', 'huawei-3'] as const;

/** ECSs in a VPC with one route table and one subnet. */
export async function openHuaweiLife(
  options: Partial<Pick<FakeProject, 'deletesUsedListeners'>> = {},
): Promise<LifeCloud> {
  const fake = Object.assign(createFakeHuawei(systemClock()), options);
  const served = await listen(fake);
  const servers = huaweiNodes.map((name) => fake.addServer(name));
  const machineOf = (server: FakeServer): LifeMachine => ({
    node: server.name,
    providerID: `huaweicloud://${server.id}`,
    labels: {
      'topology.kubernetes.io/region': region,
      'topology.kubernetes.io/zone': server.zone,
      'node.kubernetes.io/instance-type': server.flavor,
    },
    readdress(address) {
      server.elastic = address;
    },
    stop() {
      server.status = 'SHUTOFF';
    },
    remove: () => void fake.servers.delete(server.id),
  });
  const keys = `access-key=${accessKey.id}\nsecret-key=${accessKey.secret}\n`;
  return {
    served: {
      cloud: 'huaweicloud',
      configText: `[Global]\nregion=${region}\n${keys}\n[Vpc]\nid=${vpcId}\n`,
      env: { HUAWEICLOUD_ENDPOINT: served.url },
    },
    machines: servers.map(machineOf),
    changes: () => fake.calls.filter(({ method }) => method !== 'GET').length,
    audits: () => fake.calls.filter(({ path }) => path.endsWith('/routetables')).length,
    routes: () =>
      [...fake.tables.values()].flatMap(({ routes }) =>
        routes.map(({ destination, nexthop }) => `${destination} ${servers.find(({ id }) => id === nexthop)?.name}`),
      ),
    balancers: () =>
      [...fake.balancing.loadbalancers.values()].map((one) => {
        const { listeners, pools, members, eips } = fake.balancing;
        const isOn = (each: Wire) => firstOf(each, 'loadbalancers') === one.id;
        const pool = [...pools.values()].find(isOn);
        const mine = [...members.values()].filter((each) => each.pool === pool?.id);
        const eip = [...eips.values()].find(({ on }) => on === one.id);
        return {
          members: mine.map((each) => servers.find(({ id }) => id === each['instance_id'])?.name ?? 'unknown'),
          ports: [...listeners.values()].filter(isOn).map((each) => Number(each['protocol_port'])),
          addresses: [eip?.address ?? String(one['vip_address'])],
          removePorts() {
            for (const each of listeners.values()) if (isOn(each)) listeners.delete(each.id);
          },
        };
      }),
    services: {
      inner: {},
      public: { [`${prefix}class`]: 'shared', [`${prefix}eip-auto-create-option`]: '{"bandwidth_size":5}' },
    },
    checks: ['project', 'servers', 'VPC', 'route tables', 'load balancers'],
    refuse(refused) {
      const body = { error_code: 'APIGW.0301', error_msg: 'Incorrect IAM authentication information', request_id: 'r' };
      fake.fault = refused ? () => ({ status: 401, body }) : undefined;
    },
    secrets: [accessKey.secret],
    close: () => served.close(),
  };
}
