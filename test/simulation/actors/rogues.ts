import { annotations } from '../../../common/well-known.ts';
import type { Dice } from '../engine/dice.ts';
import { clusterCidr, endpoint } from '../engine/process.ts';
import { rogueNamespace, type Scenario } from '../engine/scenario.ts';
import { nodeOf } from '../judge/node-object.ts';
import type { Cluster } from './cluster.ts';
import type { Machines } from './machines.ts';
import type { Truth } from './truth.ts';

/** Kubelets and users of a namespace that reach for what is not theirs, in some seeds. */
export interface Rogues {
  /** They come beside the honest ones. */
  begin(): void;
  /** Amid the faults: the VMs whose names were claimed end, and held objects are released. Returns what happened. */
  go(): string;
}

/** Ranges that lead elsewhere: everything, metadata, Services, the VMs, all pods, parts of other Nodes' ranges. */
const ranges = [
  '0.0.0.0/1',
  '169.254.169.254/32',
  '10.96.0.0/12',
  '10.0.0.0/24',
  clusterCidr,
  '10.244.0.0/23',
  '10.244.1.7/32',
  '10.243.255.0/24',
];

export function createRogues(
  truth: Truth,
  cluster: Cluster,
  machines: Machines,
  dice: Dice,
  scenario: Pick<Scenario, 'clouds'>,
): Rogues {
  const regions = scenario.clouds.flatMap(({ region, reportOnly }) => (reportOnly === undefined ? [region] : []));
  const services = `/api/v1/namespaces/${rogueNamespace}/services`;
  const claimed: string[] = [];
  let hoards = false;

  function claimRange(): void {
    const name = 'rogue-0';
    truth.rogueRanges.add(name);
    machines.add({ name, region: dice.pick(regions), rogueRange: dice.pick(ranges) });
  }

  /** A machine from elsewhere registers under the name of a VM of ours, and says nothing else about itself. */
  function claimName(): void {
    const name = 'namesake-0';
    claimed.push(truth.cloud.model.create({ name, region: dice.pick(regions) }).id);
    truth.namesakes.add(cluster.register(name, { systemUuid: '' }));
  }

  /** One takes the load balancer that is lent to another namespace; one would leave a load balancer behind. */
  function claimLoadBalancers(): void {
    const metadata = { name: rogueNamespace };
    cluster.ask('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata });
    const shared = truth.cloud.network.loadBalancers.store.all().find(({ name }) => name === 'shared');
    create('grab', { [annotations.loadBalancerId]: shared!.id }, 6000);
    create('hoard', { [annotations.loadBalancerRetain]: 'true' }, 80);
    hoards = true;
  }

  function create(name: string, asks: Readonly<Record<string, string>>, port: number): void {
    const cloud = regions.length > 1 ? { [annotations.cloud]: `${endpoint}/demo/sim-1` } : {};
    cluster.ask('POST', services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: rogueNamespace, annotations: { ...cloud, ...asks } },
      spec: { type: 'LoadBalancer', selector: { app: name }, ports: [{ name: 'p0', protocol: 'TCP', port }] },
    });
  }

  /** A kubelet whose VM is about to end would keep its own Node. */
  function pauseOwn(): string {
    // One that was never found is not deleted, and says nothing while it is paused.
    const isFound = (name: string) => (nodeOf(truth.node(name))?.scope ?? '') !== '';
    const own = machines.all.filter(
      (machine) => machine.otherCloud === '' && machines.running(machine) && isFound(machine.name),
    );
    if (own.length === 0) return 'no kubelet pauses its Node';
    const { name, vmId } = dice.pick(own);
    cluster.patchNode(name, { metadata: { annotations: { [annotations.paused]: 'true' } } });
    truth.cloud.model.terminate(vmId);
    return `the kubelet of ${name} pauses its own Node, and VM ${vmId} ends`;
  }

  /** A person keeps a Node from deletion, and its VM ends. */
  function keepOne(): string {
    const found = machines.all.filter(
      ({ name, otherCloud, vmId }) =>
        otherCloud === '' && truth.vm(vmId) !== undefined && (nodeOf(truth.node(name))?.scope ?? '') !== '',
    );
    // The shortest leases let their Nodes go first.
    const [one] = found.sort((a, b) => a.leaseSeconds - b.leaseSeconds);
    if (one === undefined) return 'no Node is kept';
    truth.keptNodes.add(one.name);
    cluster.keepNodes(truth.keptNodes);
    truth.cloud.model.terminate(one.vmId);
    return `a person keeps Node ${one.name}, and VM ${one.vmId} ends`;
  }

  return {
    begin() {
      if (dice.chance(0.25)) claimRange();
      if (dice.chance(0.25)) claimName();
      if (dice.chance(0.25)) claimLoadBalancers();
    },
    go() {
      for (const id of claimed) if (truth.vm(id) !== undefined) truth.cloud.model.terminate(id);
      if (hoards) cluster.ask('DELETE', `${services}/hoard`);
      return [
        ...(claimed.length > 0 ? [`VM ${claimed.join()} ends, whose name a Node claims`] : []),
        ...(hoards ? ['Service rogue/hoard is deleted'] : []),
        ...(dice.chance(0.25) ? [pauseOwn()] : []),
        ...(dice.chance(0.25) ? [keepOne()] : []),
      ].join('; ');
    },
  };
}
