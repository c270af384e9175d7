import { randomUUID } from 'node:crypto';
import { prefix } from '../../../controller/clouds/huaweicloud/annotations.ts';
import type { LoadBalancerStep } from '../../../controller/clouds/load-balancer-step.ts';
import type { DesiredLoadBalancer, ObservedLoadBalancer } from '../../../controller/clouds/load-balancers.ts';
import type { Json } from '../fake-http.ts';
import { desiredFor, newOwner } from '../suite/desired.ts';
import { type Driven, ensure, refOf, remove, type ServiceRecord } from '../suite/drive.ts';
import type { CloudVm } from '../suite/world.ts';
import type { FakeEip, Wire } from './fake/fake-balancing.ts';
import { answerElb } from './fake/fake-elb.ts';
import { makeBalancer, makeShared } from './fake/fake-elb-balancers.ts';
import { region, subnet } from './fake/fake-huawei.ts';
import { type HuaweiWorld, type HuaweiWorldOptions, huaweiWorld } from './huawei-world.ts';

export type Ask = Partial<Omit<DesiredLoadBalancer, 'annotations'>> & {
  /** Without the prefix. */
  readonly annotations?: Readonly<Record<string, string>>;
};

/** One Service with two ECSs in a fake project. */
export interface BalancerHarness {
  readonly world: HuaweiWorld;
  readonly vms: readonly CloudVm[];
  desired(ask?: Ask): DesiredLoadBalancer;
  /** Until nothing is to be done any more, by one process. */
  settle(ask?: Ask): Promise<Driven>;
  /** The same by a process that has to read everything anew. */
  settleAnew(ask?: Ask): Promise<Driven>;
  remove(ask?: Ask): Promise<Driven>;
  /** Carries out what a process plans that may take over what the classic controller made. */
  adopt(addresses: readonly string[], ask?: Ask): Promise<{ seen: ObservedLoadBalancer | undefined; steps: string[] }>;
  /** Methods and paths of what changed something, since the last time this was asked; without ids. */
  changes(): string[];
  /** The only one. */
  balancer(): Wire;
  /** An EIP that a person has. */
  eip(description?: string): FakeEip;
}

export async function createBalancerHarness(options: HuaweiWorldOptions = {}): Promise<BalancerHarness> {
  const world = huaweiWorld(options);
  const { fake } = world;
  const vms = [await world.createVm(), await world.createVm()];
  const owner = newOwner(world.cluster);
  const record: ServiceRecord = { id: undefined };
  const balancers = (await world.open()).loadBalancers!;

  const harness: BalancerHarness = {
    world,
    vms,
    desired({ annotations = {}, ...ask } = {}) {
      const keys = Object.entries(annotations).map(([name, value]) => [prefix + name, value]);
      return desiredFor(owner, vms, { service: 'shop/web', ...ask, annotations: Object.fromEntries(keys) });
    },
    settle: (ask) => ensure({ world, balancers, desired: harness.desired(ask), record }),
    async settleAnew(ask) {
      const { loadBalancers } = await world.open();
      return ensure({ world, balancers: loadBalancers!, desired: harness.desired(ask), record: { id: undefined } });
    },
    remove: (ask) => remove({ world, balancers, desired: harness.desired(ask), record }),
    async adopt(addresses, ask) {
      const desired = harness.desired(ask);
      const adopt = { clusterName: 'kubernetes', addresses, annotations: desired.annotations };
      const steps: string[] = [];
      const onStep = ({ summary }: LoadBalancerStep) => void steps.push(summary);
      let seen = await world.during(balancers.observe({ ...refOf(desired, record), adopt }));
      const plan = seen?.adopted ? balancers.plan(desired) : undefined;
      if (plan?.steps.length) seen = await world.during(balancers.apply(plan, { permit: () => {}, onStep }));
      return { seen, steps };
    },
    changes: () =>
      fake.calls
        .splice(0)
        .filter(({ method }) => method !== 'GET')
        .map(({ method, path }) => {
          const [, version = '', , ...rest] = path.split('/');
          return [method, version, ...rest.map((one) => (/^[0-9a-f-]{36}$/.test(one) ? '{id}' : one))].join(' ');
        }),
    balancer() {
      const [one, ...others] = fake.balancing.loadbalancers.values();
      if (one === undefined || others.length > 0) throw new Error(`${others.length} more load balancers than one`);
      return one;
    },
    eip(description = '') {
      const id = randomUUID();
      const address = `203.0.113.${200 + fake.balancing.eips.size}`;
      const one: FakeEip = { id, address, type: '5_bgp', bandwidth: {}, alias: 'front', description, on: '' };
      fake.balancing.eips.set(id, one);
      return one;
    },
  };
  return harness;
}

/** What the classic controller makes of a Service with these ports, by the rules of its sources. */
export function makeAsClassic(
  { world, vms }: BalancerHarness,
  ports: readonly (readonly [port: number, nodePort: number])[],
  { isShared = false, on = undefined as FakeEip | undefined } = {},
): Wire {
  const { fake } = world;
  const name = 'k8s_service_kubernetes_shop_web';
  const description = 'Created by the ELB service(shop/web) of the k8s cluster(kubernetes).';
  const made = isShared
    ? makeShared(fake, { name, description, vip_subnet_id: subnet.neutron })
    : makeBalancer(fake, {
        name,
        description,
        vip_subnet_cidr_id: subnet.neutron,
        availability_zone_list: [`${region}a`],
      });
  const one = fake.balancing.loadbalancers.get(String(made['id']))!;
  if (on !== undefined) on.on = one.id;
  const post = (path: string, body: Json): Json => {
    const call = { method: 'POST', path: '', query: new URLSearchParams(), authorization: '', body };
    return answerElb(fake, path.split('/'), call).body as Json;
  };
  for (const [port, nodePort] of ports) {
    const listener = { loadbalancer_id: one.id, name: `web_TCP_${port}`, protocol: 'TCP', protocol_port: port };
    const made = post('listeners', { listener: { ...listener, insert_headers: { 'X-Forwarded-Host': false } } });
    const pool = { loadbalancer_id: one.id, name: `sg_web_TCP_${port}`, protocol: 'TCP', lb_algorithm: 'ROUND_ROBIN' };
    const { id } = post('pools', { pool })['pool'] as { readonly id: string };
    fake.balancing.listeners.get((made['listener'] as Wire).id)!['default_pool_id'] = id;
    const members = vms.map(({ addresses: [address] }) => {
      return { address, protocol_port: nodePort, subnet_cidr_id: subnet.neutron };
    });
    post(`pools/${id}/members/batch-add`, { members });
    const check = { pool_id: id, type: 'TCP', delay: 5, timeout: 3, max_retries: 3 };
    post('healthmonitors', { healthmonitor: check });
  }
  return one;
}
