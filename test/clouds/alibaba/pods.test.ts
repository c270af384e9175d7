import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { backendAnnotation } from '../../../controller/clouds/alibaba/annotations.ts';
import { readConfig } from '../../../controller/clouds/alibaba/config.ts';
import { openAlibaba } from '../../../controller/clouds/alibaba/index.ts';
import type { Cloud } from '../../../controller/clouds/cloud.ts';
import { KubeError } from '../../../controller/kube/api.ts';
import { readClusterUid } from '../../../controller/kube/cluster-identity.ts';
import type { ConfiguredCloud } from '../../../controller/model/configured-cloud.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { endpointSlicesPath } from '../../../controller/services/pods/endpoint-slice.ts';
import { planOf } from '../../commands/harness/plan-of.ts';
import { adminClient } from '../../kit/kube-api/testing/admin-client.ts';
import { inProcessKube } from '../../nodes/harness/kube-in-process.ts';
import { createWorld, type Replica, type World } from '../../services/harness/world.ts';
import { endpoints } from './alibaba-world.ts';
import { accessKey, createFakeAlibaba } from './fake/fake-alibaba.ts';
import type { FakeRegion } from './fake/fake-region.ts';

const scope = 'alibaba.test/1234567890123456/cn-hangzhou';
const asPods = { [backendAnnotation]: 'eni' };
const slicesOf = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';

interface Endpoint {
  readonly address: string;
  readonly ready?: boolean;
  /** Default: the address. */
  readonly uid?: string;
}

describe('a Service of Alibaba Cloud whose members are pods', () => {
  let world: World;
  let fake: FakeRegion;
  let replica: Replica;
  let configuredFor: (http: Http, clock: Clock) => ConfiguredCloud;

  beforeEach(async () => {
    world = createWorld({
      configured: (life, clock) => configuredFor(life.http(fake.http), clock),
      task: { clusterUid: () => readClusterUid(inProcessKube(world.core, world.clock)) },
    });
    fake = createFakeAlibaba(world.clock);
    const key = { ACCESS_KEY_ID: accessKey.id, ACCESS_KEY_SECRET: accessKey.secret };
    const env = { ...endpoints('http://alibaba.test'), ...key, REGION: fake.id, VPC_ID: fake.vpc };
    const config = await readConfig(undefined, env, async () => undefined);
    assert.ok(!('reportOnly' in config));
    configuredFor = (http, clock) => {
      const context = { clock, random: seededRandom(1), log: silentLog, env: {}, onCall() {} };
      const opened = openAlibaba({ config, context, readText: async () => undefined, wrapHttp: () => http });
      const api = withLoadBalancers<Cloud>({ ...opened, scope, account: fake.account }, clock);
      return { name: 'alibaba', scope, accepts: (id) => api.accepts(id), selector: undefined, api };
    };
    for (const name of ['a', 'b']) {
      const { id, address } = fake.addInstance(name);
      world.cluster.register(name, {
        tainted: false,
        providerID: `cn-hangzhou.${id}`,
        addresses: [{ type: 'InternalIP', address }],
        annotations: { 'mooring.dev/instance': `${scope} ${id}` },
      });
    }
    replica = world.replica();
  });
  afterEach(() => world.close());

  /** What the controller of EndpointSlices writes of a Service. */
  function write(service: string, all: readonly Endpoint[], { name = 'http', slice = `${service}-1` } = {}): void {
    const ask = adminClient(world.core, 'kube-controller-manager');
    const body = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      addressType: 'IPv4',
      metadata: { name: slice, labels: { 'kubernetes.io/service-name': service } },
      ports: [{ name, protocol: 'TCP', port: 8080 }],
      endpoints: all.map(({ address, ready = true, uid = address }) => ({
        addresses: [address],
        conditions: { ready, serving: true, terminating: !ready },
        targetRef: { kind: 'Pod', namespace: 'default', uid },
      })),
    };
    const there = ask<{ metadata: object }>('GET', `${slicesOf}/${slice}`);
    if (there === undefined) ask('POST', slicesOf, body);
    else ask('PUT', `${slicesOf}/${slice}`, { ...body, metadata: { ...there.metadata, ...body.metadata } });
  }

  /** Of the only load balancer, by its first group: names of Nodes, or addresses of pods. */
  function members(): string[] {
    const [balancer, ...others] = fake.balancers.values();
    assert.equal(others.length, 0);
    const groups = [...(balancer?.groups.values() ?? [])];
    assert.equal(groups.length, 1);
    return groups[0]!.servers.map((one) =>
      String(one['ServerIp'] || fake.instances.get(String(one['ServerId']))?.name),
    );
  }

  const changes = () => fake.calls.splice(0).filter((action) => !/^(Describe|Get|List)/.test(action));
  const wait = (ms = 5000) => world.clock.advance(ms);
  const askedForSlices = ({ kube }: Replica) => kube.calls.filter(({ path }) => path === endpointSlicesPath).length;
  const pods = (count: number) => Array.from({ length: count }, () => fake.addPod().address);

  it('follows its ready pods, and has none while none is ready', async () => {
    const [one, two, three] = pods(3) as [string, string, string];
    world.services.create('web', { annotations: asPods });
    write('web', [{ address: one }]);
    await replica.start();
    await wait();
    assert.deepEqual(members(), [one]);
    assert.equal(world.services.condition('web')?.reason, 'Ensured');
    write('web', [{ address: one }, { address: two }]);
    write('web', [{ address: three }], { slice: 'web-2' });
    await wait();
    assert.deepEqual(members().toSorted(), [one, two, three]);
    write('web', [{ address: one, ready: false }, { address: two }]);
    await wait();
    assert.deepEqual(members().toSorted(), [two, three]);
    write('web', []);
    write('web', [{ address: three, ready: false }], { slice: 'web-2' });
    await wait();
    assert.deepEqual(members(), []);
    assert.deepEqual(world.services.condition('web')?.reason, 'NoMembers');
    assert.match(world.services.condition('web')?.message ?? '', /no pod of this Service is ready/);
    write('web', [{ address: two }]);
    await wait();
    assert.deepEqual(members(), [two]);
    world.services.delete('web');
    await wait(30_000);
    assert.deepEqual([fake.balancers.size, world.services.get('web')], [0, undefined]);
  });

  it('moves a member to the network interface of a later pod with the same address', async () => {
    const [address] = pods(1) as [string];
    world.services.create('web', { annotations: asPods });
    write('web', [{ address, uid: 'first' }]);
    await replica.start();
    await wait();
    fake.podAddresses.set(address, 'eni-bp1other');
    write('web', [{ address, uid: 'second' }]);
    await wait();
    const [group] = [...fake.balancers.values()].flatMap(({ groups }) => [...groups.values()]);
    assert.deepEqual(
      group?.servers.map((one) => [one['ServerId'], one['ServerIp']]),
      [['eni-bp1other', address]],
    );
  });

  it('looks up each pod once, and changes nothing after a restart', async () => {
    const [one, two] = pods(2) as [string, string];
    world.services.create('web', { annotations: asPods });
    write('web', [{ address: one }, { address: two }]);
    await replica.start();
    await wait();
    const lookups = () => fake.calls.filter((action) => action === 'DescribeNetworkInterfaces').length;
    assert.equal(lookups(), 1);
    write('web', [{ address: one }]);
    await wait();
    assert.equal(lookups(), 1);
    changes();
    await replica.stop();
    replica = world.replica();
    await replica.start();
    await wait(700_000);
    assert.deepEqual(changes(), []);
    assert.deepEqual(members(), [one]);
  });

  it('keeps its load balancer and address when its members become pods, and Nodes again', async () => {
    const [pod] = pods(1) as [string];
    world.services.create('web');
    write('web', [{ address: pod }]);
    await replica.start();
    await wait();
    assert.deepEqual(members().toSorted(), ['a', 'b']);
    assert.equal(askedForSlices(replica), 0, 'nothing is read before a Service asks for it');
    const [id] = fake.balancers.keys();
    const addresses = world.services.addresses('web');
    for (const [type, expected] of [
      ['eni', [pod]],
      ['ecs', ['a', 'b']],
      ['eni', [pod]],
    ] as const) {
      world.services.annotate('web', { [backendAnnotation]: type });
      await wait();
      assert.deepEqual(members().toSorted(), expected);
      assert.deepEqual([[...fake.balancers.keys()], world.services.addresses('web')], [[id], addresses]);
    }
    assert.ok(!fake.calls.includes('DeleteLoadBalancer'));
  });

  it('keeps its members while EndpointSlices cannot be read, and says so', async () => {
    const [pod] = pods(1) as [string];
    const refused = new KubeError({ status: 403, reason: 'Forbidden', message: 'endpointslices is forbidden' });
    world.services.create('web');
    world.services.create('other', { annotations: asPods });
    write('web', [{ address: pod }]);
    replica.kube.intercept = ({ path }) => {
      if (path === endpointSlicesPath) throw refused;
    };
    await replica.start();
    await wait();
    assert.equal(world.services.condition('other'), undefined, 'the first read may take a while');
    world.services.annotate('web', asPods);
    await wait(10_000);
    for (const name of ['web', 'other']) assert.equal(world.services.condition(name)?.reason, 'AwaitingEndpoints');
    assert.deepEqual(members().toSorted(), ['a', 'b']);
    world.services.delete('other');
    await wait();
    assert.equal(world.services.get('other'), undefined, 'a deletion needs no pods');
    replica.kube.intercept = undefined;
    await wait(60_000);
    assert.deepEqual([members(), world.services.condition('web')?.reason], [[pod], 'Ensured']);
  });

  it('keeps the members that it knows while the watch fails, and takes what has changed afterwards', async () => {
    const [one, two] = pods(2) as [string, string];
    world.services.create('web', { annotations: asPods });
    write('web', [{ address: one }]);
    assert.equal(replica.slicesStaleMs(), undefined, 'nothing was asked for');
    await replica.start();
    await wait();
    replica.kube.hold();
    write('web', []);
    write('web', [{ address: two }]);
    await wait(30_000);
    assert.deepEqual(members(), [one]);
    assert.ok(replica.slicesStaleMs()! >= 30_000, String(replica.slicesStaleMs()));
    replica.kube.release();
    await wait();
    assert.deepEqual(members(), [two]);
    assert.ok(replica.slicesStaleMs()! <= 5000, String(replica.slicesStaleMs()));
  });

  it('leaves out a pod that no network interface has, names it, and takes it once one has', async () => {
    const [pod] = pods(1) as [string];
    world.services.create('web', { annotations: asPods });
    write('web', [{ address: pod }, { address: '10.244.0.7' }]);
    await replica.start();
    await wait();
    assert.deepEqual(members(), [pod]);
    const { status, reason, message } = world.services.condition('web')!;
    assert.deepEqual([status, reason], ['True', 'MembersRefused']);
    assert.match(message, /10\.244\.0\.7; the cloud knows no such address/);
    fake.podAddresses.set('10.244.0.7', 'eni-bp1late');
    await wait(31_000);
    assert.deepEqual(members().toSorted(), ['10.244.0.7', pod]);
    assert.equal(world.services.condition('web')?.reason, 'Ensured');
  });

  it('keeps a ready pod that serves where the next leader finds no network interface of it', async () => {
    const [one, two] = pods(2) as [string, string];
    world.services.create('web', { annotations: asPods });
    write('web', [{ address: one }, { address: two }]);
    await replica.start();
    await wait();
    fake.podAddresses.delete(one);
    await replica.stop();
    replica = world.replica();
    await replica.start();
    await wait(60_000);
    assert.deepEqual(members().toSorted(), [one, two].toSorted());
    assert.equal(world.services.condition('web')?.reason, 'MembersRefused');
    write('web', [{ address: one, ready: false }, { address: two }]);
    await wait();
    assert.deepEqual(members(), [two]);
  });

  it('keeps its members where no pod at all has a network interface, as pods of an overlay', async () => {
    world.services.create('web');
    write('web', [{ address: '10.244.0.7' }, { address: '10.244.1.8' }]);
    await replica.start();
    await wait();
    changes();
    world.services.annotate('web', asPods);
    await wait(60_000);
    assert.deepEqual(members().toSorted(), ['a', 'b']);
    assert.deepEqual(changes(), []);
    assert.equal(world.services.condition('web')?.reason, 'AwaitingCloud');
    assert.match(
      world.services.condition('web')?.message ?? '',
      /10\.244\.0\.7, 10\.244\.1\.8: the cloud knows no such/,
    );
  });

  it('keeps its members while the lookup fails, and delays no other Service', async () => {
    const [one, two] = pods(2) as [string, string];
    world.services.create('web', { annotations: asPods });
    write('web', [{ address: one }]);
    await replica.start();
    await wait();
    const refusal = { status: 403, body: { Code: 'Forbidden.RAM', Message: 'no' } };
    fake.fault = (action) => (action === 'DescribeNetworkInterfaces' ? refusal : undefined);
    write('web', [{ address: two }]);
    world.services.create('nodes');
    await wait();
    assert.equal(world.services.condition('web')?.reason, 'CredentialRefused');
    assert.equal(world.services.condition('nodes')?.reason, 'Ensured');
    world.services.delete('nodes');
    await wait();
    assert.deepEqual(members(), [one]);
    fake.fault = undefined;
    await wait(120_000);
    assert.deepEqual(members(), [two]);
  });

  it('leaves out a pod that the cloud does not take after all, until another lookup finds it', async () => {
    const [one, two] = pods(2) as [string, string];
    world.services.create('web', { annotations: asPods });
    write('web', [{ address: one }]);
    await replica.start();
    await wait();
    // It goes between its lookup and the change.
    fake.fault = (action) => {
      if (action === 'AddVServerGroupBackendServers') fake.podAddresses.delete(two);
      return undefined;
    };
    write('web', [{ address: one }, { address: two }]);
    await wait();
    assert.deepEqual(members(), [one]);
    assert.equal(world.services.condition('web')?.reason, 'MembersRefused');
    assert.match(world.services.condition('web')?.message ?? '', new RegExp(two.replaceAll('.', '\\.')));
    fake.fault = undefined;
    fake.podAddresses.set(two, 'eni-bp1other');
    await wait(31_000);
    assert.deepEqual(members().toSorted(), [one, two]);
  });

  it('plans pods as members as a run makes them, and holds while EndpointSlices cannot be read', async () => {
    const [pod] = pods(1) as [string];
    const kube = inProcessKube(world.core, world.clock);
    const plan = () => {
      const clouds = [configuredFor(fake.http, world.clock)];
      return planOf({ api: kube, cloud: world.cloud, clock: world.clock, clouds }, []);
    };
    world.services.create('web');
    write('web', [{ address: pod }]);
    await replica.start();
    await wait();
    await replica.stop();
    world.services.annotate('web', asPods);
    changes();
    const steps = (await plan()).changes.filter(({ of }) => of === scope).map(({ what }) => what);
    assert.equal(steps[0], 'create server group k8s/8080/web/default/clusterid');
    assert.match(steps[1] ?? '', /^port 80: server group, /);
    assert.match(steps[2] ?? '', /^delete server group/);
    assert.equal(steps.length, 3);
    const refused = new KubeError({ status: 403, reason: 'Forbidden', message: 'endpointslices is forbidden' });
    kube.intercept = ({ path }) => {
      if (path === endpointSlicesPath) throw refused;
    };
    const made = await plan();
    const held = made.changes.filter(({ object, action }) => object === 'service default/web' && action === 'hold');
    assert.deepEqual(
      held.map(({ action, what }) => `${action} ${what.split(':')[0]}`),
      ['hold AwaitingEndpoints'],
    );
    assert.match(
      made.problems.join(),
      /list \/apis\/discovery.k8s.io\/v1\/endpointslices: endpointslices is forbidden/,
    );
    assert.deepEqual([changes(), kube.writes()], [[], []]);
  });
});
