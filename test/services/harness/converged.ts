import assert from 'node:assert/strict';
import { finalizers } from '../../../common/well-known.ts';
import type { World } from './world.ts';

/** The cloud holds what the Services ask for, each thing once, and nothing else; and the Services say so. */
export function assertConverged(world: World, what: string): void {
  const wanting = world.services
    .names()
    .map((name) => world.services.must(name))
    .filter(({ spec }) => spec.type === 'LoadBalancer' && spec['loadBalancerClass'] === undefined);
  const loadBalancers = world.loadBalancers();
  assert.deepEqual(
    loadBalancers.map(({ tags }) => tags['mooring.dev/service-uid']).sort(),
    wanting.map(({ metadata }) => metadata.uid).sort(),
    `${what}: one load balancer for each Service`,
  );
  const inUse = loadBalancers.flatMap(({ addresses }) => addresses.map(({ id }) => id)).sort();
  const addresses = [...world.cloud.network.addresses.store.all()].map(({ id }) => id).sort();
  assert.deepEqual(addresses, inUse, `${what}: no address is left over`);
  for (const service of wanting) {
    const { name } = service.metadata;
    const own = world.loadBalancerOf(name);
    assert.ok(own);
    assert.equal(own.state, 'active', `${what}: ${name} is there`);
    assert.deepEqual(
      own.listeners.map(({ protocol, port, memberPort }) => [protocol, port, memberPort]).sort(),
      service.spec.ports.map(({ protocol, port, nodePort }) => [protocol, port, nodePort]).sort(),
      `${what}: listeners of ${name}`,
    );
    assert.equal(own.pools.length, 1, `${what}: pools of ${name}`);
    const members = world.cluster
      .names()
      .map((node) => world.cluster.mustNode(node).spec.providerID?.split('/').at(-1));
    assert.deepEqual(
      own.pools[0]?.members.map(({ instanceId }) => instanceId),
      members.sort(),
      `${what}: members of ${name}`,
    );
    assert.deepEqual(
      world.services.addresses(name),
      own.addresses.map(({ ip }) => ip),
      `${what}: status of ${name}`,
    );
    assert.deepEqual(service.metadata.finalizers, [finalizers.loadBalancerCleanup], `${what}: finalizer of ${name}`);
    assert.equal(
      service.metadata.annotations?.['mooring.dev/load-balancer']?.split(' notes:')[0],
      `${world.scope} ${own.id}`,
      `${what}: record of ${name}`,
    );
    assert.equal(world.services.condition(name)?.reason, 'Ensured', `${what}: condition of ${name}`);
  }
  for (const name of world.services.names()) {
    const { spec, metadata, status } = world.services.must(name);
    if (spec.type === 'LoadBalancer') continue;
    assert.deepEqual(
      [metadata.finalizers, metadata.annotations, status.loadBalancer.ingress, status.conditions?.length ?? 0],
      [undefined, undefined, undefined, 0],
      `${what}: nothing of ours is left on ${name}`,
    );
  }
}
