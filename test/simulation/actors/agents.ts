import type { Notice } from '../../../common/instance.ts';
import type { Report, ReportedInstance } from '../../../common/report.ts';
import type { SimulatedInstance } from '../../sandbox/cloud/instance.ts';
import type { Dice } from '../engine/dice.ts';
import type { Faults } from '../engine/faults.ts';
import type { Process } from '../engine/process.ts';
import type { Observer } from '../judge/observer.ts';
import type { Machine, Machines } from './machines.ts';
import type { Truth } from './truth.ts';

export interface Agents {
  /** The agent takes leave, as on SIGTERM when its machine shuts down in order. */
  leave(machine: Machine): void;
  stop(): void;
}

const everyMs = 20_000;

/** Agents report to whichever replica leads, over a network that loses, repeats and reorders, and among them are liars. */
export function createAgents(
  truth: Truth,
  machines: Machines,
  parts: {
    readonly dice: Dice;
    readonly faults: Faults;
    readonly observers: readonly Observer[];
    readonly trace: ((line: string) => void) | undefined;
    leader(): Process | undefined;
  },
): Agents {
  const { clock } = truth;
  const { dice, faults, observers, trace } = parts;
  let stopped = false;

  function tick(): void {
    if (stopped) return;
    clock.setTimer(everyMs, tick);
    for (const machine of machines.all) {
      if (machine.agentless || machine.agentSilent || !machine.kubeletUp || !machines.running(machine)) continue;
      clock.setTimer(dice.between(0, everyMs), () => {
        if (machine.kubeletUp && machines.running(machine)) send(machine, {});
      });
    }
  }
  clock.setTimer(5000, tick);

  function send(machine: Machine, changes: Partial<Report>): void {
    const fault = faults.report();
    if (fault === 'lost' || machine.nodeUid === undefined) return;
    if (fault === 'silence') {
      machine.agentSilent = true;
      clock.setTimer(dice.between(30_000, 120_000), () => {
        machine.agentSilent = false;
      });
      return;
    }
    const report = fault === 'forged' ? forge(machine) : honest(machine, changes);
    if (report === undefined) return;
    const sender = {
      nodeName: machine.name,
      nodeUid: machine.nodeUid,
      podUid: `pod-${machine.name}`,
      credentialId: `credential-${machine.name}`,
    };
    const arrive = () => {
      // Whom an agent takes for the leader may be one no more.
      const leader = parts.leader();
      if (leader === undefined || leader.wire.clock.dead) return;
      leader.wire.clock.deliver(dice.between(1, 20), () => {
        const outcome = leader.takeReport(sender, report);
        trace?.(
          `${leader.identity}  report of ${machine.name}${fault === undefined ? '' : `  !! ${fault}`}: ${outcome} ${JSON.stringify(report)}`,
        );
        if (outcome === 'refused') return;
        if (fault !== 'forged') machine.heardAt = clock.monotonic();
        if (outcome !== 'kept') return;
        const announcesEnd =
          report.notices?.some(({ kind }) => kind === 'preemption' || kind === 'termination') === true;
        const addresses = report.instance?.addresses.map(({ address }) => address);
        const { process } = leader.wire;
        const at = clock.monotonic();
        for (const observer of observers)
          observer.report?.({ at, process, nodeName: machine.name, nodeUid: sender.nodeUid, addresses, announcesEnd });
      });
    };
    if (fault === 'late') clock.setTimer(dice.between(2000, 40_000), arrive);
    else arrive();
    if (fault === 'duplicate') clock.setTimer(dice.between(10, 5000), arrive);
  }

  function honest(machine: Machine, changes: Partial<Report>): Report | undefined {
    const vm = truth.vm(machine.vmId);
    if (vm === undefined) return undefined;
    const { notices, smbiosUuid } = vm;
    return {
      ...frame(machine),
      instance: reported(machine, vm),
      ...(smbiosUuid === undefined ? {} : { smbiosUuid }),
      ...(notices.length > 0 ? { notices } : {}),
      ...changes,
    };
  }

  /** A node that was broken into: it says that it is another one, or that that one is about to end. */
  function forge(machine: Machine): Report | undefined {
    const victim = dice.pick(machines.all);
    const vm = truth.vm(victim.vmId);
    if (vm === undefined || victim === machine || machine.nodeUid === undefined) return undefined;
    truth.liars.add(machine.nodeUid);
    const notices: Notice[] = [{ kind: 'termination', deadline: new Date(clock.now()).toISOString() }];
    return {
      ...frame(machine),
      instance: reported(victim, vm),
      ...(vm.smbiosUuid === undefined ? {} : { smbiosUuid: vm.smbiosUuid }),
      notices,
      leaving: dice.chance(0.5),
    };
  }

  function frame(machine: Machine) {
    machine.agent.sequence += 1;
    return {
      version: 1 as const,
      agentVersion: '0.0.0',
      agentId: machine.agent.id,
      sequence: machine.agent.sequence,
      observedAt: new Date(clock.now()).toISOString(),
      metadata: { ok: true, ageSeconds: 0, failures: 0 },
    };
  }

  return {
    leave(machine) {
      if (!machine.agentless && !machine.agentSilent && machine.kubeletUp) send(machine, { leaving: true });
    },
    stop() {
      stopped = true;
    },
  };
}

/** What the VM's metadata service says, to the agent on it. */
function reported(machine: Machine, vm: SimulatedInstance): ReportedInstance {
  const { otherCloud } = machine;
  return {
    cloud: otherCloud === '' ? 'simulated' : otherCloud,
    id: vm.id,
    providerID: providerIdOf(machine, vm),
    incarnation: vm.incarnation,
    name: vm.name,
    zone: vm.zone,
    region: vm.region,
    type: vm.type,
    addresses: vm.interfaces.flatMap(({ internal, external }) => [
      ...internal.map((address) => ({ type: 'InternalIP' as const, address })),
      ...external.map((address) => ({ type: 'ExternalIP' as const, address })),
    ]),
  };
}

export function providerIdOf(
  machine: Pick<Machine, 'otherCloud'>,
  vm: Pick<SimulatedInstance, 'id' | 'region' | 'zone'>,
): string {
  return machine.otherCloud === ''
    ? `simulated://${vm.region}/${vm.id}`
    : `${machine.otherCloud}:///${vm.zone}/${vm.id}`;
}
