import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { annotations, conditions } from '../../common/well-known.ts';
import type { ApiSuite, Check } from '../conformance/api-under-test.ts';
import { inWorld } from '../e2e/in-world.ts';
import { mergePatch } from '../kit/world/kube-rest.ts';
import { addressesOf, assertThat, conditionOf, eventsOf, nodeNamed, until, vm } from '../kit/world/scenario.ts';
import { controllerMain, shortened } from '../kit/world/shortened.ts';
import type { World } from '../kit/world/world.ts';

/**
 * A rogue kubelet chooses what the cloud routes: with its own credential it registers Nodes whose pod ranges are the
 * Internet, the metadata service, the VMs' network, the Services, or other Nodes' pods.
 */
export const routesSuite: ApiSuite = {
  name: 'routes',
  async run(api, check) {
    await inWorld({ api, nodes: 2, agentProcesses: 0 }, check, attack);
  },
};

async function attack(world: World, check: Check): Promise<void> {
  const honest = vm(world, 0);
  const range = await routedRange(world, honest.name);
  const claims: Readonly<Record<string, readonly string[]>> = {
    'half of the Internet': ['0.0.0.0/1'],
    'the metadata service': ['169.254.169.254/32'],
    'the network of the VMs': [(await internalAddress(world, honest.name)).replace(/\d+$/, '0/24')],
    'the range of the Services': [shortened.serviceRange],
    'one address of a pod of another Node': [range.replace(/\d+\/\d+$/, '5/32')],
    'all pods of the cluster': [shortened.clusterCidr],
    'all of IPv6': ['::/0'],
  };
  const rogues = Object.keys(claims).map((_, at) => `rogue-${at}`);
  for (const [at, podCIDRs] of Object.values(claims).entries()) await world.boot(`rogue-${at}`, { podCIDRs });

  for (const [at, [what, podCIDRs]] of Object.entries(claims).entries())
    await check(`no route leads ${what} to a Node that claims it, and the Node says why`, async () => {
      const said = await until('its Node says CIDRNotAllowed', 30_000, async () => {
        const shown = await network(world, `rogue-${at}`);
        return shown?.reason === 'CIDRNotAllowed' ? shown : undefined;
      });
      assertThat(said.status === 'True', `NetworkUnavailable is ${said.status}`);
      assertThat(said.message.includes(podCIDRs[0] ?? '?'), said.message);
      assertThat(!destinations(world).includes(podCIDRs[0] ?? '?'), `a route to ${podCIDRs} was made`);
      const told = await until('an event says so', 10_000, async () =>
        (await eventsOf(world, `rogue-${at}`)).find(({ message }) => message.includes('CIDRNotAllowed')),
      );
      assertThat(told.reason === 'FailedToCreateRoute', told.reason);
    });

  await check("another Node's very range stays with its Node", async () => {
    await world.boot('twin', { podCIDRs: [range] });
    await until('its Node says DuplicatePodCIDR', 30_000, async () => {
      return (await network(world, 'twin'))?.reason === 'DuplicatePodCIDR';
    });
    assertThat(routeTo(world, range)?.instanceId === honest.id, 'the route leads elsewhere');
  });

  await check('a Node that registers without a range and takes one later gets no route either', async () => {
    const wide = '100.96.0.0/11';
    // Its kubelet tries to keep node IPAM away for that long.
    await world.boot('later', { annotations: { [annotations.paused]: 'true' } });
    const token = world.nodeToken('later');
    const patch = (body: object) => world.rest.call('PATCH', '/api/v1/nodes/later', body, { type: mergePatch, token });
    await patch({ spec: { podCIDR: wide, podCIDRs: [wide] } });
    await patch({ metadata: { annotations: { [annotations.paused]: null } } });
    const said = await until('its network is decided', 30_000, async () => {
      const reason = (await network(world, 'later'))?.reason;
      return reason === 'NoRouteCreated' ? undefined : reason;
    });
    const chosen = (await nodeNamed(world, 'later')).spec.podCIDR === wide;
    assertThat(said === (chosen ? 'CIDRNotAllowed' : 'RouteCreated'), said);
    assertThat(!destinations(world).includes(wide), 'a route was made');
  });

  await check('an honest Node that joins meanwhile gets its range and its route', async () => {
    const joined = await world.boot('joined');
    const given = await routedRange(world, joined.name);
    assertThat(routeTo(world, given)?.instanceId === joined.id, `${given} leads elsewhere`);
    assertThat((await network(world, honest.name))?.status === 'False', `${honest.name} lost its network`);
  });

  await check('explain and a metric tell of the rogue Nodes', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      controllerMain,
      'explain',
      'node',
      'rogue-0',
      `--kubeconfig=${world.kubeconfig}`,
    ]);
    assertThat(stdout.includes('CIDRNotAllowed'), stdout);
    const leader = await until('a controller leads', 10_000, async () => world.leader());
    const samples = [...(await leader.metrics())];
    const blocked = samples.find(
      ([name]) => name.startsWith('mooring_routes_blocked') && name.includes('CIDRNotAllowed'),
    );
    assertThat((blocked?.[1] ?? 0) >= rogues.length, `${blocked}`);
  });
}

function destinations(world: World): string[] {
  return world.cloud.network.routes.store.all().map(({ destination }) => destination);
}

function routeTo(world: World, range: string) {
  return world.cloud.network.routes.store.all().find(({ destination }) => destination === range);
}

async function network(world: World, name: string) {
  return conditionOf(await nodeNamed(world, name), conditions.networkUnavailable);
}

/** The pod range of a Node, once it is routed. */
async function routedRange(world: World, name: string): Promise<string> {
  return until(`${name} has its network`, 60_000, async () => {
    const node = await nodeNamed(world, name);
    return conditionOf(node, conditions.networkUnavailable)?.status === 'False' ? node.spec.podCIDR : undefined;
  });
}

async function internalAddress(world: World, name: string): Promise<string> {
  const [address = ''] = addressesOf(await nodeNamed(world, name), 'InternalIP');
  return address;
}
