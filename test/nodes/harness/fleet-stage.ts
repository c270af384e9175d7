import { conditions } from '../../../common/well-known.ts';
import { fleet, type Member, secondsUntil } from './fleet.ts';
import type { Replica, World, WorldOptions } from './world.ts';
import { worldStage } from './world-stage.ts';

/** A world with Nodes `n0`, `n1` ... that are initialised and of age, and a replica that leads, for one test. */
export interface FleetStage {
  readonly world: World;
  readonly replica: Replica;
  readonly members: readonly Member[];
  readonly first: Member;
  readonly second: Member;
  exists(name: string): boolean;
  /** Why the Node is still there though its VM is gone; undefined when nothing is said of that. */
  reason(name: string): string | undefined;
  /** The machine dies and its VM is no longer known to the cloud, as if it had never been. */
  vanish(member: Member): void;
  terminate(member: Member): void;
  /** `vanish`, until its Node waits for a second answer that says the same. */
  doubt(member: Member): Promise<void>;
}

/** Called where the suite is described; the answer sets the stage, which is closed after the test. */
export function fleetStage(): (count?: number, options?: WorldOptions, ageSeconds?: number) => Promise<FleetStage> {
  const begin = worldStage();
  return async (count = 4, options = {}, ageSeconds) => {
    const { world, replica } = begin(options);
    await replica.start();
    const members = await fleet(world, count, ageSeconds === undefined ? {} : { ageSeconds });
    replica.kube.forgetCalls();
    const reason: FleetStage['reason'] = (name) => world.cluster.condition(name, conditions.instanceMissing)?.reason;
    const vanish: FleetStage['vanish'] = ({ kubelet, vm }) => {
      kubelet.die();
      world.cloud.model.forget(vm.id);
    };
    return {
      world,
      replica,
      members,
      first: members[0]!,
      second: members[1]!,
      exists: (name) => world.cluster.node(name) !== undefined,
      reason,
      vanish,
      terminate({ kubelet, vm }) {
        kubelet.die();
        world.cloud.model.terminate(vm.id);
      },
      async doubt(member) {
        vanish(member);
        await secondsUntil(world, () => reason(member.name) === 'Confirming');
      },
    };
  };
}
