import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import { classicName, classicTags } from '../../controller/clouds/simulated/adoption.ts';
import { printPlan } from '../../controller/commands/plan/print-plan.ts';
import { isEmptyPlan, type Plan } from '../../controller/dry-run/planned-change.ts';
import { type KubeApi, type KubeCall, KubeError } from '../../controller/kube/api.ts';
import { readClusterUid } from '../../controller/kube/cluster-identity.ts';
import { type InProcessKube, inProcessKube } from '../nodes/harness/kube-in-process.ts';
import { createWorld, type World } from '../services/harness/world.ts';
import { planOf } from './harness/plan-of.ts';

describe('the plan', () => {
  let world: World;
  let kube: InProcessKube;

  beforeEach(() => {
    world = createWorld({ task: { clusterUid: () => readClusterUid(kube) } });
    kube = inProcessKube(world.core, world.clock);
  });
  afterEach(() => world.close());

  const plan = (flags: readonly string[] = [], api: KubeApi = kube) =>
    planOf({ api, cloud: world.cloud, clock: world.clock }, ['--cluster-name=blue', ...flags]);

  const ofService = ({ changes }: Plan) => changes.filter(({ object }) => object === 'service default/web');

  for (const resource of ['nodes', 'services']) {
    it(`fails where it may not list ${resource}, instead of waiting for them`, async () => {
      const denied = new KubeError({ status: 403, reason: 'Forbidden', message: `${resource} is forbidden` });
      const api: KubeApi = {
        watch: (call) => kube.watch(call),
        call: async <T>(call: KubeCall) => {
          if (call.path === `/api/v1/${resource}`) throw denied;
          return kube.call<T>(call);
        },
      };
      await assert.rejects(plan([], api), denied);
    });
  }

  it('names what it would adopt, and how to', async () => {
    world.node('n0');
    const first = world.replica();
    await first.start();
    world.services.create('web');
    await world.clock.advance(10_000);
    await first.stop();
    const [made] = world.loadBalancers();
    assert.ok(made);
    const tags = { [classicTags.cluster]: 'blue', [classicTags.service]: 'default/web' };
    world.cloud.network.loadBalancers.stripTags(made.id);
    world.cloud.network.loadBalancers.update(made.id, { name: classicName('blue', 'default/web'), tags });
    for (const { id } of world.cloud.network.addresses.store.all()) world.cloud.network.addresses.setTags(id, tags);
    world.services.annotate('web', { [annotations.loadBalancer]: null });
    world.services.patchStatus('web', { status: { conditions: null } });
    await world.clock.advance(10_000);
    const before = world.mutationCount();
    const without = ofService(await plan());
    const held = without.find(({ action }) => action === 'hold');
    assert.match(held?.what ?? '', /AdoptionRequired.*--adopt/);
    assert.deepEqual(new Set(without.map(({ of }) => of)), new Set(['kubernetes']));
    const planned = ofService(await plan(['--adopt']));
    assert.deepEqual(
      planned.map(({ of }) => of),
      ['kubernetes', 'kubernetes'],
    );
    assert.match(planned[0]?.what ?? '', new RegExp(`annotation mooring.dev/load-balancer: .* ${made.id} adopted:`));
    assert.match(planned[1]?.what ?? '', /condition CloudLoadBalancer=True \(Ensured\)/);
    assert.equal(world.mutationCount(), before);
  });

  it('names the very calls that a run then makes, and changes nothing itself', async () => {
    world.node('n0');
    world.services.create('web');
    const planned = await plan();
    assert.deepEqual(planned.problems, []);
    assert.equal(world.mutationCount(), 0);
    assert.deepEqual(kube.writes(), []);
    const replica = world.replica();
    await replica.start();
    await world.clock.advance(30_000);
    const inCloud = ofService(planned).filter(({ of }) => of !== 'kubernetes');
    assert.equal(inCloud.length, world.mutationCount(), printPlan(planned));
    assert.deepEqual([...new Set(inCloud.map(({ action }) => action))], ['create']);
    await replica.stop();
    const { changes } = await plan();
    assert.ok(isEmptyPlan({ changes: changes.filter(({ object }) => !object.startsWith('node ')), problems: [] }));
  });

  it('shows a change of a port as one update, and a Service that goes as deletions', async () => {
    world.node('n0');
    world.services.create('web');
    const replica = world.replica();
    await replica.start();
    await world.clock.advance(30_000);
    await replica.stop();
    world.services.patch('web', { spec: { ports: [{ name: 'http', port: 81, protocol: 'TCP' }] } });
    const changed = ofService(await plan()).filter(({ of }) => of !== 'kubernetes');
    assert.match(changed.map(({ what }) => what).join('; '), /81/);
    world.services.delete('web');
    const gone = ofService(await plan()).filter(({ of }) => of !== 'kubernetes');
    assert.ok(gone.length > 0 && gone.every(({ action }) => action === 'delete'));
  });

  it('names the routes that Nodes lack', async () => {
    world.node('n0');
    world.cluster.mergePatch('n0', { spec: { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24'] } });
    const { changes } = await plan(['--cluster-cidr=10.244.0.0/16']);
    assert.deepEqual(
      changes.filter(({ object }) => object.startsWith('route ')).map(({ object, action }) => [object, action]),
      [['route 10.244.1.0/24', 'create']],
    );
  });

  it('reports a problem while the cloud does not answer', async () => {
    world.node('n0');
    world.services.create('web');
    world.cloud.faults.add({ operation: 'load-balancers.list', effect: { kind: 'error', status: 503 } });
    const { problems } = await plan();
    assert.match(problems.join(), /load balancers of .*503/);
  });

  it('reports a problem with a cloud without a credential, unless that is on purpose', async () => {
    const cloud = { scope: 'report:aws', accepts: () => false, selector: undefined, api: undefined };
    const clouds = [
      { ...cloud, name: 'aws', reportOnly: 'no AWS credential', unidentified: { why: 'no AWS credential' } },
      { ...cloud, name: 'oci', scope: 'report:oci' },
    ];
    const doubtful = await planOf({ api: kube, cloud: world.cloud, clock: world.clock, clouds });
    assert.match(doubtful.problems.join(), /^aws is report-only \(no AWS credential\): .*--report-only=aws$/);
    const onPurpose = await planOf({
      api: kube,
      cloud: world.cloud,
      clock: world.clock,
      clouds,
      reportOnly: new Set(['aws']),
    });
    assert.deepEqual(onPurpose.problems, []);
    assert.match(
      printPlan(onPurpose),
      /^! +cloud aws +it is report-only \(no AWS credential\): nothing .*\n! +cloud oci/m,
    );
  });
});
