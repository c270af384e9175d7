import { createDice, type Dice } from '../engine/dice.ts';
import type { Scenario } from '../engine/scenario.ts';
import { nodeOf } from '../judge/node-object.ts';
import type { AgentTokens } from './agent-tokens.ts';
import type { Cluster } from './cluster.ts';
import type { Machine } from './machine.ts';
import { providerIdOf } from './machine-report.ts';
import type { Truth } from './truth.ts';

export interface Machines {
  readonly all: Machine[];
  add(spec: {
    readonly name: string;
    readonly region: string;
    readonly otherCloud?: string;
    readonly rogueRange?: string;
  }): Machine;
  /** Its kubelet is started again: it registers where there is no Node. */
  restartKubelet(machine: Machine): void;
  running(machine: Machine): boolean;
  named(name: string): Machine;
  stop(): void;
}

const beatMs = 10_000;
const graceMs = 45_000;

/** A quarter of the lease's duration, as far as beats come out at it. */
function renewEveryMs({ leaseSeconds }: Machine): number {
  return Math.floor((leaseSeconds * 250) / beatMs) * beatMs;
}

/**
 * Kubelets that register, renew and post Ready while their VM runs, and the node lifecycle controller that notices when
 * they do not.
 */
export function createMachines(
  truth: Truth,
  cluster: Cluster,
  tokens: AgentTokens,
  dice: Dice,
  scenario: Pick<Scenario, 'ipam' | 'seed'>,
): Machines {
  const { clock, cloud } = truth;
  const all: Machine[] = [];
  const leaseDice = createDice(scenario.seed, 'lease durations');
  let stopped = false;

  function running(machine: Machine): boolean {
    return cloud.model.get(machine.vmId)?.power === 'running' && !machine.kubeletHangs;
  }

  function start(machine: Machine): void {
    machine.kubeletUp = true;
    machine.upAt = clock.monotonic();
    const vm = cloud.model.get(machine.vmId)!;
    const providerID = providerIdOf(machine, vm);
    const node = nodeOf(truth.node(machine.name));
    if (node === undefined) {
      machine.nodeUid = cluster.register(machine.name, {
        systemUuid: vm.smbiosUuid ?? '',
        addresses: [{ type: 'Hostname', address: machine.name }],
        ...(machine.knowsProviderID ? { providerID } : {}),
        ...podCIDROf(machine),
      });
    } else {
      machine.nodeUid = node.uid;
      cluster.setSystemUuid(machine.name, vm.smbiosUuid ?? '');
      cluster.setReady(machine.name, 'True');
    }
    const vms = truth.vmsOfNode.get(machine.nodeUid) ?? [];
    truth.vmsOfNode.set(machine.nodeUid, vms);
    if (vms.at(-1) !== vm.id) vms.push(vm.id);
    machine.agent = {
      id: `${machine.name}-${machine.agent.processes}`,
      sequence: 0,
      processes: machine.agent.processes + 1,
    };
    if (!machine.agentless) tokens.mount(machine.name, node === undefined);
    renew(machine);
  }

  function podCIDROf({ rogueRange }: Machine): { readonly podCIDR?: string } {
    if (rogueRange !== undefined) return { podCIDR: rogueRange };
    return scenario.ipam ? {} : { podCIDR: freeRange() };
  }

  /** The lowest that no Node has: one that a Node had before comes round again soon. */
  function freeRange(): string {
    const taken = new Set(truth.nodes().map((value) => nodeOf(value).podCIDR));
    for (let index = 0; ; index += 1) if (!taken.has(`10.244.${index}.0/24`)) return `10.244.${index}.0/24`;
  }

  function renew(machine: Machine): void {
    cluster.renewLease(machine.name, machine.skewMs, machine.leaseSeconds);
    truth.renewed(machine.name, machine.skewMs, machine.leaseSeconds);
  }

  function beat(machine: Machine): void {
    if (stopped) return;
    clock.setTimer(beatMs, () => beat(machine));
    if (!running(machine)) {
      machine.kubeletUp = false;
      return;
    }
    if (!machine.kubeletUp) {
      start(machine);
      return;
    }
    const node = nodeOf(truth.node(machine.name));
    // A kubelet makes its Node when it starts, and not again.
    if (node?.uid !== machine.nodeUid) return;
    const renewedAt = truth.renewals(machine.name).at(-1)?.at ?? Number.NEGATIVE_INFINITY;
    if (clock.monotonic() - renewedAt > renewEveryMs(machine) - beatMs / 2) renew(machine);
    if (node?.ready !== 'True') ready(machine.name, 'True');
    // What others write on a Node all the time: every guarded write of ours may find it changed.
    else if (dice.chance(0.1))
      cluster.patchNode(machine.name, { metadata: { annotations: { beat: String(clock.now()) } } });
  }

  function ready(name: string, status: 'True' | 'Unknown'): void {
    cluster.setReady(name, status);
    const others = nodeOf(truth.node(name)!).taints.filter(({ key }) => key !== 'node.kubernetes.io/unreachable');
    const unreachable = { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' };
    cluster.patchNode(name, { spec: { taints: status === 'True' ? others : [...others, unreachable] } });
  }

  function monitor(): void {
    if (stopped) return;
    clock.setTimer(5000, monitor);
    for (const value of truth.nodes()) {
      const node = nodeOf(value)!;
      const renewed = truth.renewals(node.name).at(-1);
      if (renewed === undefined || node.ready === 'Unknown' || node.ready === '') continue;
      // Who lets leases last longer waits longer.
      const patienceMs = Math.max(graceMs, renewed.leaseSeconds * 250 + 30_000);
      if (clock.monotonic() - renewed.at > patienceMs) ready(node.name, 'Unknown');
    }
  }
  clock.setTimer(5000, monitor);

  return {
    all,
    running,
    named: (name) => all.find((machine) => machine.name === name)!,
    restartKubelet(machine) {
      if (running(machine)) start(machine);
    },
    add({ name, region, otherCloud = '', rogueRange }) {
      const told = dice.chance(0.85);
      const vm = cloud.model.create({
        name,
        region,
        external: dice.chance(0.3),
        dualStack: dice.chance(0.2),
        ...(told ? {} : { smbiosUuid: null }),
      });
      const machine: Machine = {
        name,
        vmId: vm.id,
        nodeUid: undefined,
        kubeletUp: false,
        upAt: 0,
        heardAt: Number.NEGATIVE_INFINITY,
        kubeletHangs: false,
        agentSilent: false,
        agentless: otherCloud === '' && dice.chance(0.2),
        otherCloud,
        knowsProviderID: dice.chance(0.3),
        rogueRange,
        skewMs: dice.pick([0, 0, 0, 2000, -3000]),
        leaseSeconds: leaseDice.pick([40, 40, 40, 100, 600]),
        agent: { id: '', sequence: 0, processes: 0 },
      };
      all.push(machine);
      clock.setTimer(dice.between(0, 3000), () => beat(machine));
      return machine;
    },
    stop() {
      stopped = true;
    },
  };
}
