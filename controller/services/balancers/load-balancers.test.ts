import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import type { Http } from '../../../common/process/http.ts';
import {
  cluster,
  desiredWith,
  dns,
  https,
  membersOf,
  newWorld,
  http as port80,
  reach,
  refOf,
  remove,
  theirs,
} from '../../../test/clouds/simulated/world.ts';
import type { CloudRecord, LoadBalancerStep } from '../../clouds/load-balancer-step.ts';
import type { LoadBalancers, ObservedLoadBalancer } from '../../clouds/load-balancers.ts';
import { WithheldError } from '../../clouds/permit.ts';

const timings = { loadBalancerTimings: { provisioningMs: 2000, deletingMs: 2000 } };

/** A cloud that accepts one kind of change and leaves everything as it was. */
function ignoring(is: (method: string, url: string) => boolean, state: { count: number }) {
  return (http: Http): Http =>
    (request) => {
      if (!is(request.method ?? 'GET', request.url)) return http(request);
      state.count += 1;
      const url = request.url.replace(/\/pools\/.*/, '');
      const { body: _, ...rest } = request;
      return http({ ...rest, method: 'GET', url });
    };
}

describe('load balancers of a cloud that has a driver', () => {
  it('creates a whole load balancer in one apply, and reports each call', async () => {
    const world = newWorld(timings);
    const client = world.connect();
    const desired = desiredWith({ ports: [port80, https], members: membersOf(world, 2) });
    await client.observe(refOf(desired));
    const plan = client.plan(desired);
    const told: string[] = [];
    const onStep = ({ action, resource }: LoadBalancerStep) => void told.push(`${action} ${resource}`);
    const seen = await world.during(client.apply(plan, { ...world.permitted, onStep }));
    assert.deepEqual([seen?.state, seen?.members.length], ['active', 2]);
    assert.deepEqual(told, ['create address', 'create load balancer']);
    assert.ok(world.calls.total('load-balancers.get') <= 5, 'polls until it was done');
  });

  it('tells what a Service asked last, with the members and consents of now, unless they are too many', async () => {
    const world = newWorld();
    const client = world.connect();
    const ports = Array.from({ length: 51 }, (_, at) => ({ ...port80, name: `p${at}`, port: 8000 + at }));
    const desired = desiredWith({ ports, members: membersOf(world, 1), mayChangeAddress: true });
    await world.during(client.apply(client.plan(desired), world.permitted));
    const now = desiredWith({ ports: [port80], members: membersOf(world, 2) });
    const last = client.lastDone(now);
    assert.deepEqual([last?.ports.length, last?.members.length, last?.mayChangeAddress], [51, 2, false]);
    const many = Array.from({ length: 4000 }, () => now.members[0]!);
    assert.equal(client.lastDone({ ...now, members: many }), undefined);
  });

  it('leaves no listener on the signal of the caller, which lives as long as the leader', async () => {
    const world = newWorld();
    const client = world.connect();
    const { signal } = new AbortController();
    const desired = desiredWith({ members: membersOf(world, 1) });
    await client.observeAll(cluster, signal);
    await client.observe(refOf(desired), signal);
    await world.during(client.apply(client.plan(desired), { ...world.permitted, signal }));
    await client.observe(refOf(desired), signal);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  it('saves ids with the next write of the Service, and before the next read where a call fails', async () => {
    const world = newWorld();
    const client = world.connect();
    const desired = desiredWith({ members: membersOf(world, 1), record: { id: undefined, notes: undefined } });
    const saved: CloudRecord[] = [];
    const save = async (record: CloudRecord) => void saved.push(record);
    const plan = client.plan(desired);
    const made: ObservedLoadBalancer | undefined = await world.during(client.apply(plan, { ...world.permitted, save }));
    assert.equal(saved.length, 0, 'nothing but what is answered');
    assert.match(made!.notes!, /^ids:address.*load%20balancer\/main=lb-/);

    const other = desiredWith({ owner: { cluster, service: 'other' }, ports: [port80, https] });
    world.sandbox.faults.add({ operation: 'load-balancers.create', effect: { kind: 'error', status: 500 } });
    await assert.rejects(world.during(client.apply(client.plan(other), { ...world.permitted, save })), /HTTP 500/);
    assert.match(saved.at(-1)!.notes!, /^ids:address\/external%20IPv4=addr-/);
  });

  it('ignores the save function of an apply that has ended', async () => {
    const world = newWorld();
    const client = world.connect();
    const desired = desiredWith({ members: membersOf(world, 1), record: { id: undefined, notes: undefined } });
    const plan = client.plan(desired);
    let hasEnded = false;
    const save = async () => {
      if (hasEnded) throw new Error('another client has changed the Service');
    };
    const made = await world.during(client.apply(plan, { ...world.permitted, save }));
    hasEnded = true;
    const seen = await world.during(client.observe(refOf(desired)));
    assert.deepEqual([seen?.id, seen?.notes], [made!.id, made!.notes]);
  });

  for (const [by, isLent] of [
    ['no policy', false],
    ['a consent tag', true],
    ['the operator', true],
  ] as const) {
    it(`${isLent ? 'keeps' : 'deletes'} an unmarked load balancer that a record names and ${by} lends`, async () => {
      const world = newWorld();
      const desired = desiredWith({ members: membersOf(world, 1) });
      const { observed } = await reach(world, world.connect(), desired);
      const id = observed!.id!;
      world.network.loadBalancers.stripTags(id);
      const stored = world.network.loadBalancers.store.get(id)!;
      const tags = { ...stored.tags, 'mooring.dev/attachable-by': `${cluster}/default` };
      if (by === 'a consent tag') Object.assign(stored, { tags });
      const next = world.connect();
      next.declare([], true, new Set(by === 'the operator' ? [id] : []));
      await next.observe({ ...refOf(desired, id), notes: observed!.notes });
      const { steps } = next.planRemoval(desired.owner, { retain: false });
      assert.equal(
        steps.some(({ resource }) => resource === 'load balancer'),
        !isLent,
      );
    });
  }

  it('restores stripped marks by the record of an earlier process', async () => {
    const world = newWorld();
    const desired = desiredWith({ members: membersOf(world, 1) });
    const { observed } = await reach(world, world.connect(), desired);
    world.network.loadBalancers.stripTags(observed!.id!);
    const record = { id: observed!.id, notes: observed!.notes };
    const next = world.connect();
    const seen = await next.observe({ ...refOf(desired, record.id), notes: record.notes });
    assert.deepEqual(seen?.owner, desired.owner);
    const told = next.plan({ ...desired, record });
    await world.during(next.apply(told, world.permitted));
    assert.equal(world.network.loadBalancers.store.get(observed!.id!)?.tags['mooring.dev/service'], 'default/web');
    const forgotten = await world.connect().observe(refOf(desired, record.id));
    assert.deepEqual(forgotten?.owner, desired.owner, 'from now on by their own marks');
  });

  it('reports NoEffect after three changes without effect, and makes all other changes', async () => {
    const state = { count: 0 };
    const world = newWorld({ through: ignoring((method, url) => method === 'PUT' && url.includes('/members'), state) });
    const client = world.connect();
    const [a, b] = membersOf(world, 2);
    await reach(world, client, desiredWith({ members: [a!] }));
    const desired = desiredWith({ members: [a!, b!], ports: [port80, https] });
    const { refusals, observed } = await reach(world, client, desired);
    assert.deepEqual(
      refusals.map(({ reason }) => reason),
      ['NoEffect'],
    );
    assert.match(refusals[0]!.message, /members of .*: 1 added, 2 in all/);
    assert.equal(state.count, 3);
    assert.equal(world.network.loadBalancers.store.get(observed!.id!)?.listeners.length, 2);
  });

  it('sends no call after its permit was withdrawn', async () => {
    const world = newWorld(timings);
    const client = world.connect();
    const desired = desiredWith();
    let permits = 0;
    const permit = () => {
      permits += 1;
      if (permits > 1) throw new WithheldError('Paused', 'paused');
    };
    const plan = client.plan(desired);
    await assert.rejects(world.during(client.apply(plan, { permit })), { name: 'WithheldError' });
    assert.equal(world.network.addresses.store.all().length, 1);
    assert.equal(world.network.loadBalancers.store.all().length, 0);
  });

  it('reverts changes by hand with the next change of the Service', async () => {
    const world = newWorld();
    const client = world.connect();
    const desired = desiredWith({ members: membersOf(world, 1), ports: [port80, https] });
    const plan = client.plan(desired);
    const made = await world.during(client.apply(plan, world.permitted));
    const { loadBalancers } = world.network;
    const [listener] = loadBalancers.store.get(made!.id!)!.listeners;
    loadBalancers.deleteListener(made!.id!, listener!.id);
    await world.clock.advance(60_000);
    const more = { ...desired, sessionAffinity: { timeoutSeconds: 60 } };
    await world.during(client.apply(client.plan(more), world.permitted));
    assert.equal(loadBalancers.store.get(made!.id!)?.listeners.length, 2);
  });

  it('frees the worker when it is told to stop', async () => {
    const world = newWorld({ loadBalancerTimings: { provisioningMs: 600_000 } });
    const client = world.connect();
    const plan = client.plan(desiredWith());
    const stopping = new AbortController();
    const work = client.apply(plan, { ...world.permitted, signal: stopping.signal });
    work.catch(() => undefined);
    await world.clock.advance(1000);
    stopping.abort();
    await assert.rejects(work, /interrupted/);
  });

  it('waits without a call where the cloud takes longer than a worker may', async () => {
    const world = newWorld({ loadBalancerTimings: { provisioningMs: 60_000 } });
    const client = world.connect();
    const desired = desiredWith({ members: membersOf(world, 1) });
    const plan = client.plan(desired);
    const told: string[] = [];
    const onStep = ({ action, resource }: LoadBalancerStep) => void told.push(`${action} ${resource}`);
    const seen = await world.during(client.apply(plan, { ...world.permitted, onStep }));
    assert.equal(seen?.state, 'provisioning');
    assert.deepEqual(told, ['create address', 'create load balancer'], 'each call is told, and none twice');
    const calls = world.calls.total();
    assert.equal((await client.observe(refOf(desired, seen.id)))?.state, 'provisioning');
    assert.equal(world.calls.total(), calls, 'a read would tell nothing that its operation does not');
    const { steps, waitMs } = client.plan({ ...desired, ports: [port80, https] });
    assert.deepEqual([steps, (waitMs ?? 0) > 0], [[], true]);
    await world.clock.advance(60_000);
    const { observed } = await reach(world, client, { ...desired, ports: [port80, https] }, seen?.id);
    assert.equal(observed?.state, 'active');
  });

  it('tries a removal that the cloud holds up again without a read, and reads before it counts as done', async () => {
    let isHeld = true;
    const inUse = { status: 409, text: JSON.stringify({ error: { code: 'not-ready', message: 'in use' } }) };
    const header = (name: string) => (name === 'retry-after' ? '5' : null);
    const through = (http: Http) => async (request: Parameters<Http>[0]) =>
      isHeld && request.method === 'DELETE' && request.url.includes('/addresses/')
        ? { ...inUse, header }
        : http(request);
    const world = newWorld({ through });
    const client = world.connect();
    const desired = desiredWith();
    const { observed } = await reach(world, client, desired);
    const ref = { ...refOf(desired, observed!.id), notes: observed!.notes };
    const apply = () =>
      world.during(client.apply(client.planRemoval(desired.owner, { retain: false }), world.permitted));
    await apply();
    assert.equal(world.network.loadBalancers.store.all().length, 0);
    await world.clock.advance(5000);
    const calls = world.calls.total();
    assert.equal((await client.observe(ref))?.owner?.service, desired.owner.service);
    assert.equal(world.calls.total(), calls, 'nothing has changed since');
    isHeld = false;
    assert.equal(await apply(), undefined);
    assert.equal(await world.during(client.observe(ref)), undefined);
    assert.ok(world.calls.total() > calls + 1, 'beside the call that deletes it, a read has proved it');
    assert.equal(world.network.addresses.store.all().length, 0);
  });

  it('answers a read right after a removal with the proof of that removal', async () => {
    const world = newWorld(timings);
    const client = world.connect();
    const desired = desiredWith();
    const { observed } = await reach(world, client, desired);
    await world.clock.advance(10_000);
    await client.observe(refOf(desired, observed!.id));
    const { left } = await remove(world, client, observed!, refOf(desired, observed!.id));
    assert.equal(left, undefined);
    const calls = world.calls.total();
    assert.equal(await client.observe(refOf(desired, observed!.id)), undefined);
    assert.equal(world.calls.total(), calls);
    assert.equal(await client.observe(refOf(desired, observed!.id)), undefined);
    assert.ok(world.calls.total() > calls, 'only right after it');
  });

  it('reads a Service again before a plan where the read of another Service lacked its resources', async () => {
    const world = newWorld();
    const { sandbox, network, clock } = world;
    const host = theirs(world, { tags: { 'mooring.dev/attachable-by': `${cluster}/default` } });
    const client = world.connect();
    const attach = { id: host.id, allowed: false };
    const members = membersOf(world, 2);
    const one = desiredWith({ owner: { cluster, service: 'one' }, attach, members, ports: [https] });
    const two = desiredWith({ owner: { cluster, service: 'two' }, attach, members, ports: [dns] });
    await reach(world, client, one);
    await reach(world, client, two);
    await client.observe(refOf(two));
    sandbox.credentials.setMode(sandbox.credential, 'sees-nothing');
    await client.observe(refOf(one));
    sandbox.credentials.setMode(sandbox.credential, 'ok');
    await clock.advance(1000);
    const before = network.loadBalancers.store.get(host.id);
    const plan = client.plan({ ...two, members: members.slice(1) });
    assert.deepEqual([plan.steps, plan.refusals, (plan.waitMs ?? 0) > 0], [[], [], true]);
    const { applied, observed } = await reach(world, client, plan.request.desired!);
    assert.deepEqual([observed?.id, observed?.members.length, applied.length], [host.id, 1, 1]);
    assert.equal(network.loadBalancers.store.get(host.id)?.listeners.length, before?.listeners.length);
  });

  it('creates no second load balancer because a read inside of an apply lacks it', async () => {
    let isBlind = false;
    const world = newWorld({
      through: (http) => (request) => {
        if (isBlind && (request.method ?? 'GET') === 'GET') {
          const { sandbox } = world;
          sandbox.credentials.setMode(sandbox.credential, 'sees-nothing');
          return http(request).finally(() => sandbox.credentials.setMode(sandbox.credential, 'ok'));
        }
        return http(request);
      },
    });
    const client = world.connect();
    const desired = desiredWith({ members: membersOf(world, 1) });
    const { observed } = await reach(world, client, desired);
    await client.observe(refOf(desired, observed!.id));
    await world.clock.advance(60_000);
    const creates = () => world.calls.total('load-balancers.create') + world.calls.total('addresses.create');
    const before = creates();
    isBlind = true;
    const record = { id: observed!.id, notes: observed!.notes };
    const plan = client.plan({ ...desired, record, ports: [port80, https] });
    await assert.rejects(world.during(client.apply(plan, world.permitted)), /not found/);
    assert.equal(creates(), before);
    isBlind = false;
    await reach(world, client, plan.request.desired!, observed!.id);
    assert.equal(creates(), before);
    world.network.loadBalancers.delete(observed!.id!);
    await client.observe(refOf(desired, observed!.id));
    await reach(world, client, desired, observed!.id);
    assert.ok(creates() > before, 'what a read of its own has missed is created again');
  });

  it('reads a load balancer that this process removed and another one created again', async () => {
    const world = newWorld();
    const client = world.connect();
    const desired = desiredWith();
    const { observed } = await reach(world, client, desired);
    await world.clock.advance(10_000);
    await client.observe(refOf(desired, observed!.id));
    await remove(world, client, observed!, refOf(desired, observed!.id));
    const again = await reach(world, world.connect(), desired);
    await client.observeAll(cluster);
    const seen = await client.observe(refOf(desired, again.observed!.id));
    assert.equal(seen?.id, again.observed!.id);
  });

  it('reads a recorded Service before its first plan', async () => {
    const world = newWorld();
    const host = theirs(world, { tags: { 'mooring.dev/attachable-by': `${cluster}/default` } });
    const desired = desiredWith({ attach: { id: host.id, allowed: false }, ports: [https] });
    const { observed } = await reach(world, world.connect(), desired);
    const record = { id: observed!.id, notes: observed!.notes };
    for (const [ask, isDone] of [
      [(client: LoadBalancers) => client.plan({ ...desired, record }), true],
      [(client: LoadBalancers) => client.planRemoval(desired.owner, { retain: false }), false],
    ] as const) {
      const client = world.connect();
      const { steps, refusals, waitMs } = ask(client);
      assert.deepEqual([steps, refusals, (waitMs ?? 0) > 0], [[], [], true]);
      await client.observe({ ...refOf(desired, record.id), notes: record.notes });
      assert.deepEqual([ask(client).steps.length === 0, ask(client).refusals], [isDone, []]);
    }
  });

  it('applies no plan of another cloud object, although the Service is declared here', async () => {
    const world = newWorld();
    const desired = desiredWith({ members: membersOf(world, 1) });
    const plan = world.connect().plan(desired);
    const next = world.connect();
    next.declare([desired], true, new Set());
    await assert.rejects(world.during(next.apply(plan, world.permitted)), /made by another/);
    assert.deepEqual(world.network.addresses.store.all(), []);
  });
});
