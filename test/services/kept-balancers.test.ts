import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { FakeHetzner } from '../clouds/hetzner/fake-project.ts';
import { createHetznerWorld } from './harness/hetzner-world.ts';
import type { Replica, World } from './harness/world.ts';

describe('a load balancer that outlives its Service', () => {
  let world: World;
  let fake: FakeHetzner;
  let replica: Replica;
  beforeEach(async () => {
    ({ world, fake } = await createHetznerWorld());
    await restart();
  });
  afterEach(() => world.close());

  async function restart(): Promise<void> {
    await replica?.stop();
    replica = world.replica();
    await replica.start();
    await world.clock.advance(30_000);
  }
  const deletes = () => fake.calls.flatMap(({ method, path }) => (method === 'DELETE' ? [path] : []));

  it('serves a Service that names it across a restart, and stays without its parts when that one goes', async () => {
    const retain = { 'mooring.dev/load-balancer-retain': 'true' };
    world.services.create('old', { annotations: retain });
    await world.clock.advance(30_000);
    world.services.delete('old');
    await world.clock.advance(30_000);
    const [kept] = [...fake.balancers.values()];
    assert.ok(kept?.labels['mooring.dev/retained']);
    world.services.create('web', { annotations: { ...retain, 'mooring.dev/load-balancer-id': String(kept.id) } });
    await world.clock.advance(60_000);
    await restart();
    assert.equal(world.services.condition('web')?.reason, 'Ensured');
    assert.ok(world.services.addresses('web').includes(kept.ipv4));

    const before = fake.calls.length;
    world.services.delete('web');
    await world.clock.advance(600_000);
    assert.equal(world.services.get('web'), undefined);
    assert.ok(fake.calls.length - before < 40, `${fake.calls.length - before} calls`);
    assert.deepEqual([...fake.balancers.values()], [kept]);
    assert.deepEqual([kept.services, kept.targets, deletes()], [[], [], []]);
  });

  it('keeps the certificate that it uses while a later Service of the name makes records from marks', async () => {
    const prefix = 'load-balancer.hetzner.cloud';
    world.services.create('web', {
      annotations: {
        [`${prefix}/protocol`]: 'https',
        [`${prefix}/certificate-type`]: 'managed',
        [`${prefix}/http-managed-certificate-domains`]: 'web.example.com',
      },
    });
    await world.clock.advance(60_000);
    const [balancer] = [...fake.balancers.values()];
    Object.assign(balancer!, { labels: {}, name: 'renamed' });
    await restart();
    world.services.delete('web');
    await world.clock.advance(60_000);
    assert.equal(world.services.get('web'), undefined);

    world.services.create('web');
    const before = replica.events.length;
    const logged = replica.logged.filter((line) => line.includes('load balancer gone'));
    await world.clock.advance(3_600_000);
    assert.equal(world.services.condition('web')?.reason, 'Ensured');
    assert.ok(fake.balancers.has(balancer!.id));
    assert.equal(fake.certificates.size, 1);
    assert.deepEqual(deletes(), []);
    assert.deepEqual(
      replica.events.slice(before).map(({ reason }) => reason),
      ['EnsuringLoadBalancer', 'EnsuredLoadBalancer'],
    );
    // Each audit finds the certificate again.
    assert.deepEqual(
      replica.logged.filter((line) => line.includes('load balancer gone')),
      logged,
    );
  });
});
