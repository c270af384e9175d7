import type { SimulatedInstance } from '../../kit/cloud/instance.ts';
import type { Kubelet } from './cluster.ts';
import { providerID, type Replica, type World } from './world.ts';

export interface Member {
  readonly name: string;
  readonly vm: SimulatedInstance;
  readonly kubelet: Kubelet;
}

export interface FleetOptions {
  readonly region?: string;
  readonly project?: string;
  readonly prefix?: string;
  /** How long they have been there, seconds. Default 400: old enough for anything. */
  readonly ageSeconds?: number;
  /** `nodeLeaseDurationSeconds` of their kubelets. Default 40. */
  readonly leaseSeconds?: number;
}

/** Registers Nodes with a VM and a kubelet each, and waits until they are initialised and of age. */
export async function fleet(world: World, count: number, options: FleetOptions = {}): Promise<Member[]> {
  const { region, project, prefix = 'n', ageSeconds = 400, leaseSeconds } = options;
  const place = { ...(region === undefined ? {} : { region }), ...(project === undefined ? {} : { project }) };
  const members = Array.from({ length: count }, (_, index) => {
    const name = `${prefix}${index}`;
    const vm = world.join(name, place);
    return { name, vm, kubelet: world.cluster.kubelet(name, leaseSeconds) };
  });
  await world.clock.advance(ageSeconds * 1000);
  for (const { name, vm } of members) {
    const node = world.cluster.mustNode(name);
    if (node.spec.providerID !== providerID(vm))
      throw new Error(`${name} was not initialised: ${JSON.stringify(node)}`);
  }
  return members;
}

/** Lets time pass second by second until `done`; answers how many seconds that took. Throws when it does not come. */
export async function secondsUntil(world: World, done: () => boolean, limit = 900): Promise<number> {
  for (let second = 0; second <= limit; second += 1) {
    if (done()) return second;
    await world.clock.advance(1000);
  }
  throw new Error(`not within ${limit} s: ${done}`);
}

export function deletions(replica: Replica): string[] {
  return replica.kube.calls.filter(({ verb }) => verb === 'delete').map(({ path }) => path.split('/').at(-1) as string);
}
