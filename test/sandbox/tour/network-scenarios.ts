import { conditions, taints } from '../../../common/well-known.ts';
import { ask, startTraffic } from '../../kit/data-plane/traffic.ts';
import { mergePatch } from '../../kit/world/kube-rest.ts';
import { assertThat, conditionOf, nodeNamed, type Scenario, seconds, until, vm } from '../../kit/world/scenario.ts';
import {
  answering,
  balancersOf,
  createService,
  ensured,
  livingNodes,
  targetOf,
  weightOf,
} from '../../kit/world/services.ts';
import { shortened } from '../../kit/world/shortened.ts';
import type { World } from '../../kit/world/world.ts';

export const routes: Scenario = {
  name: 'routes',
  title: 'every node gets a pod range and the cloud a route to it',
  async run(world) {
    const startedMs = Date.now();
    let left = '';
    const nodes = await until(
      'every Node has a pod range, a route, and NetworkUnavailable=False',
      30_000 + world.vms.length * 20,
      async () => {
        const { items } = await world.rest.must('GET', '/api/v1/nodes');
        const table = new Map(
          world.cloud.network.routes.store.all().map(({ destination, instanceId }) => [destination, instanceId]),
        );
        const open = items.filter(
          // biome-ignore lint/suspicious/noExplicitAny: a Node
          (node: any) =>
            !node.spec.podCIDR ||
            table.get(node.spec.podCIDR) !== node.spec.providerID?.split('/').at(-1) ||
            conditionOf(node, conditions.networkUnavailable)?.status !== 'False',
        );
        left = open.map(({ metadata }: { metadata: { name: string } }) => metadata.name).join(', ');
        return open.length === 0 ? items : undefined;
      },
      () => `not so: ${left}`,
    );
    const ranges = new Set(nodes.map(({ spec }: { spec: { podCIDR: string } }) => spec.podCIDR));
    assertThat(ranges.size === nodes.length, 'two Nodes have one pod range');
    const routed = world.cloud.network.routes.store.all().length;
    assertThat(routed === nodes.length, `${routed} routes for ${nodes.length} Nodes`);
    const [first] = nodes;
    const { reason } = conditionOf(first, conditions.networkUnavailable) ?? { reason: '' };
    return (
      `${nodes.length} pod ranges and as many routes after ${seconds(startedMs)}; ${first.metadata.name}: ` +
      `${first.spec.podCIDR}, NetworkUnavailable=False (${reason})`
    );
  },
};

export const services: Scenario = {
  name: 'services',
  title: 'Services get addresses, and traffic really flows',
  async run(world) {
    const startedMs = Date.now();
    const { dataPlane } = world;
    const everyone = await livingNodes(world);
    const some = [vm(world, 0).name, vm(world, 3).name];
    const friend = dataPlane.clientAddress('friend');
    dataPlane.placePods('default/local', some);
    await Promise.all([
      createService(world, { name: 'web' }),
      createService(world, { name: 'local', policy: 'Local' }),
      createService(world, { name: 'guarded', sourceRanges: [`${friend}/32`] }),
    ]);
    const [web, local, guarded] = await Promise.all(['web', 'local', 'guarded'].map((name) => ensured(world, name)));
    const took = seconds(startedMs);
    await answering(targetOf(world, web), everyone);
    await answering(targetOf(world, local), some);
    const toGuarded = targetOf(world, guarded);
    await until('the friend gets an answer', 10_000, () => ask({ ...toGuarded, from: friend }).catch(() => undefined));
    const stranger = dataPlane.clientAddress('stranger');
    const refused = await ask({ ...toGuarded, from: stranger }).then(
      () => false,
      () => true,
    );
    assertThat(refused, 'a client outside the source ranges got an answer');
    return (
      `3 Services had addresses after ${took}; web is answered by ${everyone.length} nodes, local ` +
      '(externalTrafficPolicy: Local) by the 2 with pods, and guarded refuses clients outside its range'
    );
  },
};

async function taintForAutoscaler(world: World, name: string): Promise<void> {
  const node = await nodeNamed(world, name);
  assertThat(node, `no Node ${name}`);
  const taint = {
    key: taints.toBeDeletedByAutoscaler,
    value: String(Math.floor(Date.now() / 1000)),
    effect: 'NoSchedule',
  };
  const { resourceVersion } = node.metadata;
  const patch = { metadata: { resourceVersion }, spec: { taints: [...(node.spec.taints ?? []), taint] } };
  const answer = await world.rest.call('PATCH', `/api/v1/nodes/${name}`, patch, { type: mergePatch });
  if (answer.status === 409) await taintForAutoscaler(world, name);
  else assertThat(answer.status === 200, `the taint was refused: ${answer.status} ${answer.body?.message}`);
}

export const drain: Scenario = {
  name: 'drain',
  title: 'the autoscaler takes a node away under constant connections, and not one fails',
  waitsFor: `${shortened.memberDrainTime} in which the Node drains`,
  async run(world) {
    const [staying, leaving] = [vm(world, 0), vm(world, 4)];
    world.dataPlane.placePods('default/drained', [staying.name, leaving.name]);
    await createService(world, { name: 'drained', policy: 'Local' });
    const service = await ensured(world, 'drained');
    const target = targetOf(world, service);
    await answering(target, [staying.name, leaving.name]);
    const traffic = startTraffic({ target: () => target, everyMs: 20, kept: 10, keptMs: 1500 });
    try {
      await until(
        'both nodes have connections',
        10_000,
        async () => (traffic.counts().byNode.get(leaving.name) ?? 0) > 9,
      );
      const taintedMs = Date.now();
      await taintForAutoscaler(world, leaving.name);
      const [balancer] = balancersOf(world, service);
      assertThat(balancer, 'the Service has no load balancer');
      let held = 0;
      await until('it takes no new connections', 15_000, async () => {
        const open = world.dataPlane.open(balancer.id, leaving.id);
        const isDraining = weightOf(world, service, leaving.id) !== 1;
        // On a busy machine those of before have ended by the time this looks.
        held = isDraining ? Math.max(held, open) : open;
        return isDraining;
      });
      const drainingMs = Date.now();
      await until('it is no member any more', 30_000, async () => weightOf(world, service, leaving.id) === undefined);
      const leftMs = Date.now();
      await world.shutDown(leaving.name);
      world.cloud.model.terminate(leaving.id);
      // A connection that still goes to it fails from now on.
      await new Promise((resolve) => setTimeout(resolve, 2000));
      const { short, kept, lines, failures, lastOpened } = await traffic.stop();
      assertThat(
        failures.length === 0,
        `${failures.length} of ${short + kept} connections failed: ${[...new Set(failures)].slice(0, 3).join('; ')}`,
      );
      const late = (lastOpened.get(leaving.name) ?? 0) - drainingMs;
      // A connection that was already on its way when the weight changed may be answered a moment later.
      assertThat(late < 1000, `${leaving.name} got a new connection ${late} ms after it began to drain`);
      assertThat(held > 0, 'no connection was open when it began to drain, so nothing was proved');
      const step = (ms: number) => `${((ms - taintedMs) / 1000).toFixed(1)} s`;
      return (
        `${leaving.name}: no new connections ${step(drainingMs)} after the taint (${held} still open then), no ` +
        `member after ${step(leftMs)}, then its VM ended; ${short} short and ${kept} kept connections, ${lines} ` +
        'lines, 0 failed'
      );
    } finally {
      await traffic.stop();
    }
  },
};
