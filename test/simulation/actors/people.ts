import { annotations, labels, taints as taintKeys } from '../../../common/well-known.ts';
import type { Dice } from '../engine/dice.ts';
import { conditionOf, nodeOf } from '../judge/node-object.ts';
import type { Cluster } from './cluster.ts';
import type { Machine } from './machine.ts';
import { providerIdOf } from './machine-report.ts';
import type { Machines } from './machines.ts';
import type { Truth } from './truth.ts';

export interface People {
  /** Something that a person, an autoscaler or another controller does to the cluster; answers what, for the trace. */
  act(): string;
  /** Does what makes the controller call that site, if people have anything to do with it. */
  provoke(site: string): string | undefined;
  /** Pauses a Node, and unpauses it after so long. */
  pauseFor(name: string, ms: number): void;
  /** Or unpauses it. */
  pauseAll(): string;
  /** Several Nodes are deleted, and register again in another order: ranges and names change places. */
  shuffle(): string;
  /** Everything is unpaused again. */
  unpause(): void;
  /**
   * Repairs what only a person can: Nodes recorded for another machine than their own, or whose whole scope is gone.
   */
  mend(): void;
}

export function createPeople(truth: Truth, cluster: Cluster, machines: Machines, dice: Dice): People {
  const { clock } = truth;

  function annotate(name: string, key: string, value: string | null): void {
    cluster.patchNode(name, { metadata: { annotations: { [key]: value } } });
  }

  function pauseNode(name: string, uid: string): string {
    if (truth.pausedSince.has(uid)) {
      annotate(name, annotations.paused, null);
      truth.pausedSince.delete(uid);
      return `unpauses Node ${name}`;
    }
    annotate(name, annotations.paused, dice.pick(['true', 'yes']));
    truth.pausedSince.set(uid, clock.monotonic());
    return `pauses Node ${name}`;
  }

  function keepNode(name: string): string {
    const on = !truth.keptNodes.has(name);
    if (on) truth.keptNodes.add(name);
    else truth.keptNodes.delete(name);
    cluster.keepNodes(truth.keptNodes);
    return `${on ? 'keeps' : 'no longer keeps'} Node ${name} from deletion`;
  }

  function pauseAll(): string {
    const on = truth.allPausedSince === undefined;
    cluster.pauseAll(on);
    truth.allPausedSince = on ? clock.monotonic() : undefined;
    return on ? 'pauses everything' : 'unpauses everything';
  }

  function taint(name: string, key: string): string {
    const { taints } = nodeOf(truth.node(name)!);
    const held = taints.some((each) => each.key === key);
    const others = taints.filter((each) => each.key !== key);
    cluster.patchNode(name, { spec: { taints: held ? others : [...others, { key, effect: 'NoSchedule' }] } });
    return `${held ? 'takes' : 'puts'} ${key} ${held ? 'off' : 'on'} Node ${name}`;
  }

  function shuffle(): string {
    const some = machines.all
      .filter((machine) => machines.running(machine) && truth.node(machine.name) !== undefined)
      .map((machine) => ({ machine, order: dice.random() }))
      .sort((a, b) => a.order - b.order)
      .slice(0, 3);
    for (const { machine } of some) {
      truth.pausedSince.delete(nodeOf(truth.node(machine.name)!).uid);
      cluster.removeNode(machine.name);
    }
    for (const { machine } of some) machines.restartKubelet(machine);
    return `deletes Nodes ${some.map(({ machine }) => machine.name).join(', ')}, which register again in this order`;
  }

  function remove(machine: Machine, uid: string): string {
    cluster.removeNode(machine.name);
    truth.pausedSince.delete(uid);
    clock.setTimer(dice.between(2000, 60_000), () => machines.restartKubelet(machine));
    return `deletes Node ${machine.name}`;
  }

  return {
    pauseFor(name, ms) {
      const uid = nodeOf(truth.node(name))?.uid;
      if (uid === undefined) return;
      pauseNode(name, uid);
      clock.setTimer(ms, () => pauseNode(name, uid));
    },
    pauseAll,
    shuffle,
    act() {
      const nodes = truth.nodes().map((value) => nodeOf(value));
      const node = nodes.length === 0 ? undefined : dice.pick(nodes);
      const machine = machines.all.find(({ name }) => name === node?.name);
      const drawn = dice.random();
      if (node === undefined || drawn < 0.12) return pauseAll();
      if (drawn < 0.34) return dice.chance(0.3) ? keepNode(node.name) : pauseNode(node.name, node.uid);
      if (drawn < 0.44) return taint(node.name, 'example.com/maintenance');
      if (drawn < 0.54) return taint(node.name, taintKeys.toBeDeletedByAutoscaler);
      if (drawn < 0.6) return taint(node.name, taintKeys.disruptedByKarpenter);
      if (drawn < 0.66) {
        annotate(node.name, annotations.releaseDeletion, dice.pick([node.uid, 'another-uid']));
        return `releases the deletion of Node ${node.name}`;
      }
      if (drawn < 0.74 && !node.uninitialized) {
        cluster.patchNode(node.name, { metadata: { labels: { [labels.instanceType]: 'as-a-person-says' } } });
        return `sets the type of Node ${node.name}`;
      }
      if (drawn < 0.8 && machine !== undefined) return remove(machine, node.uid);
      if (drawn < 0.85) return shuffle();
      annotate(node.name, 'example.com/note', String(dice.whole(1, 1000)));
      return `writes a note on Node ${node.name}`;
    },
    provoke(site) {
      if (site !== 'cloud GET instances') return undefined;
      // So many names at once are looked for in one list.
      for (const machine of machines.all) {
        const node = nodeOf(truth.node(machine.name));
        if (node === undefined || !machines.running(machine)) continue;
        cluster.removeNode(machine.name);
        truth.pausedSince.delete(node.uid);
        machines.restartKubelet(machine);
      }
      return 'deletes all Nodes, and they register again at once';
    },
    unpause() {
      for (const name of [...truth.keptNodes]) keepNode(name);
      if (truth.allPausedSince !== undefined) pauseAll();
      for (const { name, uid } of truth.nodes().map((value) => nodeOf(value)))
        if (truth.pausedSince.has(uid)) pauseNode(name, uid);
    },
    mend() {
      for (const machine of machines.all) {
        const node = nodeOf(truth.node(machine.name));
        if (node === undefined) continue;
        const vm = truth.vm(machine.vmId);
        if (vm === undefined || vm.power === 'terminated') {
          // What a liar said of itself before its VM ended keeps its Node for ever.
          const own = truth.vmsOfNode.get(node.uid) ?? [];
          const astray = node.providerID !== '' && !own.some((id) => node.providerID.endsWith(`/${id}`));
          if ((astray || node.uninitialized) && truth.liars.has(node.uid)) cluster.removeNode(machine.name);
          // Nothing but a person can tell that all VMs of a scope are gone; a paused Node does not show that it waits.
          else if (conditionOf(node, 'instanceMissing')?.reason === 'CanaryNotFound' || isPaused(node.annotations))
            annotate(machine.name, annotations.releaseDeletion, node.uid);
          continue;
        }
        // Nothing tells its instance while it is off: its agent named the VM before this one, or never reported.
        if (vm.power === 'stopped' && node.uninitialized) truth.cloud.model.start(vm.id);
        const otherVm = node.providerID !== '' && node.providerID !== providerIdOf(machine, vm);
        const rebuilt = node.incarnation !== '' && node.incarnation !== vm.incarnation;
        const doubted = conditionOf(node, 'cloudInitialized')?.status !== 'True';
        const lied = truth.liars.has(node.uid) && (doubted || otherVm);
        const otherMachine = vm.smbiosUuid !== undefined && node.systemUuid !== vm.smbiosUuid;
        if (!otherVm && !rebuilt && !lied && !otherMachine) continue;
        cluster.removeNode(machine.name);
        machines.restartKubelet(machine);
      }
    },
  };
}

function isPaused(of: Readonly<Record<string, string>>): boolean {
  return of[annotations.paused] !== undefined;
}
