import type { Dice } from '../engine/dice.ts';
import type { Scenario } from '../engine/scenario.ts';
import type { Agents } from './agents.ts';
import type { Machine } from './machine.ts';
import type { Machines } from './machines.ts';
import type { Truth } from './truth.ts';

export interface Vms {
  /** Something that happens to a VM; answers what, for the trace. */
  act(): string;
  /** Does what makes the controller call that site, if VMs have anything to do with it. */
  provoke(site: string): string | undefined;
}

const mostMachines = 9;

export function createVms(
  truth: Truth,
  machines: Machines,
  agents: Agents,
  dice: Dice,
  regions: readonly string[],
  scenario: Pick<Scenario, 'cloudLagMs'>,
): Vms {
  const { clock, cloud } = truth;
  const { model } = cloud;
  let counter = 0;

  function create(): string {
    counter += 1;
    const machine = machines.add({ name: `late-${counter}`, region: dice.pick(regions) });
    return `VM ${machine.vmId} is created for ${machine.name}`;
  }

  function end(machine: Machine): string {
    // Only what vanishes without a word has to be missed twice.
    const ends = ['terminate', 'terminate', 'orderly', 'orderly', 'announced', 'forget', 'forget'] as const;
    const how = scenario.cloudLagMs > 0 ? 'forget' : dice.pick(ends);
    if (how === 'orderly' || how === 'announced') {
      const kind = dice.pick(['preemption', 'termination'] as const);
      if (how === 'announced') model.setNotices(machine.vmId, [{ kind }]);
      const id = machine.vmId;
      clock.setTimer(dice.between(500, how === 'announced' ? 30_000 : 2000), () => {
        if (machine.vmId !== id || model.get(id) === undefined) return;
        agents.leave(machine);
        model.terminate(id);
      });
    } else model[how](machine.vmId);
    return `VM ${machine.vmId} of ${machine.name} ends (${how})`;
  }

  function rebuild(machine: Machine): string {
    const mode = dice.pick(['same-id', 'same-name'] as const);
    machine.kubeletUp = false;
    machine.vmId = model.rebuild(machine.vmId, mode).id;
    // It carries its name, and so its Node.
    truth.vmsOfNode.get(machine.nodeUid ?? '')?.push(machine.vmId);
    return `VM of ${machine.name} is rebuilt (${mode}), now ${machine.vmId}`;
  }

  function readdress(machine: Machine): string {
    const vm = model.get(machine.vmId)!;
    const [primary, ...others] = vm.interfaces;
    const external = primary!.external.length > 0 ? [] : [`203.0.113.${dice.whole(1, 250)}`];
    model.setAddresses(machine.vmId, { interfaces: [{ ...primary!, external }, ...others] });
    return `VM ${machine.vmId} of ${machine.name} ${external.length > 0 ? 'gets' : 'loses'} an external address`;
  }

  function hang(machine: Machine): string {
    machine.kubeletHangs = true;
    clock.setTimer(dice.between(10_000, 120_000), () => {
      machine.kubeletHangs = false;
    });
    return `the kubelet of ${machine.name} hangs`;
  }

  function living(): Machine[] {
    return machines.all.filter(({ vmId, otherCloud }) => {
      const power = model.get(vmId)?.power;
      return otherCloud === '' && (power === 'running' || power === 'stopped' || power === 'pending');
    });
  }

  return {
    provoke(site) {
      const all = living();
      if (site === 'cloud GET routes/*' && all.length <= mostMachines) return create();
      if (site !== 'kube delete nodes' && site !== 'cloud DELETE routes/*') return undefined;
      if (all.length <= 2) return machines.all.length < mostMachines ? create() : undefined;
      const machine = dice.pick(all);
      agents.leave(machine);
      model.terminate(machine.vmId);
      return `VM ${machine.vmId} of ${machine.name} is shut down in order`;
    },
    act() {
      const drawn = dice.random();
      const all = living();
      if (all.length === 0 || (drawn < 0.15 && machines.all.length < mostMachines)) return create();
      const machine = dice.pick(all);
      const { power } = model.get(machine.vmId)!;
      if (drawn < 0.4) return end(machine);
      if (drawn < 0.6) {
        if (power === 'stopped') {
          model.start(machine.vmId);
          return `VM ${machine.vmId} of ${machine.name} is started`;
        }
        model.stop(machine.vmId);
        return `VM ${machine.vmId} of ${machine.name} is stopped`;
      }
      if (drawn < 0.7) return hang(machine);
      if (drawn < 0.78) return rebuild(machine);
      if (drawn < 0.9) return readdress(machine);
      model.setType(machine.vmId, dice.pick(['s-1', 's-2', 's-4']));
      return `VM ${machine.vmId} of ${machine.name} changes its type`;
    },
  };
}
