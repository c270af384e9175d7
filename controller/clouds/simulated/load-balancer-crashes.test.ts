import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isCloudError } from '../../../common/cloud-error.ts';
import {
  cluster,
  desiredWith,
  dns,
  http,
  https,
  membersOf,
  newWorld,
  place,
  refOf,
  type World,
} from '../../../test/clouds/simulated/world.ts';
import type { Effect } from '../../../test/kit/cloud/faults.ts';
import { type DesiredLoadBalancer, type ObservedLoadBalancer, ownerTags } from '../load-balancers.ts';

/** Follows plans to their end. Every failure is a crash: only the id that was recorded before it is remembered. */
async function survive(
  world: World,
  desired: DesiredLoadBalancer | undefined,
  ref = refOf(desired ?? desiredWith()),
  retain = false,
) {
  let client = world.connect();
  let observed: ObservedLoadBalancer | undefined;
  let recorded = ref.id;
  let fresh = false;
  let crashes = 0;
  for (let round = 0; round < 120; round += 1) {
    try {
      if (!fresh) observed = await client.observe({ ...ref, id: recorded });
      fresh = true;
      if (observed?.owner) recorded = observed.id ?? recorded;
      if (!desired && !observed) return { crashes, recorded };
      const plan = desired ? client.plan(desired) : client.planRemoval(ref.owner, { retain });
      if (plan.steps[0]) {
        observed = await world.during(client.apply(plan, world.permitted));
      } else if (plan.waitMs !== undefined) {
        await world.clock.advance(plan.waitMs);
        fresh = false;
      } else {
        return { crashes, recorded };
      }
    } catch (error) {
      assert.ok(isCloudError(error), String(error));
      crashes += 1;
      fresh = false;
      client = world.connect();
      observed = undefined;
    }
  }
  return assert.fail('no end');
}

function made({ network }: World) {
  const { loadBalancers, addresses } = network;
  return {
    loadBalancers: loadBalancers.store.inPlace(place).filter(({ tags }) => tags[ownerTags.cluster] === cluster),
    theirs: loadBalancers.store.inPlace(place).filter(({ name }) => name === 'theirs'),
    addresses: addresses.store.inPlace(place).filter(({ tags }) => tags[ownerTags.cluster] === cluster),
  };
}

/** What counts: without ids, revisions and times. */
function shapeOf(world: World) {
  const { loadBalancers, theirs, addresses } = made(world);
  return {
    loadBalancers: [...loadBalancers, ...theirs].map(
      ({ name, tags, scheme, addresses: held, state, listeners, pools }) => ({
        name,
        tags,
        scheme,
        state,
        families: held.map(({ family, id }) => [family, id !== undefined]),
        listeners: listeners
          .map(({ id: _, pool: __, clientToken: ___, ...shown }) => shown)
          .toSorted((a, b) => a.port - b.port),
        pools: pools.map(({ id: _, clientToken: __, ...shown }) => shown),
      }),
    ),
    addresses: addresses
      .map(({ family, scheme, tags }) => ({ family, scheme, tags }))
      .toSorted((a, b) => a.family.localeCompare(b.family)),
  };
}

const effects: readonly Effect[] = [
  { kind: 'lost-answer' },
  { kind: 'error', status: 503 },
  { kind: 'throttle', retryAfterSeconds: 0 },
  { kind: 'cut-body' },
  { kind: 'malformed' },
  { kind: 'error', status: 409, code: 'not-ready' },
];

interface Life {
  readonly before?: Partial<DesiredLoadBalancer>;
  readonly after: Partial<DesiredLoadBalancer> | 'removed' | 'retained';
  /** Whether it uses a foreign load balancer, before and after. */
  readonly attached?: readonly [boolean, boolean];
}

const lives: Readonly<Record<string, Life>> = {
  creation: { after: { ports: [http, dns], families: ['IPv4', 'IPv6'] } },
  'a change of ports, affinity and ranges': {
    before: { ports: [http, https] },
    after: { ports: [https, dns], sessionAffinity: { timeoutSeconds: 60 }, sourceRanges: ['10.0.0.0/8'] },
  },
  'a move inside, with consent': {
    before: {},
    after: {
      annotations: { 'service.beta.kubernetes.io/simulated-load-balancer-internal': 'true' },
      mayChangeAddress: true,
    },
  },
  'a second family': { before: {}, after: { families: ['IPv4', 'IPv6'] } },
  'one family less': { before: { families: ['IPv4', 'IPv6'] }, after: { families: ['IPv6'] } },
  removal: { before: { families: ['IPv4', 'IPv6'] }, after: 'removed' },
  'giving up': { before: { ports: [http, dns] }, after: 'retained' },
  attaching: { after: { ports: [https, dns] }, attached: [false, true] },
  'a change while attached': {
    before: { ports: [https] },
    after: { ports: [dns], sessionAffinity: { timeoutSeconds: 60 } },
    attached: [true, true],
  },
  'moving to a foreign load balancer': {
    before: { ports: [https] },
    after: { ports: [https], mayChangeAddress: true },
    attached: [false, true],
  },
  'moving back': {
    before: { ports: [https] },
    after: { ports: [https], mayChangeAddress: true },
    attached: [true, false],
  },
  detaching: { before: { ports: [https, dns] }, after: 'removed', attached: [true, true] },
  'giving up while attached': { before: { ports: [https] }, after: 'retained', attached: [true, true] },
};

for (const [what, { before, after, attached = [false, false] }] of Object.entries(lives)) {
  for (const effect of effects) {
    const shown = effect.kind === 'error' ? `error ${effect.status}` : effect.kind;
    test(`${what} survives ${shown} at every call`, async () => {
      const run = async (skip: number | undefined) => {
        const world = newWorld({ loadBalancerTimings: { provisioningMs: 300, deletingMs: 300 } });
        const members = membersOf(world, 3);
        const attach = { id: hostOf(world), allowed: false };
        await world.clock.advance(300);
        const first = before && desiredWith({ members, ...before, ...(attached[0] && { attach }) });
        const ref = refOf(first ?? desiredWith());
        const { recorded } = first ? await survive(world, first) : { recorded: undefined };
        if (skip !== undefined) world.sandbox.faults.add({ operation: '*', skip, times: 1, effect });
        const fewer = { members: members.slice(1), ...(attached[1] && { attach }) };
        const then = typeof after === 'string' ? undefined : desiredWith({ ...fewer, ...after });
        const ends = { ...refOf(then ?? first ?? desiredWith()), id: recorded ?? ref.id };
        const { crashes } = await survive(world, then, ends, after === 'retained');
        const struck = world.sandbox.faults.list().length === 0;
        return { shape: shapeOf(world), struck, crashes };
      };
      const undisturbed = (await run(undefined)).shape;
      const own = typeof after === 'string' ? after === 'retained' && !attached[0] : !attached[1];
      assert.equal(undisturbed.loadBalancers.length, own ? 2 : 1);
      let struck = 0;
      for (let skip = 0; ; skip += 1) {
        const disturbed = await run(skip);
        if (!disturbed.struck) break;
        struck += 1;
        assert.deepEqual(disturbed.shape, undisturbed, `at call ${skip}`);
      }
      assert.ok(struck > 4, `struck ${struck} times`);
    });
  }
}

const anyPorts = fc.subarray([http, https, dns, { ...http, name: 'alt', port: 8080, nodePort: 0 }], { minLength: 1 });
const anyDesired = fc.record({
  ports: anyPorts,
  families: fc.subarray(['IPv4', 'IPv6'] as const, { minLength: 1 }),
  sourceRanges: fc.subarray(['10.0.0.0/8', '192.0.2.0/24']),
  sessionAffinity: fc.option(fc.record({ timeoutSeconds: fc.constantFrom(60, 10_800) }), { nil: undefined }),
  healthCheck: fc.record({ port: fc.constantFrom(10256, 30999), path: fc.constant('/healthz') }),
  mayChangeAddress: fc.boolean(),
  attached: fc.boolean(),
  annotations: fc.record(
    {
      'service.beta.kubernetes.io/simulated-load-balancer-internal': fc.constantFrom('true', 'false', 'maybe'),
      'service.beta.kubernetes.io/simulated-load-balancer-proxy-protocol': fc.constantFrom('true', 'false'),
      'service.beta.kubernetes.io/simulated-load-balancer-tls': fc.constantFrom('http', '443'),
    },
    { requiredKeys: [] },
  ),
  members: fc.array(fc.record({ index: fc.nat(4), draining: fc.boolean() }), { maxLength: 5 }),
});

/** A foreign load balancer with consent; TCP 80 is taken. */
function hostOf({ network }: World): string {
  const common = { tags: {}, clientToken: undefined };
  return network.loadBalancers.create(place, {
    name: 'theirs',
    scheme: 'external',
    families: ['IPv4', 'IPv6'],
    addresses: [],
    clientToken: undefined,
    tags: { [ownerTags.consent]: `${cluster}/default` },
    pools: [{ ...common, name: 'p', healthCheck: undefined, sessionAffinity: undefined, members: [] }],
    listeners: [
      {
        ...common,
        name: 'l',
        protocol: 'TCP',
        port: 80,
        memberPort: 80,
        sourceRanges: [],
        pool: 'p',
        proxyProtocol: false,
        tls: false,
      },
    ],
  }).loadBalancer.id;
}

/** Without consent to another address, ports that both states desire are served without a gap. */
function watchOver(world: World, before: DesiredLoadBalancer | undefined, after: DesiredLoadBalancer): () => void {
  const ours = made(world).loadBalancers[0];
  if (!before || !ours || before.attach || after.attach || after.mayChangeAddress) return () => {};
  const keys = ({ ports }: { ports: readonly { protocol: string; port: number }[] }) =>
    ports.map(({ protocol, port }) => `${protocol} ${port}`);
  const there = keys({ ports: ours.listeners });
  const ports = keys(after).filter((key) => there.includes(key));
  const addresses = ours.addresses.filter(({ family }) => after.families.includes(family)).map(({ ip }) => ip);
  const gaps: string[] = [];
  const unwatch = world.network.loadBalancers.onChange(({ before: was, after: now }) => {
    if (was?.id !== ours.id) return;
    if (now?.state !== 'active') gaps.push('the load balancer');
    const shown = now ? keys({ ports: now.listeners }) : [];
    gaps.push(...ports.filter((port) => !shown.includes(port)));
    gaps.push(...addresses.filter((ip) => !now?.addresses.some((one) => one.ip === ip)));
  });
  return () => {
    unwatch();
    assert.deepEqual(gaps, []);
  };
}

test('any state is reached from any other in few steps, one at a time, and removal leaves nothing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyDesired, { minLength: 1, maxLength: 4 }), async (states) => {
      const world = newWorld({ loadBalancerTimings: { provisioningMs: 100, deletingMs: 100 } });
      const all = membersOf(world, 5);
      const theirs = hostOf(world);
      await world.clock.advance(100);
      const hosted = world.network.loadBalancers.store.get(theirs)!;
      let recorded: string | undefined;
      let previous: DesiredLoadBalancer | undefined;
      for (const { members, attached, ...rest } of states) {
        const chosen = new Map(members.map(({ index, draining }) => [index, { ...all[index]!, draining }]));
        const attach = attached ? { attach: { id: theirs, allowed: false } } : {};
        const desired = desiredWith({ ...rest, ...attach, members: [...chosen.values()] });
        const before = world.permits.length;
        const unwatch = watchOver(world, previous, desired);
        previous = desired;
        ({ recorded } = await survive(world, desired, { ...refOf(desired), id: recorded }));
        unwatch();
        assert.ok(world.permits.length - before <= 20, `${world.permits.length - before} mutating calls`);
        assert.ok(made(world).loadBalancers.length <= 1);
        const calls = world.permits.length;
        await survive(world, desired, { ...refOf(desired), id: recorded });
        assert.equal(world.permits.length, calls, 'a second look changes nothing');
        const listed = await world.connect().observeAll(cluster);
        assert.ok(listed.length <= 1);
      }
      await survive(world, undefined, { ...refOf(desiredWith()), id: recorded });
      assert.deepEqual([made(world).loadBalancers, made(world).addresses], [[], []]);
      const { listeners, pools, tags, state } = world.network.loadBalancers.store.get(theirs)!;
      assert.deepEqual([listeners, pools, tags, state], [hosted.listeners, hosted.pools, hosted.tags, 'active']);
      assert.equal(world.clock.pending, 0);
    }),
    { numRuns: 150 },
  );
});

/** The answer to the creation is lost, a stale list follows, and the addresses show that they are in use. */
const plain = { attached: false, mayChangeAddress: false, annotations: {}, members: [], sourceRanges: [] };
const checked = { sessionAffinity: undefined, healthCheck: { port: 10256, path: '/healthz' } as const };
const portOf = (name: string, port: number, nodePort: number) => ({
  name,
  protocol: 'TCP' as const,
  port,
  nodePort,
  appProtocol: undefined,
});
type State = typeof anyDesired extends fc.Arbitrary<infer W> ? W : never;
const hiddenByTheList: [State, State, { skip: number; times: number; effect: Effect }[]] = [
  { ...plain, ...checked, families: ['IPv4', 'IPv6'], ports: [portOf('https', 443, 30443)] },
  { ...plain, ...checked, families: ['IPv4'], ports: [portOf('alt', 8080, 0)] },
  [
    { skip: 8, times: 3, effect: { kind: 'stale', ageMs: 700 } },
    { skip: 5, times: 2, effect: { kind: 'lost-answer' } },
  ],
];

test('every failure on the way leads to the same end without doubles', async () => {
  const anyEffect = fc.constantFrom<Effect>(
    ...effects,
    { kind: 'stale', ageMs: 700 },
    { kind: 'missing-items', count: 1 },
  );
  const anyFault = fc.record({ skip: fc.nat(25), times: fc.integer({ min: 1, max: 3 }), effect: anyEffect });
  await fc.assert(
    fc.asyncProperty(anyDesired, anyDesired, fc.array(anyFault, { maxLength: 4 }), async (first, second, faults) => {
      const run = async (disturbed: boolean) => {
        const world = newWorld({ loadBalancerTimings: { provisioningMs: 100, deletingMs: 100 } });
        if (disturbed) for (const fault of faults) world.sandbox.faults.add({ operation: '*', ...fault });
        const all = membersOf(world, 5);
        let recorded: string | undefined;
        for (const { members, attached: _, ...rest } of [first, second]) {
          const chosen = new Map(members.map(({ index, draining }) => [index, { ...all[index]!, draining }]));
          const desired = desiredWith({ ...rest, mayChangeAddress: false, members: [...chosen.values()] });
          ({ recorded } = await survive(world, desired, { ...refOf(desired), id: recorded }));
          world.sandbox.faults.clear();
          await world.clock.advance(1000);
          ({ recorded } = await survive(world, desired, { ...refOf(desired), id: recorded }));
          if (disturbed) for (const fault of faults) world.sandbox.faults.add({ operation: '*', ...fault });
        }
        return shapeOf(world);
      };
      assert.deepEqual(await run(true), await run(false));
    }),
    { numRuns: 100, examples: [hiddenByTheList] },
  );
});
