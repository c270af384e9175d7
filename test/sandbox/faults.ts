import type { Faults } from '../../controller/commands/ui/serve-ui.ts';
import type { FaultAction } from '../../controller/commands/ui/update.ts';
import { createService } from '../kit/world/services.ts';
import type { World } from '../kit/world/world.ts';

interface Action extends FaultAction {
  /** Answers what was done, for people. */
  run(world: World, node: string): Promise<string>;
}

function vmOf(world: World, node: string) {
  const vm = world.vms.find(({ name }) => name === node);
  if (vm === undefined || world.cloud.model.get(vm.id) === undefined) throw new Error(`the cloud has no VM of ${node}`);
  return vm;
}

function projectOf(world: World): string {
  const [place] = world.cloud.model.places.values();
  if (place === undefined) throw new Error('the cloud has no region');
  return place.project;
}

const actions: readonly Action[] = [
  {
    name: 'power-off',
    title: 'Power off',
    ofNode: true,
    async run(world, node) {
      world.cloud.model.stop(vmOf(world, node).id);
      return `${node} lost its power. After 20 s without a sign of life its Node is tainted, and it stays.`;
    },
  },
  {
    name: 'power-on',
    title: 'Power on',
    ofNode: true,
    async run(world, node) {
      world.cloud.model.start(vmOf(world, node).id);
      return `${node} runs again.`;
    },
  },
  {
    name: 'terminate',
    title: 'Terminate',
    ofNode: true,
    async run(world, node) {
      world.cloud.model.terminate(vmOf(world, node).id);
      return `The VM of ${node} is gone. Its Node follows once the cloud has proved that.`;
    },
  },
  {
    name: 'throttle',
    title: 'Throttle the cloud',
    ofNode: false,
    async run(world) {
      world.cloud.throttle.set(projectOf(world), { perSecond: 0.2, burst: 1 });
      return 'The cloud answers one call in five seconds, and 429 to the others.';
    },
  },
  {
    name: 'unthrottle',
    title: 'Lift the throttle',
    ofNode: false,
    async run(world) {
      world.cloud.throttle.set(projectOf(world), undefined);
      return 'The cloud answers every call again.';
    },
  },
  {
    name: 'wrong-credential',
    title: 'Wrong credential',
    ofNode: false,
    async run(world) {
      world.cloud.credentials.setMode(world.cloud.credential, 'sees-nothing');
      return 'The cloud says that nothing exists. Power a VM off now: its Node stays, and says why.';
    },
  },
  {
    name: 'right-credential',
    title: 'Right credential',
    ofNode: false,
    async run(world) {
      world.cloud.credentials.setMode(world.cloud.credential, 'ok');
      return 'The cloud shows everything again.';
    },
  },
  {
    name: 'kill-leader',
    title: 'Kill the leader',
    ofNode: false,
    async run(world) {
      const leader = await world.leader();
      if (leader === undefined) throw new Error('no controller leads now');
      await leader.child.kill();
      return `${leader.name} was killed. The other replica leads once the Lease has run out.`;
    },
  },
  {
    name: 'start-controllers',
    title: 'Start it again',
    ofNode: false,
    async run(world) {
      const ended = world.replicas.filter(({ child }) => !child.running);
      for (const replica of ended) replica.start();
      return ended.length === 0 ? 'Both replicas run.' : `${ended.map(({ name }) => name).join(', ')} started.`;
    },
  },
  {
    name: 'create-service',
    title: 'Create a Service',
    ofNode: false,
    async run(world) {
      const name = `shop-${Date.now().toString(36).slice(-4)}`;
      await createService(world, { name });
      return `default/${name} asks for a load balancer.`;
    },
  },
];

/** What the page of the sandbox can break. @param worldNow undefined while the tour breaks things itself */
export function createFaults(worldNow: () => World | undefined): Faults {
  return {
    actions: actions.map(({ name, title, ofNode }) => ({ name, title, ofNode })),
    async cause(name, node) {
      const world = worldNow();
      if (world === undefined) throw new Error('Not yet: the tour goes on, and breaks things itself.');
      const action = actions.find((one) => one.name === name);
      if (action === undefined) throw new Error(`no action ${name}`);
      return action.run(world, node);
    },
  };
}
