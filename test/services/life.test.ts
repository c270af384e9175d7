import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { annotations, finalizers } from '../../common/well-known.ts';
import { KubeError } from '../../controller/kube/api.ts';
import { assertConverged } from './harness/converged.ts';
import { createWorld, type Replica, type World } from './harness/world.ts';

const other = 'service.beta.kubernetes.io/simulated-load-balancer-proxy-protocol';

describe('the life of a load balancer', () => {
  let world: World;
  let replica: Replica;
  beforeEach(async () => {
    world = createWorld();
    replica = world.replica();
    world.node('n0');
    world.node('n1');
    await replica.start();
  });
  afterEach(() => world.close());

  it('starts with the finalizer and a record, before the first call that changes the cloud', async () => {
    const seen: string[] = [];
    replica.kube.intercept = ({ verb, body }) => {
      if (verb === 'patch') seen.push(`${JSON.stringify(body)} calls=${world.mutationCount()}`);
    };
    world.services.create('web');
    await world.clock.advance(1000);
    assert.match(seen[0] ?? '', /load-balancer-cleanup.*pending.* calls=0$/);
    assert.equal(seen.length, 2);
    assertConverged(world, 'created');
    assert.deepEqual(replica.reasons('web'), ['EnsuringLoadBalancer', 'EnsuredLoadBalancer']);
    const { id, addresses } = world.loadBalancerOf('web')!;
    assert.equal(
      replica.lastEvent('web'),
      `Ensured load balancer ${id} with ${addresses.map(({ ip }) => ip).join(', ')}`,
    );
    const labels = '{action="create",resource="load_balancer"}';
    assert.equal(await replica.gauge('mooring_load_balancer_steps_total', labels), 1);
  });

  it('shows its mode and the ports of the Service', async () => {
    const ports = [
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'dns-tcp', port: 53, protocol: 'TCP' },
    ];
    world.services.create('dns', { spec: { ports } });
    await world.clock.advance(1000);
    const [ip] = world.loadBalancerOf('dns')?.addresses ?? [];
    assert.deepEqual(world.services.must('dns').status.loadBalancer.ingress, [
      {
        ip: ip?.ip,
        ipMode: 'VIP',
        ports: [
          { port: 53, protocol: 'UDP' },
          { port: 53, protocol: 'TCP' },
        ],
      },
    ]);
  });

  it('tells kube-proxy not to skip it where it ends connections', async () => {
    world.services.create('web', { annotations: { [other]: 'true' } });
    await world.clock.advance(1000);
    assert.equal(world.services.must('web').status.loadBalancer.ingress?.[0]?.ipMode, 'Proxy');
    world.services.annotate('web', { [other]: null });
    await world.clock.advance(1000);
    assert.equal(world.services.must('web').status.loadBalancer.ingress?.[0]?.ipMode, 'VIP');
  });

  it('follows the ports, the ranges, the policy and the affinity, in place', async () => {
    world.services.create('web');
    await world.clock.advance(1000);
    const before = world.loadBalancerOf('web');
    world.services.patch('web', {
      spec: {
        ports: [
          { name: 'http', port: 80, protocol: 'TCP' },
          { name: 'https', port: 443, protocol: 'TCP' },
        ],
        loadBalancerSourceRanges: ['10.0.0.0/8', '10.0.0.0/8'],
        sessionAffinity: 'ClientIP',
        externalTrafficPolicy: 'Local',
        externalIPs: ['203.0.113.7'],
      },
    });
    await world.clock.advance(1000);
    const after = world.loadBalancerOf('web');
    assertConverged(world, 'changed');
    assert.deepEqual([after?.id, after?.addresses], [before?.id, before?.addresses]);
    assert.deepEqual(
      after?.listeners.map(({ sourceRanges }) => sourceRanges),
      [['10.0.0.0/8'], ['10.0.0.0/8']],
    );
    assert.deepEqual(after?.pools[0]?.sessionAffinity, { timeoutSeconds: 10_800 });
    assert.deepEqual(after?.pools[0]?.healthCheck, {
      port: world.services.must('web').spec.healthCheckNodePort,
      path: '/healthz',
    });
    assert.deepEqual(world.services.must('web').spec['externalIPs'], ['203.0.113.7']);
  });

  it('ends in the cloud first: the finalizer goes after a read by id that finds nothing', async () => {
    world.services.create('web');
    await world.clock.advance(1000);
    const id = world.loadBalancerOf('web')?.id;
    const order: string[] = [];
    const start = replica.life.calls.length;
    world.services.delete('web');
    await world.clock.advance(5000);
    order.push(...replica.life.calls.slice(start));
    const last = order.findLastIndex((call) => call.startsWith('cloud'));
    assert.match(order[last] ?? '', /^cloud GET/);
    assert.ok(order.slice(0, last + 1).some((call) => call.includes(`GET`) && call.endsWith(`/load-balancers/${id}`)));
    assert.deepEqual(order.slice(last + 1), ['kube patch /api/v1/namespaces/default/services/web/status']);
    assertConverged(world, 'deleted');
    assert.deepEqual(replica.reasons('web').slice(2), ['DeletingLoadBalancer', 'DeletedLoadBalancer']);
  });

  it('survives the removal of its finalizer, status or condition, which are restored', async () => {
    world.services.create('web');
    await world.clock.advance(1000);
    const before = world.mutationCount();
    world.services.patch('web', { metadata: { finalizers: null } });
    await world.clock.advance(1000);
    assertConverged(world, 'finalizer taken');
    world.services.patchStatus('web', { status: { loadBalancer: { ingress: null } } });
    await world.clock.advance(1000);
    assertConverged(world, 'status wiped');
    world.services.patchStatus('web', { status: { conditions: null } });
    await world.clock.advance(1000);
    assertConverged(world, 'condition wiped');
    world.services.annotate('web', { [annotations.loadBalancer]: null });
    await world.clock.advance(1000);
    assertConverged(world, 'record taken');
    world.services.patch('web', { metadata: { finalizers: null, annotations: { [annotations.loadBalancer]: null } } });
    world.services.patchStatus('web', { status: { loadBalancer: { ingress: null } } });
    await world.clock.advance(1000);
    assertConverged(world, 'everything taken');
    assert.equal(world.mutationCount(), before);
  });

  it('writes the address ever more seldom where another controller overwrites it, and says so', async () => {
    world.services.create('web');
    await world.clock.advance(1000);
    const own = world.services.addresses('web');
    const before = world.mutationCount();
    replica.kube.forgetCalls();
    for (let half = 0; half < 1200; half += 1) {
      if (world.services.addresses('web')[0] === own[0])
        world.services.patchStatus('web', { status: { loadBalancer: { ingress: [{ ip: '203.0.113.5' }] } } });
      await world.clock.advance(500);
    }
    assert.ok(replica.kube.writes().length <= 15, `${replica.kube.writes().length} writes in ten minutes`);
    assert.equal(world.services.condition('web')?.reason, 'AddressOverwritten');
    assert.equal(replica.reasons('web').at(-1), 'SyncLoadBalancerFailed');
    await world.clock.advance(700_000);
    assertConverged(world, 'the other controller is gone');
    assert.deepEqual(world.services.addresses('web'), own);
    assert.equal(world.mutationCount(), before);
  });

  it('says what else is wrong while another controller overwrites its address', async () => {
    world.services.create('web');
    await world.clock.advance(1000);
    const own = world.services.addresses('web');
    const fight = async () => {
      for (let half = 0; half < 600; half += 1) {
        if (world.services.addresses('web')[0] === own[0])
          world.services.patchStatus('web', { status: { loadBalancer: { ingress: [{ ip: '203.0.113.5' }] } } });
        await world.clock.advance(500);
      }
    };
    await fight();
    assert.equal(world.services.condition('web')?.reason, 'AddressOverwritten');
    const selector = 'service.beta.kubernetes.io/simulated-load-balancer-node-selector';
    world.services.annotate('web', { [selector]: 'role=none' });
    await fight();
    assert.equal(world.services.condition('web')?.reason, 'NoMembers');
  });

  it('takes no failed write of its own for that of another client', async () => {
    let fails = true;
    replica.kube.intercept = ({ verb, body }) => {
      if (fails && verb === 'patch' && JSON.stringify(body).includes('ingress'))
        throw new KubeError({ status: 500, reason: 'InternalError', message: 'a webhook is down' });
    };
    world.services.create('web');
    await world.clock.advance(400_000);
    assert.deepEqual(world.services.addresses('web'), []);
    fails = false;
    for (let seconds = 0; seconds < 320; seconds += 1) {
      await world.clock.advance(1000);
      assert.notEqual(world.services.condition('web')?.reason, 'AddressOverwritten');
    }
    assertConverged(world, 'the webhook is up');
    assert.equal(world.services.condition('web')?.reason, 'Ensured');
  });

  it('ends when the finalizer was stripped before the deletion', async () => {
    world.services.create('web');
    await world.clock.advance(1000);
    replica.kube.hold();
    world.services.patch('web', { metadata: { finalizers: null } });
    world.services.delete('web');
    replica.kube.release();
    await world.clock.advance(5000);
    assert.equal(world.services.get('web'), undefined);
    assertConverged(world, 'stripped and deleted');
    assert.deepEqual(replica.reasons('web').slice(-2), ['DeletingLoadBalancer', 'DeletedLoadBalancer']);
  });

  it('ends for the old Service and starts over for one of the same name', async () => {
    world.services.create('web');
    await world.clock.advance(1000);
    const first = world.loadBalancerOf('web')?.id;
    replica.kube.hold();
    world.services.patch('web', { metadata: { finalizers: null } });
    world.services.delete('web');
    world.services.create('web');
    replica.kube.release();
    await world.clock.advance(5000);
    assertConverged(world, 're-created');
    assert.notEqual(world.loadBalancerOf('web')?.id, first);
  });

  it('ends for a Service that was replaced by one of its name without a leader', async () => {
    world.services.create('web');
    await world.clock.advance(1000);
    await replica.stop();
    world.services.patch('web', { metadata: { finalizers: null } });
    world.services.delete('web');
    world.services.create('web');
    const next = world.replica();
    await next.start();
    await world.clock.advance(10_000);
    assertConverged(world, 're-created behind our back');
  });

  it('becomes an orphan where its Service went without a leader: it stays, and is counted', async () => {
    world.services.create('web');
    await world.clock.advance(1000);
    await replica.stop();
    world.services.patch('web', { metadata: { finalizers: null } });
    world.services.delete('web');
    const next = world.replica();
    await next.start();
    await world.clock.advance(1_000_000);
    assert.equal(world.loadBalancers().length, 1);
    assert.equal(await next.gauge('mooring_load_balancers_without_service', `{scope="${world.scope}"}`), 1);
  });

  it('starts over with an event after a removal by hand', async () => {
    world.services.create('web');
    await world.clock.advance(1000);
    const lost = world.loadBalancerOf('web');
    world.cloud.network.loadBalancers.forget(lost?.id ?? '');
    await world.clock.advance(700_000);
    assertConverged(world, 'mended by the audit');
    assert.deepEqual(world.loadBalancerOf('web')?.addresses, lost?.addresses);
    assert.ok(replica.reasons('web').includes('LoadBalancerMissing'));
  });

  it('gets a change by hand reverted by the audit', async () => {
    world.services.create('web');
    await world.clock.advance(1000);
    const { id = '', listeners = [] } = world.loadBalancerOf('web') ?? {};
    world.cloud.network.loadBalancers.deleteListener(id, listeners[0]?.id ?? '');
    await world.clock.advance(700_000);
    assertConverged(world, 'mended by the audit');
    assert.deepEqual(replica.reasons('web').slice(2), ['RepairedLoadBalancer']);
  });

  it('ends with the type, and starts over with it', async () => {
    world.services.create('web');
    await world.clock.advance(1000);
    world.services.patch('web', { spec: { type: 'NodePort' } });
    await world.clock.advance(5000);
    assertConverged(world, 'type changed away');
    assert.equal(world.loadBalancers().length, 0);
    world.services.patch('web', { spec: { type: 'LoadBalancer' } });
    await world.clock.advance(5000);
    assertConverged(world, 'type changed back');
    world.services.patch('web', { spec: { type: 'ClusterIP' } });
    world.services.patch('web', { spec: { type: 'LoadBalancer' } });
    await world.clock.advance(5000);
    assertConverged(world, 'there and back in one moment');
  });

  for (const [what, isLed] of [
    ['under a leader', true],
    ['without one', false],
  ] as const)
    it(`ends with the type also where the record and the finalizer were stripped with it, ${what}`, async () => {
      world.services.create('web');
      await world.clock.advance(1000);
      if (!isLed) await replica.stopLeading();
      world.services.patch('web', { metadata: { annotations: null, finalizers: null }, spec: { type: 'ClusterIP' } });
      if (!isLed) await world.replica().start();
      await world.clock.advance(5000);
      assertConverged(world, 'stripped');
      assert.equal(world.loadBalancers().length, 0);
      const writes = world.services.must('web').metadata.resourceVersion;
      await world.clock.advance(1_300_000);
      assert.equal(world.services.must('web').metadata.resourceVersion, writes);
    });

  for (const [what, isLed] of [
    ['under a leader', true],
    ['without one', false],
  ] as const)
    it(`ends where the record was stripped and the class became another controller's, ${what}`, async () => {
      world.services.create('web');
      await world.clock.advance(1000);
      if (!isLed) await replica.stopLeading();
      world.services.patch('web', { metadata: { annotations: null, finalizers: null }, spec: { type: 'ClusterIP' } });
      world.services.patch('web', { spec: { type: 'LoadBalancer', loadBalancerClass: 'example.com/other' } });
      world.services.patchStatus('web', { status: { loadBalancer: { ingress: [{ ip: '203.0.113.5' }] } } });
      if (!isLed) await world.replica().start();
      await world.clock.advance(5000);
      assert.equal(world.loadBalancers().length, 0);
      const { metadata, status } = world.services.must('web');
      assert.deepEqual([metadata.annotations, status.conditions?.length ?? 0], [undefined, 0]);
      assert.deepEqual(world.services.addresses('web'), ['203.0.113.5']);
      await world.clock.advance(1_300_000);
      assert.equal(world.services.must('web').metadata.resourceVersion, metadata.resourceVersion);
    });

  it('adds and removes members as an update of hosts', async () => {
    world.services.create('web');
    await world.clock.advance(1000);
    world.node('n2');
    await world.clock.advance(5000);
    assertConverged(world, 'one more');
    assert.deepEqual(replica.reasons('web').slice(2), ['UpdatedLoadBalancer']);
    assert.equal(await replica.gauge('service_controller_loadbalancer_sync_total'), 1);
  });

  it('continues without Nodes and says so', async () => {
    world.cluster.remove('n0');
    world.cluster.remove('n1');
    await world.clock.advance(10_000);
    world.services.create('web');
    await world.clock.advance(1000);
    assert.equal(world.services.condition('web')?.reason, 'NoMembers');
    assert.equal(world.services.addresses('web').length, 1);
    assert.ok(replica.reasons('web').includes('UnAvailableLoadBalancer'));
    world.node('n5');
    await world.clock.advance(5000);
    assertConverged(world, 'the first Node');
  });

  it('keeps its address when the Service is retained, without an owner', async () => {
    world.services.create('web', { annotations: { [annotations.loadBalancerRetain]: 'true' } });
    await world.clock.advance(1000);
    const before = world.loadBalancerOf('web');
    world.services.delete('web');
    await world.clock.advance(5000);
    assert.equal(world.services.get('web'), undefined);
    const [left] = world.loadBalancers();
    assert.deepEqual([left?.id, left?.addresses], [before?.id, before?.addresses]);
    assert.equal(left?.tags['mooring.dev/service-uid'], undefined);
    assert.equal(left?.tags['mooring.dev/retained'], 'default/web');
    await world.clock.advance(1_300_000);
    assert.equal(await replica.gauge('mooring_load_balancers_without_service', `{scope="${world.scope}"}`), 0);
  });

  it('serves on when its retention has failed half way and it gets its type back', async () => {
    world.services.create('web', { annotations: { [annotations.loadBalancerRetain]: 'true' } });
    await world.clock.advance(5000);
    const before = world.loadBalancerOf('web');
    world.cloud.faults.add({ operation: 'load-balancers.update', effect: { kind: 'error', status: 503 } });
    world.services.patch('web', { spec: { type: 'ClusterIP' } });
    await world.clock.advance(3000);
    const [half] = world.loadBalancers();
    assert.equal(half?.pools[0]?.tags['mooring.dev/retained'], 'default/web');
    world.services.patch('web', { spec: { type: 'LoadBalancer' } });
    world.cloud.faults.clear();
    world.node('n9');
    await world.clock.advance(60_000);
    assert.equal(world.services.condition('web')?.reason, 'Ensured');
    assert.equal(world.loadBalancerOf('web')?.id, before?.id);
    assertConverged(world, 'taken back');
    const tags = world.loadBalancers().flatMap((one) => [one, ...one.pools, ...one.listeners].map((each) => each.tags));
    assert.ok(tags.every((one) => one['mooring.dev/retained'] === undefined));
  });

  it('says what makes a load balancer its own again that was kept when it got another type', async () => {
    const { uid } = world.services.create('web', {
      annotations: { [annotations.loadBalancerRetain]: 'true' },
    }).metadata;
    await world.clock.advance(5000);
    const before = world.loadBalancerOf('web');
    world.services.patch('web', { spec: { type: 'ClusterIP' } });
    await world.clock.advance(5000);
    world.services.patch('web', { spec: { type: 'LoadBalancer' } });
    await world.clock.advance(5000);
    const condition = world.services.condition('web');
    assert.equal(condition?.reason, 'ForeignLoadBalancer');
    assert.match(
      condition?.message ?? '',
      new RegExp(`${before?.id} .* the tag mooring.dev/service-uid with ${uid} again`),
    );
    Object.assign(world.loadBalancers()[0]!.tags, { 'mooring.dev/service-uid': uid });
    await world.clock.advance(1_300_000);
    assert.deepEqual(
      [world.loadBalancerOf('web')?.id, world.services.condition('web')?.reason],
      [before?.id, 'Ensured'],
    );
  });

  it('starts for a Service without node ports', async () => {
    world.services.create('web', { spec: { allocateLoadBalancerNodePorts: false } });
    await world.clock.advance(1000);
    assert.equal(world.services.must('web').spec.ports[0]?.nodePort, undefined);
    assert.equal(world.services.condition('web')?.reason, 'Ensured');
    world.services.delete('web');
    await world.clock.advance(5000);
    assertConverged(world, 'deleted');
  });

  it('ignores changes of the Service that do not concern it', async () => {
    world.services.create('web');
    await world.clock.advance(1000);
    const [reads, changes] = [world.readCount(), world.mutationCount()];
    replica.kube.forgetCalls();
    world.services.patch('web', { metadata: { labels: { a: 'b' }, annotations: { 'example.com/x': '1' } } });
    world.services.patch('web', { spec: { selector: { app: 'y' }, externalIPs: ['203.0.113.7'] } });
    world.services.create('inner', { spec: { type: 'ClusterIP' } });
    world.services.delete('inner');
    world.node('n0-tainted');
    world.cluster.setReady('n0', 'False');
    world.cluster.remove('n0-tainted');
    await world.clock.advance(500);
    assert.deepEqual([world.readCount(), world.mutationCount()], [reads, changes]);
    assert.deepEqual(replica.kube.writes(), []);
  });

  it('ends although another controller’s finalizer keeps the Service', async () => {
    world.services.create('web', { finalizers: ['example.com/hold'] });
    await world.clock.advance(1000);
    world.services.delete('web');
    await world.clock.advance(5000);
    assert.deepEqual(world.services.must('web').metadata.finalizers, ['example.com/hold']);
    assert.equal(world.loadBalancers().length, 0);
    const before = world.mutationCount();
    await replica.stop();
    const next = world.replica();
    await next.start();
    await world.clock.advance(700_000);
    assert.deepEqual([world.mutationCount(), next.kube.writes(), next.reasons('web')], [before, [], []]);
    assert.equal(world.services.must('web').status.loadBalancer.ingress, undefined);
    assert.notEqual(finalizers.loadBalancerCleanup, 'example.com/hold');
  });
});

it('a Service of two families has an address of each', async () => {
  const world = createWorld({ families: ['IPv6', 'IPv4'] });
  world.node('n0');
  const replica = world.replica();
  await replica.start();
  world.services.create('web');
  await world.clock.advance(1000);
  const families = world.services.addresses('web').map((address) => (address.includes(':') ? 'IPv6' : 'IPv4'));
  assert.deepEqual(families.sort(), ['IPv4', 'IPv6']);
  assertConverged(world, 'dual stack');
  await world.close();
});
