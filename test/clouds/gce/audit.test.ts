import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadBalancerName } from '../../../controller/clouds/gce/load-balancers/names.ts';
import type { LoadBalancers } from '../../../controller/clouds/load-balancers.ts';
import { newOwner } from '../suite/desired.ts';
import { ensure } from '../suite/drive.ts';
import { type Example, withExample } from '../suite/suite-context.ts';
import { modes } from './balancing-behind.ts';
import { refusal } from './fake/fake-api.ts';
import type { FakeGce } from './fake/fake-gce.ts';
import { fakeGceWorld } from './gce-world.ts';

interface Audited {
  readonly example: Example;
  readonly fake: FakeGce;
  readonly balancers: LoadBalancers;
  /** The last parts of the paths of its calls. */
  audit(term?: AbortSignal): Promise<readonly string[]>;
}

const ageMs = 15 * 60_000;

/** An internal load balancer in a cluster that was read twice. */
async function withAudited(body: (audited: Audited) => Promise<void>): Promise<void> {
  const world = fakeGceWorld('internal load balancers');
  const { fake } = world;
  await withExample(world, async (example) => {
    await ensure(await example.driving());
    const balancers = await example.fresh();
    const own = new AbortController().signal;
    const audit = async (term = own) => {
      fake.calls.length = 0;
      await world.during(balancers.observeAll(world.cluster, term));
      return fake.calls.map(({ path }) => path.split('/').slice(-2).join('/')).sort();
    };
    await audit();
    await audit();
    await body({ example, fake, balancers, audit });
  });
  await world.close();
}

const always = [
  'aggregated/instanceGroups',
  'global/firewalls',
  'global/healthChecks',
  'us-central1/addresses',
  'us-central1/backendServices',
  'us-central1/forwardingRules',
];

describe('reads of all load balancers of Compute Engine', () => {
  it('reads lists that had nothing in them, and instances of groups that are as many as before, every 15 minutes', () =>
    withAudited(async ({ example, audit }) => {
      assert.deepEqual(await audit(), always);
      await example.world.pass(ageMs);
      const all = await audit();
      for (const list of ['us-central1/targetPools', 'us-central1/healthChecks', 'global/httpHealthChecks'])
        assert.ok(all.includes(list), list);
      assert.equal(all.filter((call) => call.endsWith('/listInstances')).length, 2);
      assert.deepEqual(await audit(), always);
    }));

  it('reads everything where another leader may have been in between', () =>
    withAudited(async ({ example, fake, balancers }) => {
      const owner = newOwner(example.world.cluster);
      const name = loadBalancerName(owner.service);
      const description = JSON.stringify({
        'mooring.dev/cluster': owner.cluster,
        'mooring.dev/service-uid': owner.service,
      });
      fake.balancing.put(`regions/us-central1/targetPools/${name}`, { description });
      const term = new AbortController().signal;
      const all = await example.world.during(balancers.observeAll(example.world.cluster, term));
      assert.ok(all.some((one) => one.owner?.service === owner.service));
    }));

  it('reads a list again as soon as something was created in it', () =>
    withAudited(async ({ example, balancers, audit }) => {
      const desired = { ...example.desired, owner: newOwner(example.world.cluster), annotations: {} };
      const annotations = { 'networking.gke.io/load-balancer-type': 'External' };
      const service = { ...desired, name: loadBalancerName(desired.owner.service), annotations };
      await ensure({ world: example.world, balancers, desired: service, record: { id: undefined } });
      const calls = await audit();
      assert.ok(calls.includes('us-central1/targetPools') && calls.includes('global/httpHealthChecks'), calls.join());
    }));

  it('sees that an instance has left its group, and after 15 minutes that one is in place of another', () =>
    withAudited(async ({ example, fake, balancers, audit }) => {
      const desired = { ...example.desired, annotations: modes['internal load balancers'].annotations };
      const steps = () => balancers.plan(desired).steps.length;
      const [set] = [...fake.balancing.members.values()].filter(({ size }) => size > 0);
      const [instance] = set!;
      set!.delete(instance!);
      await audit();
      assert.ok(steps() > 0);
      set!.add(instance!);
      await audit();
      assert.equal(steps(), 0);
      set!.delete(instance!);
      set!.add('zones/us-central1-a/instances/other');
      await example.world.pass(ageMs);
      await audit();
      assert.ok(steps() > 0);
      set!.clear();
      set!.add(instance!);
      await audit(new AbortController().signal);
    }));

  it('reads the instances of groups once more where the read that had them failed', () =>
    withAudited(async ({ example, fake, balancers, audit }) => {
      const desired = { ...example.desired, annotations: modes['internal load balancers'].annotations };
      const [set] = [...fake.balancing.members.values()].filter(({ size }) => size > 0);
      const [instance] = set!;
      set!.delete(instance!);
      set!.add('zones/us-central1-a/instances/other');
      const term = new AbortController().signal;
      fake.fault = ({ path }) =>
        path.endsWith('/forwardingRules') ? refusal(503, 'backendError', 'try again') : undefined;
      await assert.rejects(audit(term), /503/);
      fake.fault = undefined;
      await audit(term);
      assert.ok(balancers.plan(desired).steps.length > 0);
      set!.clear();
      set!.add(instance!);
      await audit(new AbortController().signal);
    }));
});
