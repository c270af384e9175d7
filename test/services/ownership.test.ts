import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { annotations, finalizers } from '../../common/well-known.ts';
import { strictPolicy } from '../../controller/services/operator-policy.ts';
import { assertConverged } from './harness/converged.ts';
import { createWorld, type Replica, type World } from './harness/world.ts';

const cleanup = finalizers.loadBalancerCleanup;

const allowing = (id: string) => ({ ...strictPolicy, attachable: [{ id, holder: undefined }] });

describe('foreign resources', () => {
  let world: World;
  let replica: Replica;
  beforeEach(async () => {
    world = createWorld({ task: { policy: allowing('lb-none'), loadBalancerClasses: ['example.com/ours'] } });
    replica = world.replica();
    world.node('n0');
    await replica.start();
  });
  afterEach(() => world.close());

  /** A load balancer that a person made. */
  function foreign(name: string, tags: Readonly<Record<string, string>> = {}) {
    const { loadBalancer } = world.cloud.network.loadBalancers.create('demo/sim-1', {
      name,
      tags,
      scheme: 'external',
      families: ['IPv4'],
      addresses: [],
      listeners: [],
      pools: [],
      clientToken: undefined,
    });
    return loadBalancer;
  }

  it('leaves a Service alone that has the finalizer of another controller', async () => {
    world.services.create('web', { finalizers: [cleanup] });
    await world.clock.advance(5000);
    assert.equal(world.services.condition('web')?.reason, 'AdoptionRequired');
    assert.deepEqual(world.mutations(), {});
    assert.deepEqual(world.services.must('web').metadata.annotations, undefined);
    assert.deepEqual(replica.reasons('web'), ['SyncLoadBalancerFailed']);
    world.services.delete('web');
    await world.clock.advance(700_000);
    assert.deepEqual(world.services.must('web').metadata.finalizers, [cleanup]);
    assert.deepEqual(world.mutations(), {});
    assert.deepEqual(replica.reasons('web'), ['SyncLoadBalancerFailed']);
  });

  it('leaves a Service alone that shows a foreign address', async () => {
    await replica.stopLeading();
    world.services.create('web');
    world.services.patchStatus('web', { status: { loadBalancer: { ingress: [{ ip: '203.0.113.5' }] } } });
    const next = world.replica();
    await next.start();
    await world.clock.advance(5000);
    assert.equal(world.services.condition('web')?.reason, 'AdoptionRequired');
    assert.deepEqual(world.services.addresses('web'), ['203.0.113.5']);
    assert.equal(world.services.must('web').metadata.finalizers, undefined);
    assert.deepEqual(world.mutations(), {});
    world.services.patchStatus('web', { status: { loadBalancer: { ingress: null } } });
    await world.clock.advance(5000);
    assertConverged(world, 'the address was taken away by a person');
  });

  for (const [what, come] of [
    [
      'an address',
      () => world.services.patchStatus('web', { status: { loadBalancer: { ingress: [{ ip: '203.0.113.5' }] } } }),
    ],
    ['the finalizer', () => world.services.patch('web', { metadata: { finalizers: [cleanup] } })],
  ] as const)
    it(`leaves a Service alone that gets ${what} of another controller just before its claim`, async () => {
      let isFirst = true;
      replica.kube.intercept = ({ verb }) => {
        if (verb !== 'patch' || !isFirst) return;
        isFirst = false;
        come();
      };
      world.services.create('web');
      await world.clock.advance(5000);
      assert.equal(world.services.condition('web')?.reason, 'AdoptionRequired');
      assert.equal(world.services.must('web').metadata.annotations, undefined);
      assert.deepEqual(world.mutations(), {});
    });

  it('leaves a Service of another class untouched, with its finalizer', async () => {
    world.services.create('web', { spec: { loadBalancerClass: 'example.com/other' }, finalizers: [cleanup] });
    await world.clock.advance(5000);
    world.services.delete('web');
    await world.clock.advance(700_000);
    assert.deepEqual(world.services.must('web').metadata.finalizers, [cleanup]);
    assert.deepEqual([replica.kube.writes(), replica.events, world.mutationCount()], [[], [], 0]);
  });

  it("serves a Service of our class, and releases it when its class becomes another's", async () => {
    world.services.create('web', { spec: { loadBalancerClass: 'example.com/ours' } });
    await world.clock.advance(5000);
    assert.equal(world.services.condition('web')?.reason, 'Ensured');
    await replica.stopLeading();
    world.services.patch('web', { spec: { type: 'ClusterIP', loadBalancerClass: null } });
    world.services.patch('web', { spec: { type: 'LoadBalancer', loadBalancerClass: 'example.com/other' } });
    world.services.patchStatus('web', { status: { loadBalancer: { ingress: [{ ip: '203.0.113.5' }] } } });
    const next = world.replica();
    await next.start();
    await world.clock.advance(10_000);
    const { metadata, status } = world.services.must('web');
    assert.equal(world.loadBalancers().length, 0);
    assert.deepEqual(metadata.annotations, undefined);
    assert.deepEqual(metadata.finalizers ?? [], []);
    assert.deepEqual(world.services.addresses('web'), ['203.0.113.5']);
    assert.equal(status.conditions?.length ?? 0, 0);
    world.services.delete('web');
    assert.equal(world.services.get('web'), undefined);
  });

  for (const record of ['lb-1', 'pending', 'pending notes:class:example.com/other'])
    it(`keeps the finalizer of a Service of another class that a manifest gave our record, ${record}`, async () => {
      const copied = { [annotations.loadBalancer]: `${world.scope} ${record}` };
      const spec = { loadBalancerClass: 'example.com/other' };
      world.services.create('web', { spec, annotations: copied, finalizers: [cleanup] });
      await world.clock.advance(60_000);
      const { metadata, status } = world.services.must('web');
      assert.deepEqual([metadata.annotations, metadata.finalizers], [undefined, [cleanup]]);
      assert.equal(status.conditions?.length ?? 0, 0);
    });

  it('removes the finalizer of a Service whose class changes while its load balancer is being deleted', async () => {
    await world.close();
    world = createWorld({ deletingMs: 30_000 });
    world.node('n0');
    await world.replica().start();
    world.services.create('web');
    await world.clock.advance(5000);
    world.services.patch('web', { spec: { type: 'ClusterIP' } });
    await world.clock.advance(5000);
    assert.equal(world.loadBalancers().length, 1);
    world.services.patch('web', { spec: { type: 'LoadBalancer', loadBalancerClass: 'example.com/other' } });
    await world.clock.advance(120_000);
    assert.equal(world.loadBalancers().length, 0);
    assert.deepEqual(world.services.must('web').metadata.finalizers ?? [], []);
  });

  it('takes nothing from a Service of our class as a leader without the flag, and says so', async () => {
    world.services.create('web', { spec: { loadBalancerClass: 'example.com/ours' } });
    await world.clock.advance(5000);
    await replica.stopLeading();
    const shown = world.services.addresses('web');
    const [changes, { metadata }] = [world.mutationCount(), world.services.must('web')];
    const next = world.replica({ task: { loadBalancerClasses: [] } });
    await next.start();
    world.node('n1');
    await world.clock.advance(1_300_000);
    assert.equal(world.services.condition('web')?.reason, 'ClassNotServed');
    assert.match(world.services.condition('web')?.message ?? '', /stays.*--load-balancer-class.*example\.com\/ours/);
    assert.deepEqual(next.reasons('web'), ['SyncLoadBalancerFailed']);
    assert.deepEqual([world.mutationCount(), world.services.addresses('web')], [changes, shown]);
    assert.deepEqual(world.services.must('web').metadata.annotations, metadata.annotations);
    await next.stopLeading();
    const last = world.replica();
    await last.start();
    await world.clock.advance(5000);
    assert.equal(world.services.condition('web')?.reason, 'Ensured');
    assert.equal(world.loadBalancerOf('web')?.pools[0]?.members.length, 2);
  });

  it('writes the class into the record of an earlier version, without a change in the cloud', async () => {
    world.services.create('web', { spec: { loadBalancerClass: 'example.com/ours' } });
    await world.clock.advance(5000);
    const key = annotations.loadBalancer;
    const record = world.services.must('web').metadata.annotations?.[key] ?? '';
    assert.match(record, /class:example\.com\/ours$/);
    const changes = world.mutationCount();
    world.services.annotate('web', { [key]: record.replace(/(;| notes:)class:.*/, '') });
    await world.clock.advance(5000);
    assert.equal(world.services.must('web').metadata.annotations?.[key], record);
    assert.equal(world.mutationCount(), changes);
  });

  for (const [what, end] of [
    ['deleted', () => world.services.delete('web')],
    ['given another type', () => world.services.patch('web', { spec: { type: 'NodePort', loadBalancerClass: null } })],
  ] as const)
    it(`deletes what it created for an earlier class when the Service is ${what}`, async () => {
      world.services.create('web', { spec: { loadBalancerClass: 'example.com/ours' } });
      await world.clock.advance(5000);
      await replica.stopLeading();
      await world.replica({ task: { loadBalancerClasses: [] } }).start();
      await world.clock.advance(5000);
      end();
      await world.clock.advance(60_000);
      assert.equal(world.loadBalancers().length, 0);
      assert.deepEqual(world.services.get('web')?.metadata.finalizers ?? [], []);
    });

  it('leaves a load balancer of our name untouched, and names it in the condition', async () => {
    const service = world.services.create('later', { spec: { type: 'ClusterIP' } });
    const name = `a${service.metadata.uid.replaceAll('-', '')}`.slice(0, 32);
    const theirs = foreign(name);
    world.services.patch('later', { spec: { type: 'LoadBalancer' } });
    await world.clock.advance(20_000);
    assert.equal(world.services.condition('later')?.reason, 'ForeignLoadBalancer');
    assert.deepEqual(world.loadBalancers(), [theirs]);
    assert.ok(replica.reasons('later').includes('SyncLoadBalancerFailed'));
    world.cloud.network.loadBalancers.forget(theirs.id);
    await world.clock.advance(400_000);
    assertConverged(world, 'out of the way');
  });

  it('leaves foreign load balancers unchanged that a forged record names', async () => {
    const theirs = foreign('theirs');
    const record = { [annotations.loadBalancer]: `${world.scope} ${theirs.id}` };
    world.services.create('web', { annotations: record, finalizers: [cleanup] });
    await world.clock.advance(20_000);
    assert.notEqual(world.loadBalancerOf('web')?.id, theirs.id);
    world.services.annotate('web', record);
    world.services.delete('web');
    await world.clock.advance(20_000);
    assert.equal(world.services.get('web'), undefined);
    assert.deepEqual(world.loadBalancers(), [theirs]);
  });

  it('keeps the record of a scope that is not configured, and the finalizer with it', async () => {
    const record = { [annotations.loadBalancer]: 'http://cloud/demo/sim-9 lb-1' };
    world.services.create('web', { annotations: record, finalizers: [cleanup] });
    await world.clock.advance(5000);
    assert.equal(world.services.condition('web')?.reason, 'ScopeNotServed');
    world.services.delete('web');
    await world.clock.advance(5000);
    assert.deepEqual(world.services.must('web').metadata.finalizers, [cleanup]);
    assert.deepEqual(world.mutations(), {});
  });

  describe('a load balancer that a person names', () => {
    const attach = (id: string) => ({ [annotations.loadBalancerId]: id });

    it('refuses a foreign load balancer that a person names without consent', async () => {
      const theirs = foreign('theirs');
      world.services.create('web', { annotations: attach(theirs.id) });
      await world.clock.advance(5000);
      assert.equal(world.services.condition('web')?.reason, 'ForeignLoadBalancer');
      assert.deepEqual(world.loadBalancers(), [theirs]);
      assert.deepEqual(world.services.addresses('web'), []);
      world.services.delete('web');
      await world.clock.advance(20_000);
      assert.equal(world.services.get('web'), undefined);
      assert.deepEqual(world.loadBalancers(), [theirs]);
    });

    it('uses a foreign load balancer with its consent tag, and leaves it whole when the Service goes', async () => {
      const theirs = foreign('theirs', { 'mooring.dev/attachable-by': `${world.clusterUid}/default` });
      world.services.create('web', { annotations: attach(theirs.id) });
      await world.clock.advance(5000);
      assert.equal(world.services.condition('web')?.reason, 'Ensured');
      assert.deepEqual(
        world.services.addresses('web'),
        theirs.addresses.map(({ ip }) => ip),
      );
      assert.equal(world.loadBalancers()[0]?.listeners.length, 1);
      // What may be made is written down before the first call, and its ids with the status.
      const sent = replica.life.calls.filter((call) => !call.startsWith('cloud GET'));
      assert.deepEqual(
        sent.map((call) => call.replace(/ .*/, '')),
        ['kube', 'cloud', 'cloud', 'kube'],
        sent.join('; '),
      );
      await replica.stop();
      const next = world.replica();
      const before = world.mutationCount();
      await next.start();
      await world.clock.advance(700_000);
      assert.deepEqual([world.mutationCount(), next.kube.writes()], [before, []]);
      world.services.delete('web');
      await world.clock.advance(20_000);
      assert.equal(world.services.get('web'), undefined);
      const [left] = world.loadBalancers();
      assert.deepEqual([left?.id, left?.listeners, left?.pools], [theirs.id, [], []]);
    });

    it('uses a foreign load balancer where the operator allows it', async () => {
      const theirs = foreign('theirs');
      await replica.stop();
      const other = world.replica({ task: { policy: allowing(theirs.id) } });
      await other.start();
      world.services.create('web', { annotations: attach(theirs.id) });
      await world.clock.advance(5000);
      assert.equal(world.services.condition('web')?.reason, 'Ensured');
    });

    it('moves to a foreign load balancer as soon as consent is given and the old one may go', async () => {
      world.services.create('web');
      await world.clock.advance(5000);
      const own = world.loadBalancerOf('web');
      const theirs = foreign('theirs');
      world.services.annotate('web', attach(theirs.id));
      await world.clock.advance(5000);
      assert.ok(['AddressWouldChange', 'ForeignLoadBalancer'].includes(world.services.condition('web')?.reason ?? ''));
      assert.deepEqual(
        world.services.addresses('web'),
        own?.addresses.map(({ ip }) => ip),
      );
      world.cloud.network.loadBalancers.update(theirs.id, {
        tags: { 'mooring.dev/attachable-by': `${world.clusterUid}/default` },
      });
      world.services.annotate('web', { [annotations.allowAddressChange]: 'true' });
      await world.clock.advance(700_000);
      assert.equal(world.services.condition('web')?.reason, 'Ensured');
      assert.deepEqual(
        world.services.addresses('web'),
        theirs.addresses.map(({ ip }) => ip),
      );
      assert.deepEqual(
        world.loadBalancers().map(({ id }) => id),
        [theirs.id],
      );
      assert.match(
        world.services.must('web').metadata.annotations?.[annotations.loadBalancer] ?? '',
        new RegExp(` ${theirs.id}( |$)`),
      );
    });
  });

  it('gets an address that it names as soon as that exists', async () => {
    // The first one that the cloud gives away.
    const ip = '198.19.0.1';
    world.services.create('web', { spec: { loadBalancerIP: ip } });
    await world.clock.advance(60_000);
    assert.equal(world.services.condition('web')?.reason, 'Unsupported');
    assert.deepEqual(world.loadBalancers(), []);
    const { address } = world.cloud.network.addresses.reserve('demo/sim-1', {
      scheme: 'external',
      family: 'IPv4',
      tags: { 'mooring.dev/attachable-by': `${world.clusterUid}/default` },
    });
    assert.equal(address.ip, ip);
    await world.clock.advance(400_000);
    assert.deepEqual(world.services.addresses('web'), [ip]);
  });

  it('changes its address only with consent', async () => {
    const internal = 'service.beta.kubernetes.io/simulated-load-balancer-internal';
    world.services.create('web');
    await world.clock.advance(5000);
    const before = world.services.addresses('web');
    world.services.annotate('web', { [internal]: 'true' });
    await world.clock.advance(5000);
    assert.equal(world.services.condition('web')?.reason, 'AddressWouldChange');
    assert.deepEqual(world.services.addresses('web'), before);
    world.services.annotate('web', { [annotations.allowAddressChange]: 'true' });
    await world.clock.advance(20_000);
    assertConverged(world, 'with consent');
    assert.notDeepEqual(world.services.addresses('web'), before);
  });
});

describe('several clouds with load balancers', () => {
  let world: World;
  let replica: Replica;
  beforeEach(async () => {
    world = createWorld({ regions: ['sim-1', 'sim-2'] });
    replica = world.replica();
    world.node('n0');
    await replica.start();
  });
  afterEach(() => world.close());

  it('serves a Service by the cloud that it names, and keeps it there by the record', async () => {
    world.services.create('web');
    await world.clock.advance(2000);
    assert.equal(world.services.condition('web')?.reason, 'CloudNotChosen');
    assert.deepEqual(world.mutations(), {});
    world.services.annotate('web', { [annotations.cloud]: 'http://cloud/demo/sim-1' });
    await world.clock.advance(2000);
    assertConverged(world, 'chosen');
    const before = world.mutationCount();
    world.services.annotate('web', { [annotations.cloud]: 'http://cloud/demo/sim-2' });
    await world.clock.advance(2000);
    assert.equal(world.mutationCount(), before);
    assert.ok(replica.reasons('web').includes('SyncLoadBalancerFailed'));
  });
});
