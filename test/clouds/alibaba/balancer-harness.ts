import { prefix } from '../../../controller/clouds/alibaba/annotations.ts';
import type { LoadBalancerStep } from '../../../controller/clouds/load-balancer-step.ts';
import type {
  AdoptionProof,
  DesiredLoadBalancer,
  LoadBalancers,
  ObservedLoadBalancer,
} from '../../../controller/clouds/load-balancers.ts';
import { desiredFor, newOwner } from '../suite/desired.ts';
import { type Driven, ensure, refOf, remove, type ServiceRecord } from '../suite/drive.ts';
import type { CloudVm } from '../suite/world.ts';
import { type AlibabaWorld, alibabaWorld } from './alibaba-world.ts';
import type { FakeBalancer } from './fake/fake-region.ts';

export type Ask = Partial<Omit<DesiredLoadBalancer, 'annotations'>> & {
  /** Without the prefix. */
  readonly annotations?: Readonly<Record<string, string>>;
};

export interface Adoption {
  readonly seen: ObservedLoadBalancer | undefined;
  /** Summaries of what was done. */
  readonly steps: readonly string[];
}

/** One Service with two instances in a fake region. */
export interface BalancerHarness {
  readonly world: AlibabaWorld;
  readonly vms: readonly CloudVm[];
  readonly owner: DesiredLoadBalancer['owner'];
  desired(ask?: Ask): DesiredLoadBalancer;
  /** Until nothing is to be done any more, by one process. */
  settle(ask?: Ask): Promise<Driven>;
  remove(ask?: Ask): Promise<Driven>;
  /** Another process goes on, which knows nothing but the record of the Service. */
  restart(): Promise<void>;
  /** Carries out what a process plans that may take over what the classic controller made. */
  adopt(proof: Partial<AdoptionProof>, ask?: Ask): Promise<Adoption>;
  /** Actions that change something, since the last time this was asked. */
  changes(): string[];
  /** The only one. */
  balancer(): FakeBalancer;
}

export async function createBalancerHarness(env: Readonly<Record<string, string>> = {}): Promise<BalancerHarness> {
  const world = alibabaWorld({ env });
  const { fake } = world;
  const vms = [await world.createVm(), await world.createVm()];
  const owner = newOwner(world.cluster);
  const record: ServiceRecord = { id: undefined };
  const { loadBalancers } = await world.open();
  let balancers: LoadBalancers = loadBalancers!;

  const harness: BalancerHarness = {
    world,
    vms,
    owner,
    desired({ annotations = {}, ...ask } = {}) {
      const keys = Object.entries(annotations).map(([name, value]) => [prefix + name, value]);
      return desiredFor(owner, vms, { service: 'shop/web', ...ask, annotations: Object.fromEntries(keys) });
    },
    settle: (ask) => ensure({ world, balancers, desired: harness.desired(ask), record }),
    remove: (ask) => remove({ world, balancers, desired: harness.desired(ask), record }),
    async restart() {
      balancers = (await world.open()).loadBalancers!;
    },
    async adopt(proof, ask) {
      const desired = harness.desired(ask);
      const adopt = { clusterName: 'kubernetes', addresses: [], annotations: desired.annotations, ...proof };
      const steps: string[] = [];
      const onStep = ({ summary }: LoadBalancerStep) => void steps.push(summary);
      let seen = await world.during(balancers.observe({ ...refOf(desired, record), adopt }));
      const plan = seen?.adopted ? balancers.plan(desired) : undefined;
      if (plan?.steps.length) seen = await world.during(balancers.apply(plan, { permit: () => {}, onStep }));
      return { seen, steps };
    },
    changes: () => fake.calls.splice(0).filter((action) => !/^(Describe|Get|List)/.test(action)),
    balancer() {
      const [one, ...others] = fake.balancers.values();
      if (one === undefined || others.length > 0) throw new Error(`${others.length} more load balancers than one`);
      return one;
    },
  };
  return harness;
}

/** What the classic controller makes of a Service with these ports, by the rules of its sources. */
export function makeAsClassic(
  { world, vms, owner }: BalancerHarness,
  ports: readonly (readonly [port: number, nodePort: number])[],
  { isReused = false } = {},
): FakeBalancer {
  const { fake } = world;
  const name = `a${owner.service.replaceAll('-', '')}`.slice(0, 32);
  const id = fake.nextId('lb');
  const one: FakeBalancer = {
    id,
    listeners: new Map(),
    groups: new Map(),
    busyUntil: 0,
    tags: new Map([
      isReused ? ['kubernetes.reused.by.user', 'true'] : ['kubernetes.do.not.delete', name],
      ['ack.aliyun.com', 'clusterid'],
    ]),
    wire: {
      LoadBalancerName: name,
      Address: '121.40.7.7',
      AddressType: 'internet',
      AddressIPVersion: 'ipv4',
      DeleteProtection: 'on',
      ModificationProtectionStatus: 'ConsoleProtection',
      LoadBalancerStatus: 'active',
      InstanceChargeType: 'PayBySpec',
      LoadBalancerSpec: 'slb.s1.small',
      InternetChargeTypeAlias: 'paybytraffic',
      VSwitchId: '',
      Bandwidth: 5120,
    },
  };
  for (const [port, nodePort] of ports) {
    const description = `k8s/${nodePort}/web/shop/clusterid`;
    const servers = vms.map(({ providerID }) => ({
      ServerId: providerID.split('.')[1]!,
      Port: nodePort,
      Weight: 100,
      Type: 'ecs',
      ServerIp: '',
      Description: description,
    }));
    const group = { id: fake.nextId('rsp'), name: description, servers, tags: new Map() };
    one.groups.set(group.id, group);
    one.listeners.set(`tcp:${port}`, {
      port,
      protocol: 'tcp',
      isStarted: true,
      tags: new Map(),
      wire: {
        VServerGroupId: group.id,
        Description: `k8s/${port}/web/shop/clusterid`,
        Scheduler: 'rr',
        Bandwidth: -1,
        PersistenceTimeout: 0,
        HealthCheck: 'on',
        HealthCheckType: 'tcp',
        AclStatus: 'off',
      },
    });
  }
  fake.balancers.set(id, one);
  return one;
}
