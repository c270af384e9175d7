import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DesiredLoadBalancer } from '../../../controller/clouds/load-balancers.ts';
import { port } from '../suite/desired.ts';
import { ensure, remove } from '../suite/drive.ts';
import { type Example, withExample } from '../suite/suite-context.ts';
import type { FakeGce } from './fake/fake-gce.ts';
import { fakeGceWorld } from './gce-world.ts';

const internal = { 'networking.gke.io/load-balancer-type': 'Internal' };
const external = { 'cloud.google.com/l4-rbs': 'enabled' };

/** A Service with these families in a subnet with such access. */
async function withFamilies(
  access: 'INTERNAL' | 'EXTERNAL' | undefined,
  fields: Partial<DesiredLoadBalancer>,
  body: (example: Example, fake: FakeGce) => Promise<void>,
): Promise<void> {
  const world = fakeGceWorld('target pools', 'subnetwork-name = default');
  if (access !== undefined)
    world.fake.balancing.subnets.set('default', { stackType: 'IPV4_IPV6', ipv6AccessType: access });
  await withExample(world, (example) => body(example, world.fake), { families: ['IPv4', 'IPv6'], ...fields });
  await world.close();
}

const named = (fake: FakeGce, path: string) => fake.balancing.resources.get(path);
const rule = (fake: FakeGce, name: string) => named(fake, `regions/us-central1/forwardingRules/${name}`);

describe('families of load balancers of Compute Engine', () => {
  for (const [access, annotations] of [
    ['INTERNAL', internal],
    ['EXTERNAL', external],
  ] as const)
    it(`serves each family with its own forwarding rule and firewall rules, and shows both addresses: ${access}`, () =>
      withFamilies(access, { annotations, sourceRanges: ['192.0.2.0/24', '2001:db8::/32'] }, async (example, fake) => {
        const { observed, refusals } = await ensure(await example.driving());
        assert.deepEqual(refusals, []);
        const { name } = example.desired;
        const [v4, v6] = [rule(fake, name)!, rule(fake, `${name}-ipv6`)!];
        assert.deepEqual([v4['ipVersion'], v6['ipVersion']], [undefined, 'IPV6']);
        assert.equal(v4['backendService'], v6['backendService']);
        assert.match(String(v6['subnetwork']), /subnetworks\/default$/);
        const [first, second] = observed!.ingress.map(({ ip }) => ip!);
        assert.equal(first, v4['IPAddress']);
        assert.match(second!, access === 'INTERNAL' ? /^fd20:0:0:1:0:[0-9a-f]+:0:0$|^fd20::/ : /^2600:1900:4000:1:/);
        const sources = (one: string) => named(fake, `global/firewalls/k8s-fw-${one}`)?.['sourceRanges'];
        assert.deepEqual([sources(name), sources(`${name}-ipv6`)], [['192.0.2.0/24'], ['2001:db8::/32']]);
        const checks = [...fake.balancing.resources].filter(([path]) => /firewalls\/.*-hc-ipv6$/.test(path));
        assert.deepEqual(
          checks.map(([, wire]) => wire['sourceRanges']),
          [['2600:1901:8001::/48', '2600:2d00:1:b029::/64']],
        );
        assert.equal((await ensure(await example.driving())).calls, 0);
        example.desired = { ...example.desired, ports: [port(81, 30_081)] };
        const moved = await ensure(await example.driving());
        assert.deepEqual(moved.observed?.ingress, observed?.ingress);
        assert.deepEqual(rule(fake, `${name}-ipv6`)?.['ports'], ['81']);
        assert.ok(![...fake.balancing.resources.keys()].some((path) => path.includes('/addresses/')));
        await remove(await example.driving());
        assert.deepEqual([...fake.balancing.resources.keys()], []);
      }));

  it('removes and adds families one by one, and keeps the address of the other', () =>
    withFamilies('EXTERNAL', { annotations: external }, async (example, fake) => {
      const { observed } = await ensure(await example.driving());
      const [v4, v6] = observed!.ingress;
      const alone = { ...example.desired, families: ['IPv6'] as const };
      assert.deepEqual((await ensure(await example.driving({ desired: alone }))).observed?.ingress, [v6]);
      assert.equal(rule(fake, example.desired.name), undefined);
      const both = await ensure(await example.driving());
      assert.deepEqual(both.observed?.ingress[1], v6);
      assert.notDeepEqual(both.observed?.ingress[0], v4);
    }));

  it('gives each family its reserved address, by name', () =>
    withFamilies('EXTERNAL', { annotations: external }, async (example, fake) => {
      const subnet = { networkTier: 'PREMIUM' };
      fake.balancing.put('regions/us-central1/addresses/four', { address: '192.0.2.4', ...subnet });
      fake.balancing.put('regions/us-central1/addresses/six', {
        address: '2600:1900:4000:1:0:9:0:0',
        prefixLength: 96,
        ...subnet,
      });
      const annotations = { ...external, 'networking.gke.io/load-balancer-ip-addresses': 'four,six' };
      example.desired = { ...example.desired, annotations };
      const { observed } = await ensure(await example.driving());
      assert.deepEqual(observed?.ingress, [{ ip: '192.0.2.4' }, { ip: '2600:1900:4000:1:0:9::' }]);
      await remove(await example.driving());
      assert.equal(fake.balancing.resources.size, 2);
    }));

  for (const [access, annotations, expected] of [
    [undefined, internal, /IPv6, subnet default is IPV4_ONLY, expected IPV4_IPV6 with INTERNAL access/],
    ['EXTERNAL', internal, /IPv6, subnet default is IPV4_IPV6 with EXTERNAL access, expected .* INTERNAL access/],
    ['INTERNAL', external, /IPv6, subnet default is IPV4_IPV6 with INTERNAL access, expected .* EXTERNAL access/],
    ['EXTERNAL', {}, /IPv6, expected IPv4, or the annotation cloud.google.com\/l4-rbs/],
    ['EXTERNAL', { ...external, 'cloud.google.com/network-tier': 'Standard' }, /network-tier: Premium with it/],
  ] as const)
    it(`refuses a family that cannot be served, and serves the other: ${expected.source}`, () =>
      withFamilies(access, { annotations }, async (example, fake) => {
        const driven = await ensure(await example.driving()).catch(() => example.driving().then(ensure));
        assert.match(driven.refusals.map(({ message }) => message).join(), expected);
        assert.deepEqual(
          driven.observed?.ingress.map(({ ip }) => ip!.includes(':')),
          [false],
        );
        const balancers = await example.fresh();
        const again = { world: example.world, balancers, desired: example.desired, record: example.record };
        await ensure(again).catch(() => ensure(again));
        fake.calls.length = 0;
        await ensure(again);
        assert.ok(!fake.calls.some(({ method, path }) => method === 'POST' && path.endsWith('/forwardingRules')));
      }));
});
