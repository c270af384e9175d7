import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DesiredLoadBalancer } from '../../../controller/clouds/load-balancers.ts';
import { isOwnedBy, nameOf } from '../../../controller/engine/resource.ts';
import { printNotes } from '../../../controller/services/balancers/notes.ts';
import { desiredFor, newOwner, port, rich } from './desired.ts';
import { ensure, printStep, remove } from './drive.ts';
import { driverOf, listAll } from './recorded-driver.ts';
import { type Example, type SuiteContext, sorted, withExample } from './suite-context.ts';

/** Runs a body with a foreign load balancer, and deletes it afterwards. */
async function withForeign(
  example: Example,
  /** What its tag says after the UID of the cluster, several times with blanks in between; undefined = it has none. */
  consent: '' | `/${string}` | undefined,
  body: (id: string) => Promise<void>,
  name = 'foreign',
): Promise<void> {
  const { cluster } = example.world;
  const tag = consent
    ?.split(' ')
    .map((whom) => `${cluster}${whom}`)
    .join(' ');
  const id = await example.world.createForeignLoadBalancer(name, tag);
  try {
    await body(id);
  } finally {
    await remove(await example.driving());
    await example.world.deleteLoadBalancer(id);
  }
}

/** Facts about what is not ours, or not ours alone. */
export function ownershipFacts({ world, capabilities }: SuiteContext): void {
  const { loadBalancers } = capabilities;
  if (!loadBalancers) return;
  describe('foreign resources', () => {
    it('leaves a load balancer with our name and without our tags unchanged', () =>
      withExample(world(), async (example) =>
        withForeign(
          example,
          undefined,
          async (id) => {
            const before = await example.world.describeLoadBalancer(id);
            const { observed, refusals } = await ensure(await example.driving());
            if (loadBalancers.uniqueNames) {
              assert.deepEqual(
                refusals.map(({ reason }) => reason),
                ['ForeignLoadBalancer'],
              );
              assert.match(refusals[0]?.message ?? '', new RegExp(example.desired.name));
            } else assert.notEqual(observed?.id, id);
            await remove(await example.driving());
            assert.equal(await example.world.describeLoadBalancer(id), before);
          },
          example.desired.name,
        ),
      ));

    it('creates a load balancer once a foreign one with its name has gone', (t) =>
      withExample(world(), async (example) => {
        if (!loadBalancers.uniqueNames) return t.skip('load balancers of this cloud may share a name');
        const id = await example.world.createForeignLoadBalancer(example.desired.name, undefined);
        await ensure(await example.driving());
        await example.world.deleteLoadBalancer(id);
        await example.world.pass((await example.fresh()).settleMs);
        const { observed, refusals } = await ensure(await example.driving());
        assert.deepEqual(refusals, []);
        assert.equal(observed?.state, 'active');
      }));

    it('leaves foreign resources unchanged while a Service whose record names them lives and goes', () =>
      withExample(world(), async (example) => {
        const { world: cloud } = example;
        const theirs = rich(desiredFor(newOwner('another-cluster'), example.vms, { service: 'a/b' }), cloud);
        const { observed } = await ensure(await example.driving({ desired: theirs, record: { id: undefined } }));
        assert.ok(observed?.id !== undefined);
        await cloud.pass((await example.fresh()).settleMs);
        const driver = await driverOf((wrap) => example.fresh(wrap));
        const all = await cloud.during(listAll(driver, theirs.owner.cluster));
        const ids = Object.fromEntries(all.filter(({ key }) => key !== undefined).map((one) => [nameOf(one), one.id]));
        for (const one of all) if (isOwnedBy(one, theirs.owner)) await cloud.stripMarks?.(one);
        const before = await cloud.describeLoadBalancer(observed.id);
        example.desired = { ...example.desired, ports: [port(8443, 31443)] };
        for (const drive of [ensure, remove]) {
          Object.assign(example.record, { id: observed.id, notes: printNotes({ ids, tried: [] }) });
          await drive(await example.driving());
          assert.equal(await cloud.describeLoadBalancer(observed.id), before);
        }
        await cloud.deleteLoadBalancer(observed.id);
      }));

    it('refuses tags of a Service that would say whose a load balancer is, and creates nothing', async (t) => {
      const { tagging } = world();
      if (tagging === undefined) return t.skip('no annotation of this cloud sets tags');
      for (const key of tagging.reserved)
        await withExample(
          world(),
          async (example) => {
            const { calls, refusals } = await ensure(await example.driving());
            assert.equal(calls, 0, key);
            assert.ok(
              refusals.some(({ message }) => message.includes(tagging.annotation)),
              key,
            );
            assert.deepEqual(await example.made(), []);
          },
          { annotations: { [tagging.annotation]: `team=shop,${key}=x` } },
        );
    });

    if (loadBalancers.attach) attachFacts(world);
    const { attach, uniqueNames, moves = true } = loadBalancers;
    if (attach && uniqueNames && moves) moveFacts(world);
    if (loadBalancers.retain) retainFacts(world);

    it('refuses a foreign address without consent', async (t) => {
      const { freeAddress } = world();
      if (!freeAddress) return t.skip('no load balancer of this cloud can request an address');
      const address = await freeAddress(undefined);
      await withExample(
        world(),
        async (example) => {
          const { calls, refusals } = await ensure(await example.driving());
          assert.equal(calls, 0);
          assert.deepEqual(
            refusals.map(({ reason }) => reason),
            ['ForeignLoadBalancer'],
          );
          assert.match(refusals[0]?.message ?? '', new RegExp(address.replaceAll('.', '\\.')));
        },
        { address },
      );
    });

    it('changes our own address to a lent one only with consent', async (t) => {
      const { freeAddress } = world();
      if (!freeAddress) return t.skip('no load balancer of this cloud can request an address');
      const consent = `${world().cluster}/default`;
      const [first, second] = [await freeAddress(consent), await freeAddress(consent)];
      await withExample(
        world(),
        async (example) => {
          const made = await ensure(await example.driving());
          assert.deepEqual(made.observed?.ingress[0]?.ip, first);
          example.desired = { ...example.desired, address: second, ports: [port(80, 30080), port(443, 30443)] };
          const { observed, refusals } = await ensure(await example.driving());
          assert.deepEqual(
            refusals.map(({ reason }) => reason),
            ['AddressWouldChange'],
          );
          assert.match(refusals[0]?.message ?? '', new RegExp(second.replaceAll('.', '\\.')));
          assert.deepEqual(observed?.ingress[0]?.ip, first);
          const rest = await ensure(await example.driving());
          assert.equal(rest.calls, 0);
          example.desired = { ...example.desired, mayChangeAddress: true };
          const changed = await ensure(await example.driving());
          assert.deepEqual(changed.refusals, []);
          assert.equal(changed.observed?.ingress[0]?.ip, second);
          assert.equal((await ensure(await example.driving())).calls, 0);
        },
        { address: first },
      );
    });
  });
}

function attachFacts(world: SuiteContext['world']): void {
  const attached = (desired: DesiredLoadBalancer, id: string, allowed: boolean): DesiredLoadBalancer => ({
    ...desired,
    ports: [port(8443, 30443)],
    attach: { id, allowed },
  });

  for (const [by, consent, allowed] of [
    ['a consent tag', '/default', false],
    ["the operator's list", undefined, true],
  ] as const) {
    it(`attaches to a foreign load balancer with ${by}, and leaves it as it was`, () =>
      withExample(world(), async (example) =>
        withForeign(example, consent, async (id) => {
          const before = await example.world.describeLoadBalancer(id);
          const things = sorted(await example.world.inventory());
          example.desired = attached(example.desired, id, allowed);
          const { observed, refusals } = await ensure(await example.driving());
          assert.deepEqual(refusals, []);
          assert.equal(observed?.id, id);
          assert.equal(observed.attached, true);
          assert.ok(observed.ingress.length > 0);
          assert.equal((await ensure(await example.driving())).calls, 0);
          const all = await example.world.during((await example.fresh()).observeAll(example.world.cluster));
          assert.ok(
            all.some(({ owner, attached: shared }) => owner?.service === example.desired.owner.service && shared),
          );
          await remove(await example.driving());
          assert.equal(await example.world.describeLoadBalancer(id), before);
          assert.deepEqual(sorted(await example.world.inventory()), things);
          assert.equal((await remove(await example.driving())).calls, 0);
        }),
      ));
  }

  it('refuses to attach to a foreign load balancer without consent, and makes no call', () =>
    withExample(world(), async (example) =>
      withForeign(example, undefined, async (id) => {
        const before = await example.world.describeLoadBalancer(id);
        example.desired = attached(example.desired, id, false);
        const { calls, refusals } = await ensure(await example.driving());
        assert.equal(calls, 0);
        assert.deepEqual(
          refusals.map(({ reason }) => reason),
          ['ForeignLoadBalancer'],
        );
        assert.match(refusals[0]?.message ?? '', new RegExp(id));
        assert.equal(await example.world.describeLoadBalancer(id), before);
      }),
    ));

  for (const [whom, consent] of [
    ['another namespace', '/team-a'],
    ['another Service of the namespace', '/default/another'],
    ['the whole cluster', ''],
  ] as const) {
    it(`refuses to attach to a load balancer that is lent to ${whom}`, () =>
      withExample(world(), async (example) =>
        withForeign(example, consent, async (id) => {
          const before = await example.world.describeLoadBalancer(id);
          example.desired = attached(example.desired, id, false);
          const { calls, refusals } = await ensure(await example.driving());
          assert.deepEqual([calls, refusals.map(({ reason }) => reason)], [0, ['ForeignLoadBalancer']]);
          assert.match(refusals[0]?.message ?? '', new RegExp(`${example.world.cluster}/default`));
          if (consent === '') assert.match(refusals[0]?.message ?? '', /--allow-cluster-wide-attach/);
          assert.equal(await example.world.describeLoadBalancer(id), before);
        }),
      ));
  }

  it('attaches by consent to the whole cluster where the operator allows it, and later stays without growth', () =>
    withExample(world(), async (example) =>
      withForeign(example, '', async (id) => {
        const before = await example.world.describeLoadBalancer(id);
        const desired = attached(example.desired, id, false);
        example.desired = { ...desired, clusterWideConsent: true };
        const allowed = await ensure(await example.driving());
        assert.deepEqual([allowed.refusals, allowed.observed?.attached], [[], true]);

        example.desired = { ...desired, ports: [port(8443, 30444)] };
        const stands = await ensure(await example.driving());
        assert.deepEqual(
          stands.refusals.map(({ reason }) => reason),
          ['ClusterWideConsent'],
        );
        assert.ok(stands.calls > 0, 'the listener follows the node port');
        assert.deepEqual([stands.observed?.id, stands.observed?.ingress], [id, allowed.observed?.ingress]);

        example.desired = { ...desired, ports: [port(8443, 30444), port(9443, 30445)] };
        const grows = await ensure(await example.driving());
        assert.deepEqual(
          grows.refusals.map(({ reason, ports }) => [reason, ports?.map((each) => each.port)]),
          [['ForeignLoadBalancer', [9443]]],
        );
        assert.deepEqual([grows.calls, grows.observed?.attached], [0, true]);
        await remove(await example.driving());
        assert.equal(await example.world.describeLoadBalancer(id), before);
      }),
    ));

  it("keeps another Service's port of a lent load balancer, and refuses it as a conflict", () =>
    withExample(world(), async (example) =>
      withForeign(example, '/default /team-a', async (id) => {
        const { desired } = example;
        const service = 'team-a/shop';
        const another = desiredFor(newOwner(example.world.cluster), example.vms, { service });
        const others = await example.driving({ desired: attached(another, id, false), record: { id: undefined } });
        await ensure(others);
        const before = await example.world.describeLoadBalancer(id);
        example.desired = attached(desired, id, false);
        const { refusals } = await ensure(await example.driving());
        assert.deepEqual(
          refusals.map(({ reason }) => reason),
          ['Conflict'],
        );
        // Who has it is told as far as the namespace, which is enough to ask.
        assert.match(refusals[0]?.message ?? '', /namespace team-a/);
        assert.doesNotMatch(refusals[0]?.message ?? '', /shop/);
        await remove(await example.driving());
        assert.equal(await example.world.describeLoadBalancer(id), before);
        await remove(others);
      }),
    ));
}

/** From one that is lent to one of its own, whose name others have. */
function moveFacts(world: SuiteContext['world']): void {
  it('a Service that moves off a lent one keeps its parts there until one of its own serves it', () =>
    withExample(world(), async (example) =>
      withForeign(example, '/default', async (id) => {
        const before = await example.world.describeLoadBalancer(id);
        const own = { ...example.desired, mayChangeAddress: true };
        example.desired = { ...own, attach: { id, allowed: false } };
        await ensure(await example.driving());
        const served = await example.world.describeLoadBalancer(id);
        const inTheWay = await example.world.createForeignLoadBalancer(own.name, undefined);
        example.desired = own;
        const refused = await ensure(await example.driving());
        assert.deepEqual([...new Set(refused.refusals.map(({ reason }) => reason))], ['ForeignLoadBalancer']);
        assert.equal(await example.world.describeLoadBalancer(id), served);
        await example.world.deleteLoadBalancer(inTheWay);
        await example.world.pass((await example.fresh()).settleMs);
        const moved = await ensure(await example.driving());
        assert.deepEqual([moved.refusals, moved.observed?.attached], [[], false]);
        assert.notEqual(moved.observed?.id, id);
        assert.equal(await example.world.describeLoadBalancer(id), before);
      }),
    ));
}

function retainFacts(world: SuiteContext['world']): void {
  for (const by of ['the process that made it', 'another process'])
    it(`keeps a retained load balancer with its address, parts and mark when ${by} removes it`, () =>
      withExample(world(), async (example) => {
        const { world: cloud } = example;
        example.desired = { ...rich(example.desired, cloud), retain: true };
        const first = await example.driving();
        await cloud.during(first.balancers.observeAll(cloud.cluster));
        const { observed } = await ensure(first);
        assert.ok(observed?.id);
        const things = sorted(await cloud.inventory());
        const { steps } = await remove(by === 'another process' ? await example.driving() : first);
        assert.deepEqual(sorted(await cloud.inventory()), things);
        // A resource may be marked by two calls, the mark first and its owner's tags off then; no step goes on and on.
        assert.ok(steps.length <= 2 * new Set(steps.map(printStep)).size, steps.map(printStep).join('\n'));
        assert.equal((await remove(await example.driving())).calls, 0);
        const balancers = await example.fresh();
        await cloud.pass(balancers.settleMs);
        const all = await cloud.during(balancers.observeAll(cloud.cluster));
        const left = all.filter(({ id }) => id === observed.id);
        for (const one of left) assert.equal(one.retained, true);
        await cloud.deleteLoadBalancer(observed.id);
      }));
}
