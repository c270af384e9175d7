import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { silentLog } from '../../common/process/log.ts';
import { seededRandom } from '../../common/process/random.ts';
import { annotations } from '../../common/well-known.ts';
import { type LoadBalancers, ownerTags } from '../../controller/clouds/load-balancers.ts';
import { WithheldError } from '../../controller/clouds/permit.ts';
import { classicName, classicTags } from '../../controller/clouds/simulated/adoption.ts';
import { planTeardown, type TeardownContext } from '../../controller/commands/teardown/plan-teardown.ts';
import {
  ServicesRemainError,
  type TeardownOptions,
  type TeardownProgress,
  teardown,
} from '../../controller/commands/teardown/teardown.ts';
import { whileLeading } from '../../controller/commands/teardown/while-leading.ts';
import { createShippedObjects } from '../../controller/kube/shipped-objects.ts';
import { strictPolicy } from '../../controller/services/operator-policy.ts';
import { openSimulated } from '../clouds/simulated/open.ts';
import { inProcessHttp } from '../kit/cloud/in-process.ts';
import { inProcessKube } from '../nodes/harness/kube-in-process.ts';
import { createWorld, type World } from './harness/world.ts';

const place = 'demo/sim-1';

describe('teardown', () => {
  let world: World;
  let context: TeardownContext;
  let progress: TeardownProgress[];
  let permits: number;
  let sees: boolean;

  beforeEach(() => {
    world = createWorld({ deletingMs: 20_000 });
    const { clock, cloud, core } = world;
    const api = openSimulated({
      config: { endpoint: 'http://cloud', project: 'demo', region: 'sim-1', credential: { text: cloud.credential } },
      context: { clock, random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} },
      http: inProcessHttp(cloud.api, clock),
      credential: async () => cloud.credential,
    });
    const accepts = (providerID: string) => api.accepts(providerID);
    context = {
      api: inProcessKube(core, clock),
      clock,
      log: silentLog,
      clouds: [{ name: 'simulated', scope: api.scope, accepts, selector: undefined, api }],
      cluster: { uid: world.clusterUid, name: 'blue' },
      loadBalancerClasses: [],
      policy: strictPolicy,
      checkVisibility: async () => (sees ? 'visible' : 'not visible'),
    };
    sees = true;
    progress = [];
    permits = 0;
  });
  afterEach(() => world.close());

  /** What a cluster has: load balancers with their addresses, one orphan, routes, and things of others. */
  async function populate(): Promise<void> {
    const { services, cloud } = world;
    const vm = world.node('n0');
    const replica = world.replica();
    for (const name of ['one', 'two', 'orphan']) services.create(name);
    services.create('kept', { annotations: { 'mooring.dev/load-balancer-retain': 'true' } });
    await replica.start();
    await world.clock.advance(5000);
    services.delete('kept');
    await world.clock.advance(60_000);
    await replica.stop();
    services.patch('orphan', { metadata: { finalizers: null } });
    services.delete('orphan');
    const { routes, loadBalancers } = cloud.network;
    const route = { instanceId: vm.id, description: '', clientToken: undefined };
    routes.create(place, { ...route, destination: '10.1.0.0/24', tags: { [ownerTags.cluster]: world.clusterUid } });
    routes.create(place, { ...route, destination: '10.2.0.0/24', tags: {} });
    const parts = { families: ['IPv4' as const], addresses: [], pools: [], listeners: [], clientToken: undefined };
    const tags = { [ownerTags.cluster]: 'cluster-2', [ownerTags.service]: 'x' };
    loadBalancers.create(place, { name: 'theirs', tags, scheme: 'external', ...parts });
    await world.clock.advance(60_000);
    assert.equal(world.loadBalancers().length, 5);
  }

  function dropServices(): void {
    for (const name of world.services.names()) {
      world.services.patch(name, { metadata: { finalizers: null } });
      world.services.delete(name);
    }
  }

  async function run(options: Partial<TeardownOptions> = {}) {
    let outcome: { readonly value: Awaited<ReturnType<typeof teardown>> } | { readonly error: unknown } | undefined;
    void teardown(context, {
      permit: () => {
        permits += 1;
      },
      signal: new AbortController().signal,
      force: false,
      onProgress: (one) => progress.push(one),
      ...options,
    }).then(
      (value) => {
        outcome = { value };
      },
      (error: unknown) => {
        outcome = { error };
      },
    );
    for (let step = 0; outcome === undefined && step < 10_000; step += 1) await world.clock.advance(250);
    assert.ok(outcome, 'it ends');
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  }

  function left() {
    const { loadBalancers, addresses, routes } = world.cloud.network;
    return {
      loadBalancers: loadBalancers.store.all().map(({ tags, name }) => tags[ownerTags.retained] ?? name),
      addresses: addresses.store.all().map(({ tags }) => tags[ownerTags.retained] ?? 'no Service'),
      routes: routes.store.all().map(({ destination }) => destination),
    };
  }

  const others = {
    loadBalancers: ['default/kept', 'theirs'],
    addresses: ['default/kept'],
    routes: ['10.2.0.0/24'],
  };

  it('deletes an adopted load balancer without our tag as long as its Service names it', async () => {
    const { services, cloud } = world;
    world.node('n0');
    const replica = world.replica();
    await replica.start();
    for (const name of ['told', 'untold']) services.create(name);
    await world.clock.advance(60_000);
    await replica.stop();
    for (const name of ['told', 'untold']) {
      const made = world.loadBalancerOf(name);
      assert.ok(made);
      const tags = { [classicTags.cluster]: 'blue', [classicTags.service]: `default/${name}` };
      cloud.network.loadBalancers.stripTags(made.id);
      cloud.network.loadBalancers.update(made.id, { name: classicName('blue', `default/${name}`), tags });
      for (const { id } of made.addresses) if (id !== undefined) cloud.network.addresses.setTags(id, tags);
      const record = name === 'told' ? `${world.scope} ${made.id} adopted:${services.addresses(name)[0]}` : null;
      services.annotate(name, { [annotations.loadBalancer]: record });
    }
    await world.clock.advance(60_000);
    const result = await run({ force: true });
    assert.deepEqual([result.removed, result.failed, result.left], [1, [], 0]);
    assert.deepEqual(left().loadBalancers, [classicName('blue', 'default/untold')]);
  });

  it('lists what it would do, and what stays, without a single change', async () => {
    await populate();
    const before = world.mutationCount();
    const plan = await planTeardown(context, new AbortController().signal);
    assert.deepEqual(plan.items.map(({ kind, what }) => `${kind}: ${what.replace(/lb-\w+|by .*/, '...')}`).sort(), [
      'load balancer: load balancer ... of default/one',
      'load balancer: load balancer ... of default/orphan',
      'load balancer: load balancer ... of default/two',
      'route: route to 10.1.0.0/24 ...',
    ]);
    assert.ok(plan.items.every(({ steps }) => steps.length > 0));
    assert.deepEqual(
      plan.kept.map(({ why }) => why),
      ['it is retained: a Service asked for it'],
    );
    assert.deepEqual(plan.services, ['default/one', 'default/two']);
    assert.equal(world.mutationCount(), before);
  });

  it('plans and deletes no routes without --configure-cloud-routes', async () => {
    await populate();
    dropServices();
    const before = left().routes;
    context = { ...context, routes: false };
    const { items } = await planTeardown(context, new AbortController().signal);
    assert.deepEqual(
      items.filter(({ kind }) => kind === 'route'),
      [],
    );
    const { left: more } = await run();
    assert.equal(more, 0);
    assert.deepEqual(left().routes, before);
    assert.equal(before.length, 2);
  });

  it('tells what it reads, and the end of it', async () => {
    await populate();
    const reads: (string | undefined)[] = [];
    await planTeardown({ ...context, onRead: (what) => reads.push(what) }, new AbortController().signal);
    const scope = context.clouds[0]?.scope;
    assert.deepEqual(reads, [
      `the load balancers of ${scope}`,
      `the routes of ${scope}`,
      'instances of Nodes, to see what the credential sees',
      undefined,
    ]);
  });

  it('counts down while it waits for the Lease, and then names its holder', async () => {
    const { clock } = world;
    const { api } = context;
    const lease = { namespace: 'kube-system', name: 'held' };
    const renewTime = new Date(clock.now() + 3_600_000).toISOString().replace('Z', '000Z');
    await api.call({
      verb: 'create',
      path: '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases',
      body: {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: lease.name },
        spec: { holderIdentity: 'other_1', leaseDurationSeconds: 3600, renewTime },
      },
    });
    const lines: string[] = [];
    const shipped = createShippedObjects('kube-system');
    const { signal } = new AbortController();
    const parts = { api, log: silentLog, shipped, say: (line: string) => void lines.push(line) };
    let fault: unknown;
    void whileLeading({ clock, random: seededRandom(1), signal }, parts, lease, async () => {}).catch((error) => {
      fault = error;
    });
    for (let step = 0; fault === undefined && step < 400; step += 1) await clock.advance(100);
    assert.match(String(fault), /is held by the running controller other_1/);
    const left = [30, 25, 20, 15, 10, 5];
    assert.deepEqual(
      lines,
      left.map((seconds) => `waiting for the Lease kube-system/held, ${seconds} s at the most`),
    );
  });

  it('refuses to run while Services need load balancers, and changes nothing then', async () => {
    await populate();
    const before = world.mutationCount();
    await assert.rejects(run(), (error) => {
      assert.ok(error instanceof ServicesRemainError);
      assert.deepEqual(error.services, ['default/one', 'default/two']);
      return true;
    });
    assert.equal(world.mutationCount(), before);
  });

  it('never takes a cloud for empty whose credential sees nothing', async () => {
    await populate();
    sees = false;
    await assert.rejects(planTeardown(context, new AbortController().signal), /credential may be of another project/);
  });

  it('checks before and after each read whether the credential sees anything', async () => {
    await populate();
    dropServices();
    const looks: { readonly sinceMs: number; readonly atMs: number }[] = [];
    context = {
      ...context,
      async checkVisibility(_scope, sinceMs) {
        looks.push({ sinceMs, atMs: world.clock.monotonic() });
        return 'visible';
      },
    };
    await run();
    assert.equal(looks.length, 2);
    assert.ok((looks[1]?.sinceMs ?? 0) > (looks[0]?.atMs ?? 0));
  });

  it('leaves and lists the load balancers of a paused Service', async () => {
    await populate();
    world.services.annotate('one', { 'mooring.dev/paused': 'true' });
    const { items, kept } = await planTeardown(context, new AbortController().signal);
    assert.ok(kept.some(({ what, why }) => what.includes('default/one') && why === 'its Service is paused'));
    assert.ok(!items.some(({ what }) => what.includes('default/one')));
  });

  it('declares used and lent load balancers to the cloud before any plan and change', async () => {
    await populate();
    world.services.annotate('one', { 'mooring.dev/paused': 'true' });
    world.services.create('never-served');
    const [cloud] = context.clouds;
    const { loadBalancers } = cloud!.api!;
    const calls: string[] = [];
    const told: LoadBalancers = {
      ...loadBalancers!,
      declare(desired, isComplete, lent) {
        calls.push(`declare ${desired.map(({ service }) => service).sort()} ${isComplete} ${[...lent]}`);
        loadBalancers!.declare(desired, isComplete, lent);
      },
      planRemoval: (...args) => {
        calls.push('plan');
        return loadBalancers!.planRemoval(...args);
      },
      apply: (...args) => {
        calls.push('apply');
        return loadBalancers!.apply(...args);
      },
    };
    const policy = { ...strictPolicy, attachable: [{ id: 'lb-lent', holder: undefined }] };
    context = { ...context, policy, clouds: [{ ...cloud!, api: { ...cloud!.api!, loadBalancers: told } }] };
    await run({ force: true });
    const declared = 'declare default/one,default/two true lb-lent';
    const first = calls.slice(0, calls.indexOf('apply'));
    assert.equal(first[0], declared);
    // Planning a removal takes back what its Service asks for; it goes on serving until it is removed.
    assert.ok(first.lastIndexOf(declared) > first.indexOf('plan'), first.join('; '));
  });

  it('deletes everything of this cluster, waits until it is gone, and leaves the rest', async () => {
    await populate();
    dropServices();
    const result = await run();
    assert.deepEqual([result.removed, result.failed, result.left], [4, [], 0]);
    assert.equal(result.kept.length, 1);
    assert.deepEqual(left(), others);
    const over = progress.filter(({ state }) => state === 'done');
    assert.deepEqual(
      over.map(({ finished, total }) => [finished, total]),
      [1, 2, 3, 4].map((count) => [count, 4]),
    );
    assert.equal(over.at(-1)?.item.kind, 'route');
    assert.ok(progress.some(({ state, message }) => state === 'working' && message.startsWith('delete address')));
    assert.ok(permits >= 7, `every call asked: ${permits}`);
    const before = world.mutationCount();
    assert.deepEqual((await run()).removed, 0);
    assert.equal(world.mutationCount(), before);
  });

  it('deletes load balancers of living Services with force, releases retained ones, writes no Service', async () => {
    await populate();
    world.services.annotate('two', { 'mooring.dev/load-balancer-retain': 'true' });
    context = { ...context, policy: { ...strictPolicy, retain: [{ to: 'namespace', namespace: 'default' }] } };
    const before = world.services.must('one');
    const result = await run({ force: true });
    assert.deepEqual([result.failed, result.left], [[], 0]);
    assert.deepEqual([result.removed, result.kept.length], [3, 2]);
    assert.ok(progress.some(({ message }) => /^gave up load balancer .* of default\/two$/.test(message)));
    assert.deepEqual(left().loadBalancers.sort(), ['default/kept', 'default/two', 'theirs']);
    assert.deepEqual(world.services.must('one'), before);
  });

  it('deletes load balancers with force whose retention the operator does not allow', async () => {
    await populate();
    world.services.annotate('two', { 'mooring.dev/load-balancer-retain': 'true' });
    const result = await run({ force: true });
    assert.deepEqual([result.removed, result.left, result.kept.length], [4, 0, 1]);
    assert.deepEqual(left(), others);
  });

  it('continues after an interruption', async () => {
    await populate();
    dropServices();
    const stop = new AbortController();
    let calls = 0;
    await assert.rejects(
      run({
        signal: stop.signal,
        permit() {
          calls += 1;
          if (calls === 2) stop.abort(new Error('interrupted'));
        },
      }),
      /interrupted|abort/,
    );
    assert.notDeepEqual(left(), others);
    await world.clock.advance(60_000);
    assert.equal((await run()).left, 0);
    assert.deepEqual(left(), others);
  });

  it('stops when it may not act any more', async () => {
    await populate();
    dropServices();
    let calls = 0;
    const permit = () => {
      calls += 1;
      if (calls > 1) throw new WithheldError('Fenced', 'not sent: this replica does not lead');
    };
    await assert.rejects(run({ permit }), WithheldError);
    assert.ok(left().routes.includes('10.1.0.0/24'));
  });

  it('finishes despite lost answers, throttling and a busy cloud', async () => {
    await populate();
    dropServices();
    for (const operation of ['load-balancers.delete', 'addresses.delete', 'routes.delete']) {
      world.cloud.faults.add({ operation, times: 1, effect: { kind: 'lost-answer' } });
      world.cloud.faults.add({ operation, times: 2, skip: 1, effect: { kind: 'throttle', retryAfterSeconds: 3 } });
      world.cloud.faults.add({ operation, times: 1, skip: 3, effect: { kind: 'error', status: 503 } });
    }
    const result = await run();
    assert.deepEqual([result.failed, result.left], [[], 0]);
    assert.deepEqual(left(), others);
  });

  it('goes on with the others when one cannot be deleted, and says so', async () => {
    await populate();
    dropServices();
    world.cloud.faults.add({ operation: 'routes.delete', effect: { kind: 'error', status: 403 } });
    const result = await run();
    assert.equal(result.failed[0]?.item.what.startsWith('route to 10.1.0.0/24'), true);
    assert.deepEqual([result.removed, result.left], [3, 1]);
    assert.equal(world.loadBalancers().length, 2);
  });
});
