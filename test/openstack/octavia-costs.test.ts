import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type {
  DesiredLoadBalancer,
  LoadBalancerPlan,
  LoadBalancers,
  ObservedLoadBalancer,
} from '../../controller/clouds/load-balancers.ts';
import { ownerMark, withMark } from '../../controller/clouds/openstack/load-balancers/names.ts';
import { timestamp } from '../../controller/clouds/openstack/testing/fake-octavia-model.ts';
import { desiredFor, memberOf, newOwner, port } from '../clouds/desired.ts';
import { ensure, refOf } from '../clouds/drive.ts';
import { type OctaviaHarness, octaviaHarness } from './octavia-harness.ts';

const ports = (count: number) => Array.from({ length: count }, (_, at) => port(8000 + at, 31_000 + at));

async function withHarness(body: (harness: OctaviaHarness) => Promise<void>): Promise<void> {
  const harness = await octaviaHarness('[LoadBalancer]\ncreate-monitor = true\n');
  try {
    // Networks and versions are read once a process.
    harness.octavia.looks = 2;
    await body(harness);
  } finally {
    await harness.close();
  }
}

/** One process does it all, as in a cluster; each Service is planned for from what a list of everything says. */
async function services(harness: OctaviaHarness, count: number): Promise<readonly DesiredLoadBalancer[]> {
  const all = Array.from({ length: count }, () =>
    desiredFor(newOwner(harness.world.cluster), harness.vms, { ports: ports(2) }),
  );
  for (const desired of all) await ensure(await harness.driving({ desired, record: { id: undefined } }));
  return all;
}

const look = 'GET /lbaas/loadbalancers/ID';
const compared = 'GET /lbaas/loadbalancers/ID/status';

/** From what is known to the end, as the controller does it: it looks only where it is told to. */
async function settle(
  { world }: OctaviaHarness,
  balancers: LoadBalancers,
  desired: DesiredLoadBalancer,
  known: ObservedLoadBalancer | undefined,
  planFor: (observed: ObservedLoadBalancer | undefined) => LoadBalancerPlan,
): Promise<ObservedLoadBalancer | undefined> {
  let observed = known;
  for (let round = 0; round < 50; round += 1) {
    const { steps, waitMs } = planFor(observed);
    const [step] = steps;
    if (step) observed = await world.during(balancers.apply(step, observed, { permit: () => {} }));
    else if (waitMs === undefined) return observed;
    else {
      await world.pass(waitMs);
      observed = await world.during(balancers.observe(refOf(desired, { id: observed?.id ?? known?.id })));
    }
  }
  throw new Error('no end');
}

const made = (harness: OctaviaHarness, balancers: LoadBalancers, desired: DesiredLoadBalancer) =>
  settle(harness, balancers, desired, undefined, (observed) => balancers.plan(desired, observed));

/** A process that has seen that there is nothing. */
async function opened(harness: OctaviaHarness): Promise<LoadBalancers> {
  const { balancers } = await harness.driving();
  await harness.world.during(balancers.observeAll(harness.world.cluster));
  harness.calls();
  return balancers;
}

describe('calls to OpenStack', () => {
  for (const count of [1, 5]) {
    it(`a first ensure of ${count} ports is two changes, the looks of one wait and one at everything together`, () =>
      withHarness(async (harness) => {
        const balancers = await opened(harness);
        const first = desiredFor(newOwner(harness.world.cluster), harness.vms, { ports: ports(count) });
        await made(harness, balancers, first);
        // Which subnet the members are in is learned once.
        assert.deepEqual(harness.calls(), [
          ...['GET /ports', 'POST /lbaas/loadbalancers', look, look, look, compared, 'POST /floatingips'],
        ]);
        const second = desiredFor(newOwner(harness.world.cluster), harness.vms, { ports: ports(count) });
        const observed = await made(harness, balancers, second);
        assert.deepEqual(harness.calls(), [
          ...['POST /lbaas/loadbalancers', look, look, look, compared, 'POST /floatingips'],
        ]);
        const fresh = await harness.observe({ ...refOf(second, { id: observed?.id }) });
        assert.deepEqual(balancers.plan(second, fresh).steps, []);
        assert.deepEqual(fresh?.members, observed?.members);
        harness.calls();
        const again = await harness.world.during(balancers.observeAll(harness.world.cluster));
        assert.equal(harness.calls().length, 4, 'the next list of everything has to read no members');
        for (const desired of [first, second]) {
          const one = again.find(({ owner }) => owner?.service === desired.owner.service);
          assert.deepEqual(balancers.plan(desired, one).steps, []);
        }
      }));
  }

  it('everything of the cluster is four lists, and once a process monitors, groups, networks, versions and the members of each pool', () =>
    withHarness(async (harness) => {
      for (const count of [3, 7]) {
        const all = await services(harness, count);
        const { balancers } = await harness.driving();
        harness.calls();
        const first = await harness.world.during(balancers.observeAll(harness.world.cluster));
        const fresh = harness.calls();
        const pools = fresh.filter((call) => call === 'GET /lbaas/pools/ID/members').length;
        assert.equal(pools, first.length * 2);
        assert.equal(fresh.length - pools, 9, fresh.join('\n'));
        const again = await harness.world.during(balancers.observeAll(harness.world.cluster));
        assert.equal(harness.calls().length, 4);
        for (const desired of all) {
          const observed = again.find(({ owner }) => owner?.service === desired.owner.service);
          assert.deepEqual(balancers.plan(desired, observed).steps, []);
        }
        assert.equal(harness.calls().length, 0, 'planning calls nobody');
      }
    }));

  it('a change of Nodes is one batch a port, the looks of its wait, and one at everything together', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const desired = { ...harness.desired, ports: ports(2) };
      const observed = await made(harness, balancers, desired);
      const third = await harness.world.createVm();
      const grown = { ...desired, members: [...desired.members, memberOf(third)] };
      harness.calls();
      await settle(harness, balancers, grown, observed, (known) => balancers.plan(grown, known));
      const batch = ['PUT /lbaas/pools/ID/members', look, look, look];
      assert.deepEqual(harness.calls(), [...batch, ...batch, compared]);
      const all = await harness.world.during(balancers.observeAll(harness.world.cluster));
      assert.equal(harness.calls().length, 4, 'the next list of everything has to read no members');
      assert.deepEqual(balancers.plan(grown, all[0]).steps, []);
    }));

  it('a removal is two changes, one look before them and those of one wait, of which the last is the proof', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const desired = { ...harness.desired, ports: ports(4) };
      const observed = await made(harness, balancers, desired);
      harness.calls();
      const left = await settle(harness, balancers, desired, observed, (known) =>
        known ? balancers.planRemoval(known, { retain: false }) : { steps: [], refusals: [], waitMs: undefined },
      );
      assert.equal(left, undefined);
      assert.deepEqual(harness.calls(), [
        ...[look, 'DELETE /lbaas/loadbalancers/ID', 'DELETE /floatingips/ID'],
        ...[look, look, look],
      ]);
      assert.equal(await harness.observe({ id: observed?.id }), undefined);
    }));

  it('a removal right after a look at that very Service begins without another', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      const before = await made(harness, balancers, desired);
      for (const waitMs of [0, 3000]) {
        const observed = await world.during(balancers.observe(refOf(desired, { id: before?.id })));
        await world.pass(waitMs);
        const [step] = balancers.planRemoval(observed!, { retain: false }).steps;
        harness.calls();
        const withheld = balancers.apply(step!, observed, { permit: () => assert.fail('withheld') });
        await assert.rejects(world.during(withheld));
        assert.deepEqual(harness.calls(), waitMs === 0 ? [] : [look]);
      }
    }));

  it('many at work are looked at by one list a second', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { world } = harness;
      const all = Array.from({ length: 12 }, () => desiredFor(newOwner(world.cluster), harness.vms));
      const known = new Map<DesiredLoadBalancer, ObservedLoadBalancer | undefined>();
      for (const desired of all) known.set(desired, await made(harness, balancers, desired));
      for (const desired of all) {
        const fewer = { ...desired, members: desired.members.slice(1) };
        const [step] = balancers.plan(fewer, known.get(desired)).steps;
        known.set(desired, await world.during(balancers.apply(step!, known.get(desired), { permit: () => {} })));
      }
      await world.pass(1000);
      harness.calls();
      const refs = all.map((desired) => refOf(desired, { id: known.get(desired)?.id }));
      const seen = await world.during(Promise.all(refs.map((ref) => balancers.observe(ref))));
      assert.deepEqual(new Set(seen.map((one) => one?.state)), new Set(['provisioning']));
      assert.deepEqual(harness.calls().toSorted(), [...Array(4).fill(look), 'GET /lbaas/loadbalancers'].toSorted());
    }));

  it('what somebody changes inside a pool is seen by the next look at it and by the next list of everything', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      const observed = await made(harness, balancers, desired);
      const [pool] = harness.octavia.balancers.values().next().value?.pools ?? [];
      for (const seeing of [
        async () => world.during(balancers.observe(refOf(desired, { id: observed?.id }))),
        async () => (await world.during(balancers.observeAll(world.cluster)))[0],
      ]) {
        assert.deepEqual(balancers.plan(desired, await seeing()).steps, []);
        pool!.members[0]!.fields['weight'] = 7;
        pool!.fields['updated_at'] = timestamp();
        assert.match(balancers.plan(desired, await seeing()).steps[0]?.summary ?? '', /1 changed/);
        pool!.members[0]!.fields['weight'] = 1;
        pool!.fields['updated_at'] = timestamp();
      }
    }));

  it('what health checks say is seen though nothing else has changed', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      const observed = await made(harness, balancers, desired);
      const [pool] = harness.octavia.balancers.values().next().value?.pools ?? [];
      pool!.members[0]!.fields['operating_status'] = 'ERROR';
      pool!.members[1]!.fields['operating_status'] = 'ONLINE';
      const seen = await world.during(balancers.observe(refOf(desired, { id: observed?.id })));
      assert.deepEqual(
        seen?.members.map(({ healthy }) => healthy),
        [false, true],
      );
    }));

  it('a monitor that somebody changes and a group of earlier days are seen by a list of everything', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      await made(harness, balancers, desired);
      const list = async () => (await world.during(balancers.observeAll(world.cluster)))[0];
      assert.deepEqual(balancers.plan(desired, await list()).steps, []);
      const [pool] = harness.octavia.balancers.values().next().value?.pools ?? [];
      pool!.monitor!.fields['delay'] = 77;
      pool!.fields['updated_at'] = timestamp();
      assert.match(balancers.plan(desired, await list()).steps[0]?.summary ?? '', /delay from 77/);
      const description = withMark('Security Group', ownerMark(desired.owner));
      const group = { id: 'group', name: 'g', description, rules: [] };
      harness.edge.groups.set(group.id, group as never);
      assert.doesNotMatch(JSON.stringify(balancers.plan(desired, await list()).steps), /security group/);
      await world.pass(3_700_000);
      assert.match(JSON.stringify(balancers.plan(desired, await list()).steps), /delete security group/);
      harness.edge.groups.delete(group.id);
    }));

  it('what somebody has changed inside a pool since it was read is not hidden by our next change of something else', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      await made(harness, balancers, desired);
      const [known] = await world.during(balancers.observeAll(world.cluster));
      const [pool] = harness.octavia.balancers.values().next().value?.pools ?? [];
      pool!.members[0]!.fields['weight'] = 7;
      pool!.fields['updated_at'] = timestamp();
      const narrowed = { ...desired, sourceRanges: ['192.0.2.0/24'] };
      await settle(harness, balancers, narrowed, known, (observed) => balancers.plan(narrowed, observed));
      const [seen] = await world.during(balancers.observeAll(world.cluster));
      assert.match(balancers.plan(narrowed, seen).steps[0]?.summary ?? '', /1 changed/);
    }));

  it('what somebody has changed in a pool unseen right before or after our own change of it is seen within hours', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      await made(harness, balancers, desired);
      const [known] = await world.during(balancers.observeAll(world.cluster));
      const [balancer] = harness.octavia.balancers.values();
      const [pool] = balancer!.pools;
      pool!.monitor!.fields['delay'] = 77;
      pool!.fields['updated_at'] = timestamp();
      const fewer = { ...desired, members: desired.members.slice(1) };
      const [step] = balancers.plan(fewer, known).steps;
      let observed = await world.during(balancers.apply(step!, known, { permit: () => {} }));
      harness.octavia.settle();
      pool!.members[0]!.fields['weight'] = 7;
      pool!.fields['updated_at'] = timestamp();
      balancer!.fields['updated_at'] = timestamp();
      observed = await settle(harness, balancers, fewer, observed, (now) => balancers.plan(fewer, now));
      for (let audit = 0; audit < 3 * 12; audit += 1) {
        await world.pass(300_000);
        [observed] = (await world.during(balancers.observeAll(world.cluster))) as ObservedLoadBalancer[];
      }
      assert.match(JSON.stringify(balancers.plan(fewer, observed).steps), /1 changed.*delay from 77/);
      harness.calls();
      await world.during(balancers.observeAll(world.cluster));
      assert.equal(harness.calls().length, 4);
    }));

  it('what a member came to is seen though the load balancer is active again', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired } = harness;
      const observed = await made(harness, balancers, desired);
      const third = await harness.world.createVm();
      const grown = { ...desired, members: [...desired.members, memberOf(third)] };
      const [step] = balancers.plan(grown, observed).steps;
      let known = await harness.world.during(balancers.apply(step!, observed, { permit: () => {} }));
      const [balancer] = harness.octavia.balancers.values();
      const member = balancer!.pools[0]!.members[2]!;
      member.status = 'ERROR';
      harness.calls();
      let plan = balancers.plan(grown, known);
      for (let round = 0; round < 10 && plan.steps.length === 0 && plan.waitMs !== undefined; round += 1) {
        await harness.world.pass(plan.waitMs);
        known = await harness.world.during(balancers.observe(refOf(grown, { id: known?.id })));
        plan = balancers.plan(grown, known);
      }
      assert.match(plan.steps[0]?.summary ?? '', /1 changed/);
    }));

  it('one that is active before what is on it is waited for', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired } = harness;
      const [step] = balancers.plan(desired, undefined).steps;
      let known = await harness.world.during(balancers.apply(step!, undefined, { permit: () => {} }));
      const [balancer] = harness.octavia.balancers.values();
      balancer!.status = 'ACTIVE';
      const looked = async () => {
        known = await harness.world.during(balancers.observe(refOf(desired, { id: known?.id })));
        return balancers.plan(desired, known);
      };
      const first = await looked();
      assert.deepEqual([first.steps.length, first.waitMs !== undefined], [0, true]);
      balancer!.status = 'PENDING_UPDATE';
      harness.octavia.settle();
      assert.match((await looked()).steps[0]?.summary ?? '', /floating IP/);
    }));

  it('a piece that Octavia has left at work for ever holds nothing up for long', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      const observed = await made(harness, balancers, desired);
      const grown = { ...desired, members: desired.members.slice(1) };
      const [step] = balancers.plan(grown, observed).steps;
      let known = await world.during(balancers.apply(step!, observed, { permit: () => {} }));
      harness.octavia.settle();
      const [balancer] = harness.octavia.balancers.values();
      balancer!.pools[0]!.status = 'PENDING_UPDATE';
      harness.calls();
      let waitedMs = 0;
      for (;;) {
        const { steps, waitMs } = balancers.plan(grown, known);
        assert.deepEqual(steps, []);
        if (waitMs === undefined) break;
        waitedMs += waitMs;
        await world.pass(waitMs);
        known = await world.during(balancers.observe(refOf(grown, { id: known?.id })));
      }
      assert.ok(waitedMs >= 60_000 && waitedMs < 120_000, `${waitedMs} ms`);
      assert.ok(harness.calls().length < 60);
    }));

  it('a piece that lags behind is waited for though one did hours ago', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      let known = await made(harness, balancers, desired);
      const [balancer] = harness.octavia.balancers.values();
      for (const members of [desired.members.slice(1), desired.members]) {
        const now = { ...desired, members };
        const [step] = balancers.plan(now, known).steps;
        known = await world.during(balancers.apply(step!, known, { permit: () => {} }));
        harness.octavia.settle();
        balancer!.pools[0]!.status = 'PENDING_UPDATE';
        for (let look = 0; look < 2; look += 1) {
          const { waitMs } = balancers.plan(now, known);
          assert.ok(waitMs !== undefined, 'it is not waited for');
          await world.pass(waitMs);
          known = await world.during(balancers.observe(refOf(now, { id: known?.id })));
        }
        assert.equal(known?.state, 'provisioning');
        balancer!.pools[0]!.status = 'ACTIVE';
        [known] = await world.during(balancers.observeAll(world.cluster));
        await world.pass(3_600_000);
      }
    }));

  it('what was known when a change began is not gone by when nobody has looked for long', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      let known = await made(harness, balancers, desired);
      const fewer = { ...desired, members: desired.members.slice(1) };
      const [step] = balancers.plan(fewer, known).steps;
      known = await world.during(balancers.apply(step!, known, { permit: () => {} }));
      harness.octavia.settle();
      const [balancer] = harness.octavia.balancers.values();
      balancer!.listeners[0]!.fields['connection_limit'] = 5;
      await world.pass(3_600_000);
      const end = await settle(harness, balancers, fewer, known, (now) => balancers.plan(fewer, now));
      assert.equal(balancer!.listeners[0]!.fields['connection_limit'], -1);
      assert.deepEqual(balancers.plan(fewer, end).steps, []);
    }));

  it('where statuses are not shown everything is read, and they are not asked for again', () =>
    withHarness(async (harness) => {
      harness.fake.fault = (call, response) => {
        if (!call.path.endsWith('/status')) return undefined;
        response.writeHead(403, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ faultcode: 'Client', faultstring: 'Policy does not allow this request.' }));
        return 'answered';
      };
      const balancers = await opened(harness);
      const first = await made(harness, balancers, harness.desired);
      assert.ok(first?.ingress.length);
      const asked = harness.calls().filter((call) => call === compared).length;
      await made(harness, balancers, desiredFor(newOwner(harness.world.cluster), harness.vms));
      assert.deepEqual([asked, harness.calls().filter((call) => call === compared).length], [1, 0]);
    }));

  for (const status of [500, 502, 504]) {
    it(`where statuses are answered by ${status} alone everything else still goes on`, () =>
      withHarness(async (harness) => {
        harness.fake.fault = (call, response) => {
          if (!call.path.endsWith('/status')) return undefined;
          response.writeHead(status, { 'content-type': 'text/html' });
          response.end('<html>');
          return 'answered';
        };
        const balancers = await opened(harness);
        const { world, desired } = harness;
        const first = await made(harness, balancers, desired);
        assert.ok(first?.ingress.length);
        await world.during(balancers.observeAll(world.cluster));
        const seen = await world.during(balancers.observe(refOf(desired, { id: first?.id })));
        assert.deepEqual(balancers.plan(desired, seen).steps, []);
      }));
  }

  it('members that a lagging replica showed beside their pool are not taken for those of its version', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      await made(harness, balancers, desired);
      const [pool] = harness.octavia.balancers.values().next().value?.pools ?? [];
      const [removed] = pool!.members.splice(0, 1);
      pool!.fields['updated_at'] = timestamp();
      const lags = JSON.stringify({
        members: [removed!, ...pool!.members].map(({ id, fields }) => ({
          id,
          provisioning_status: 'ACTIVE',
          ...fields,
        })),
      });
      harness.fake.fault = (call, response) => {
        if (!call.path.endsWith('/members')) return undefined;
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(lags);
        return 'answered';
      };
      const list = async () => (await world.during(balancers.observeAll(world.cluster)))[0];
      assert.deepEqual(balancers.plan(desired, await list()).steps, []);
      harness.fake.fault = undefined;
      assert.match(balancers.plan(desired, await list()).steps[0]?.summary ?? '', /1 added/);
    }));

  it('a monitor that a lagging replica showed as it was is seen as it is within days', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      await made(harness, balancers, desired);
      const [pool] = harness.octavia.balancers.values().next().value?.pools ?? [];
      const list = async () => (await world.during(balancers.observeAll(world.cluster)))[0];
      pool!.fields['updated_at'] = timestamp();
      assert.deepEqual(balancers.plan(desired, await list()).steps, []);
      pool!.monitor!.fields['delay'] = 77;
      for (let audit = 0; audit < 2 * 24; audit += 1) {
        await world.pass(3_600_000);
        await list();
      }
      assert.match(balancers.plan(desired, await list()).steps[0]?.summary ?? '', /delay from 77/);
    }));

  it('one that was just made and that a lagging replica does not show yet is not taken for gone', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      const [step] = balancers.plan(desired, undefined).steps;
      const known = await world.during(balancers.apply(step!, undefined, { permit: () => {} }));
      harness.fake.fault = (call, response) => {
        if (call.method !== 'GET' || call.service !== 'load-balancer') return undefined;
        const faultstring = `Load Balancer ${known?.id} not found.`;
        const collection = call.path.slice(call.path.lastIndexOf('/') + 1);
        const isOne = collection === known?.id;
        response.writeHead(isOne ? 404 : 200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(isOne ? { faultcode: 'Client', faultstring } : { [collection]: [] }));
        return 'answered';
      };
      const seen = () => world.during(balancers.observe(refOf(desired, { id: known?.id })));
      await assert.rejects(seen(), { kind: 'Unavailable' });
      await world.pass(60_000);
      assert.equal(await seen(), undefined);
    }));

  it('is looked for, once an answer was lost, before it is made again', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired } = harness;
      const [step] = balancers.plan(desired, undefined).steps;
      const apply = () => harness.world.during(balancers.apply(step!, undefined, { permit: () => {} }));
      harness.world.loseAnswer?.(0);
      await assert.rejects(apply());
      harness.calls();
      const found = await apply();
      assert.equal(found?.id, harness.only().id);
      assert.deepEqual(harness.calls(), ['GET /lbaas/loadbalancers']);
    }));
});
