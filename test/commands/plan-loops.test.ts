import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { annotations, names } from '../../common/well-known.ts';
import { isEmptyPlan, type Plan, type PlannedChange } from '../../controller/dry-run/planned-change.ts';
import { type KubeApi, type KubeCall, KubeError } from '../../controller/kube/api.ts';
import { readClusterUid } from '../../controller/kube/cluster-identity.ts';
import { isMutating } from '../../controller/kube/fence.ts';
import { reportScope } from '../../controller/model/scope-record.ts';
import { type InProcessKube, inProcessKube } from '../nodes/harness/kube-in-process.ts';
import { createWorld, type World } from '../services/harness/world.ts';
import { planOf } from './harness/plan-of.ts';

const routed = ['--cluster-cidr=10.244.0.0/16'];
const allocating = ['--controllers=*,nodeipam', '--allocate-node-cidrs', ...routed];
const minutes = 60_000;

describe('the plan of every loop of run', () => {
  let world: World;
  let kube: InProcessKube;

  beforeEach(() => {
    world = createWorld({ task: { clusterUid: () => readClusterUid(kube) } });
    kube = inProcessKube(world.core, world.clock);
  });
  afterEach(() => world.close());

  const plan = (...flags: string[]) => planOf({ api: kube, cloud: world.cloud, clock: world.clock }, flags);
  const of = ({ changes }: Plan, object: string) => changes.filter((change) => change.object === object);
  const texts = (changes: readonly PlannedChange[]) => changes.map(({ what }) => what).join('; ');

  /** A Node whose kubelet is silent. */
  function silence(name: string): void {
    world.cluster.setReady(name, 'Unknown');
    world.cluster.renewLease(name, 10 * minutes);
  }

  it('gives pod ranges and then their routes, as far as --controllers and --allocate-node-cidrs say', async () => {
    world.node('n0');
    world.node('n1');
    const made = await plan(...allocating);
    assert.match(texts(of(made, 'node n0')), /spec podCIDRs: \["10\.244\.\d\.0\/24"\]/);
    const routes = made.changes.filter(({ object }) => object.startsWith('route '));
    assert.deepEqual(routes.map(({ object, action }) => `${action} ${object}`).sort(), [
      'create route 10.244.0.0/24',
      'create route 10.244.1.0/24',
    ]);
    for (const flags of [routed, ['--controllers=*,nodeipam,-node-route-controller', ...routed]]) {
      const { changes } = await plan(...flags);
      assert.doesNotMatch(texts(changes), /podCIDR/);
      assert.ok(!changes.some(({ object }) => object.startsWith('route ')));
    }
    assert.deepEqual(kube.writes(), []);
  });

  it('says when a Node whose VM is gone would be deleted, and why it is kept until then', async () => {
    const vm = world.node('n0');
    world.node('n1');
    world.cloud.model.terminate(vm.id);
    await world.clock.advance(minutes);
    world.cloud.model.forget(vm.id);
    silence('n0');
    const made = of(await plan(), 'node n0');
    const deletion = made.find(({ action }) => action === 'delete');
    assert.ok((deletion?.inMs ?? 0) > 30_000, JSON.stringify(made));
    assert.match(deletion?.what ?? '', /the cloud has no such instance/);
    const now = of(await plan('--ahead=0s'), 'node n0');
    assert.ok(!now.some(({ action }) => action === 'delete'));
    assert.ok(world.cluster.node('n0'));
  });

  it('adds the taint out-of-service only with its flag', async () => {
    const vm = world.node('n0');
    world.node('n1');
    world.cloud.model.stop(vm.id);
    await world.clock.advance(minutes);
    silence('n0');
    assert.match(texts(of(await plan(), 'node n0')), /shutdown:NoSchedule/);
    assert.doesNotMatch(texts(of(await plan(), 'node n0')), /out-of-service/);
    assert.match(texts(of(await plan('--out-of-service-taint'), 'node n0')), /out-of-service:NoExecute/);
  });

  it('removes the member and the route of a Node that vanished unexplained, within their budget', async () => {
    for (const [index, name] of ['n0', 'n1', 'n2'].entries()) {
      world.node(name);
      const podCIDR = `10.244.${index}.0/24`;
      world.cluster.mergePatch(name, { spec: { podCIDR, podCIDRs: [podCIDR] } });
    }
    world.services.create('web');
    const replica = world.replica();
    await replica.start();
    await world.clock.advance(minutes);
    await replica.stop();
    world.cluster.remove('n0');
    const made = of(await plan(...routed), 'service default/web').filter(({ of: where }) => where !== 'kubernetes');
    assert.match(texts(made), /members of .*: 1 removed, 2 in all/);
    assert.ok(made.every(({ inMs }) => (inMs ?? 0) >= 30_000));
  });

  it('deletes an orphan that is old enough only with --delete-orphans, and always tells of it', async () => {
    world.node('n0');
    world.services.create('web');
    const replica = world.replica();
    await replica.start();
    await world.clock.advance(minutes);
    await replica.stop();
    const { uid } = world.services.must('web').metadata;
    world.services.patch('web', { metadata: { finalizers: null } });
    world.services.delete('web');
    await world.clock.advance(20 * minutes);
    const told = await plan();
    assert.match(texts(told.changes), new RegExp(`OrphanedLoadBalancer: .*${uid}`));
    assert.ok(!told.changes.some(({ action }) => action === 'delete'));
    const waiting = await plan('--delete-orphans');
    assert.ok(!waiting.changes.some(({ action }) => action === 'delete'), 'sweeps have to have seen it for a day');
    assert.match(texts(waiting.changes), /deleted on \d{4}-\d\d-\d\dT.* at the earliest/);
    const later = await plan('--delete-orphans', '--ahead=25h');
    const deletions = later.changes.filter(({ action }) => action === 'delete');
    assert.ok(deletions.length > 0 && deletions.every(({ inMs }) => (inMs ?? 0) >= 23 * 60 * minutes));
    assert.doesNotMatch(texts(later.changes), /OrphanedLoadBalancer/);
  });

  it('tells of a Service that no configured cloud could serve, and when its condition follows', async () => {
    world.services.create('web');
    const scope = reportScope('gce');
    const clouds = [{ name: 'gce', scope, accepts: () => false, selector: undefined, api: undefined }];
    const made = await planOf({ api: kube, cloud: world.cloud, clock: world.clock, clouds });
    const [change, held] = of(made, 'service default/web');
    assert.equal(change?.inMs, 60_000);
    assert.match(change?.what ?? '', /condition CloudLoadBalancer=False/);
    assert.deepEqual([held?.action, held?.what.split(':')[0]], ['hold', 'Unsupported']);
  });

  it('shows what follows a pause of everything, and says that it is paused', async () => {
    world.node('n0');
    world.services.create('web');
    const path = `/api/v1/namespaces/${names.namespace}/configmaps`;
    const metadata = { name: names.certificates, namespace: names.namespace };
    const data = { [names.pausedKey]: 'true' };
    await kube.call({ verb: 'create', path, body: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } });
    const made = await plan();
    assert.match(texts(of(made, 'everything')), /^it is paused/);
    assert.ok(made.changes.some(({ action, resource }) => action === 'create' && resource === 'load balancer'));
    assert.equal(kube.writes().length, 1);
  });

  it('makes the same plan without a single write, where every write would fail', async () => {
    world.node('n0');
    world.services.create('web');
    const expected = await plan(...allocating);
    assert.ok(!isEmptyPlan(expected));
    const denied = new KubeError({ status: 403, reason: 'Forbidden', message: 'nothing may be written' });
    const refusing: KubeApi = {
      watch: (call) => kube.watch(call),
      call: async <T>(call: KubeCall) => {
        if (isMutating(call)) throw denied;
        return kube.call<T>(call);
      },
    };
    for (const operation of ['load-balancers.create', 'addresses.create', 'routes.create'])
      world.cloud.faults.add({ operation, effect: { kind: 'error', status: 500 } });
    const made = await planOf({ api: refusing, cloud: world.cloud, clock: world.clock }, allocating);
    const sorted = ({ changes }: Plan) => changes.map((change) => JSON.stringify(change)).sort();
    assert.deepEqual(sorted(made), sorted(expected));
    assert.equal(world.mutationCount(), 0);
    assert.deepEqual(made.problems, []);
  });

  it('counts a Node as paused that a person has paused', async () => {
    world.node('n0');
    world.cluster.mergePatch('n0', { metadata: { annotations: { [annotations.paused]: 'true' } } });
    const made = await plan(...allocating);
    assert.deepEqual(
      of(made, 'node n0').map(({ action }) => action),
      ['hold'],
    );
  });
});
