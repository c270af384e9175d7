import { conditions } from '../../common/well-known.ts';
import { assertThat, conditionOf, nodeNamed, type Scenario, until, vm } from '../kit/world/scenario.ts';
import { routes } from '../sandbox/tour/network-scenarios.ts';

const foreignKept: Scenario = {
  name: 'foreign-route',
  title: 'a node that joins gets a route, one whose VM has ended loses it, and a foreign route stays',
  async run(world) {
    const { model, network } = world.cloud;
    const place = [...model.places.keys()][0] ?? '';
    const theirs = network.routes.create(place, {
      destination: '192.168.77.0/24',
      instanceId: vm(world, 0).id,
      description: 'to the office',
      tags: {},
      clientToken: undefined,
    }).route;
    const joined = await world.boot('routed-1');
    const range: string = await until('it has a pod range and its network', 40_000, async () => {
      const node = await nodeNamed(world, joined.name);
      return conditionOf(node, conditions.networkUnavailable)?.status === 'False' ? node.spec.podCIDR : undefined;
    });
    const routeTo = () => network.routes.store.all().find(({ destination }) => destination === range);
    assertThat(routeTo()?.instanceId === joined.id, `no route leads ${range} to it`);
    await world.shutDown(joined.name);
    model.terminate(joined.id);
    await until('its Node and its route are gone', 60_000, async () => {
      return (await nodeNamed(world, joined.name)) === undefined && routeTo() === undefined;
    });
    assertThat(network.routes.store.get(theirs.id), 'a foreign route was deleted');
    network.routes.delete(theirs.id);
    return `${range} came and went`;
  },
};

export const routeLife: readonly Scenario[] = [routes, foreignKept];
