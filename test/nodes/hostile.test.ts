import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import fc from 'fast-check';
import type { NodeAddress } from '../../common/instance.ts';
import type { Report, ReportedInstance } from '../../common/report.ts';
import { conditions, labels, taints } from '../../common/well-known.ts';
import { createReportReader } from '../../controller/reports/read-report.ts';
import { fleet } from './harness/fleet.ts';
import { createWorld, type Replica, reportedOf, type World, type WorldOptions } from './harness/world.ts';

const read = createReportReader();

/** What the report API would have taken of this: nothing reaches the nodes that it refuses. */
function taken(instance: ReportedInstance, more: Partial<Report> = {}): Partial<Report> | undefined {
  const changes = { instance, ...more };
  const whole = {
    version: 1,
    agentVersion: '0',
    agentId: 'a',
    sequence: 1,
    observedAt: '2026-01-01T00:00:00Z',
    metadata: { ok: true, ageSeconds: 0, failures: 0 },
    ...changes,
  };
  return read(JSON.parse(JSON.stringify(whole))).report === undefined ? undefined : changes;
}

const texts = fc.oneof(
  fc.constantFrom(
    'eu-west-1a',
    'no label/value',
    'x'.repeat(64),
    '-a',
    'a-',
    '虚拟机',
    '😀',
    '$(id)',
    '../..',
    'a b',
    '"',
    '{}',
  ),
  fc.string({ minLength: 1, maxLength: 70 }),
);
const labelKeys = fc.constantFrom(
  labels.zone,
  labels.region,
  labels.instanceType,
  'kubernetes.io/hostname',
  'node-role.kubernetes.io/control-plane',
  'node.kubernetes.io/exclude-from-external-load-balancers',
  'sub.k8s.io/x',
  'node-restriction.kubernetes.io/x',
  'topology.example.com/rack',
  'mooring.dev/paused',
  'example.com/x',
  'plain',
);
const addresses: fc.Arbitrary<NodeAddress> = fc.record({
  type: fc.constantFrom('InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'),
  address: fc.oneof(
    fc.nat(255).map((n) => `10.0.0.${n}`),
    fc.nat(65_535).map((n) => `2001:db8::${n.toString(16)}`),
    fc.constantFrom('10.0.0.1', '169.254.169.254', '2001:DB8::1', '2001:db8:0::1'),
  ),
});

describe('a hostile report', () => {
  const worlds: World[] = [];
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.close();
  });

  async function setUp(options: WorldOptions): Promise<{ world: World; replica: Replica }> {
    const world = createWorld(options);
    worlds.push(world);
    const replica = world.replica();
    await replica.start();
    return { world, replica };
  }

  /** Anything the schema lets through, about any of the instances. */
  function forged(world: World, ids: readonly string[]) {
    const known = ids.map((id) => reportedOf(world.cloud.model.get(id)!));
    const victim = fc.constantFrom(...known);
    return fc
      .record({
        victim,
        id: fc.option(
          fc.nat().map((n) => `i-${n}`),
          { nil: undefined, freq: 3 },
        ),
        cloud: fc.constantFrom('simulated', 'aws', 'openstack', 'x'),
        own: fc.boolean(),
        providerID: fc.oneof(
          { weight: 3, arbitrary: fc.constant('') },
          {
            weight: 1,
            arbitrary: fc.constantFrom(
              'aws:///eu-west-1a/i-0123456789abcdef0',
              'openstack:///x',
              'simulated://sim-1/none',
              'x',
            ),
          },
        ),
        incarnation: fc.option(fc.constantFrom('before', ...known.map((each) => each.incarnation ?? '')), {
          nil: undefined,
        }),
        zone: fc.option(texts, { nil: undefined }),
        region: fc.option(texts, { nil: undefined }),
        type: fc.option(texts, { nil: undefined }),
        addresses: fc.array(addresses, { maxLength: 6 }),
        labels: fc.dictionary(labelKeys, fc.constantFrom('', 'v', 'true'), { maxKeys: 5 }),
        leaving: fc.boolean(),
        notices: fc.array(fc.record({ kind: fc.constantFrom('termination' as const, 'preemption' as const) }), {
          maxLength: 2,
        }),
        smbiosUuid: fc.option(fc.uuid(), { nil: undefined }),
      })
      .map((made) => {
        const instance = {
          cloud: made.own ? 'simulated' : made.cloud,
          id: made.id ?? made.victim.id,
          providerID: made.providerID === '' ? made.victim.providerID : made.providerID,
          addresses: made.addresses,
          labels: made.labels,
          ...(made.incarnation === undefined ? {} : { incarnation: made.incarnation }),
          ...(made.zone === undefined ? {} : { zone: made.zone }),
          ...(made.region === undefined ? {} : { region: made.region }),
          ...(made.type === undefined ? {} : { type: made.type }),
        };
        const { leaving, notices, smbiosUuid } = made;
        return taken(instance, { leaving, notices, ...(smbiosUuid === undefined ? {} : { smbiosUuid }) });
      })
      .filter((report) => report !== undefined);
  }

  for (const kind of ['with its API', 'report-only'] as const) {
    it(`changes only its sender's Node and deletes none, of a cloud ${kind}`, async () => {
      const { world, replica } = await setUp({});
      const members = await fleet(world, 4);
      let current = replica;
      let here = world;
      if (kind === 'report-only') {
        const other = await setUp({ clouds: [{ reportOnly: 'simulated' }] });
        here = other.world;
        current = other.replica;
        for (const { name } of members) {
          const vm = here.join(name);
          here.cluster.kubelet(name);
          current.report(name, { instance: reportedOf(vm) });
        }
        await here.clock.advance(400_000);
      }
      const ids = [...here.cloud.model.all()].map(({ id }) => id);
      const others = () => members.slice(1).map(({ name }) => here.cluster.mustNode(name).metadata.resourceVersion);
      const before = others();
      let sent = 0;
      await fc.assert(
        fc.asyncProperty(forged(here, ids), fc.boolean(), async (report, joining) => {
          sent += 1;
          const sender = joining ? `late${sent}` : 'n0';
          if (joining) here.cluster.register(sender);
          await here.clock.advance(1000);
          current.kube.forgetCalls();
          current.report(sender, report);
          await here.clock.advance(20_000);
          const touched = current.kube.calls.filter(({ verb }) => verb !== 'get' && verb !== 'list');
          assert.deepEqual(
            touched.filter(({ path }) => !/^\/api\/v1\/nodes\/(n0|late\d+)(\/|$)/.test(path)),
            [],
          );
          assert.ok(!touched.some(({ verb }) => verb === 'delete'));
          assert.deepEqual(others(), before);
          const claimed = here.cluster.names().map((name) => here.cluster.mustNode(name).spec.providerID);
          const held = claimed.filter((id) => id !== undefined);
          assert.equal(new Set(held).size, held.length, 'two Nodes hold one instance');
        }),
        { numRuns: 50, seed: 7 },
      );
      assert.deepEqual(
        here.cluster
          .names()
          .filter((name) => name.startsWith('n'))
          .sort(),
        ['n0', 'n1', 'n2', 'n3'],
      );
    });
  }

  it('never blocks the writes of its own Node for ever once the report API accepted it', async () => {
    const { world, replica } = await setUp({ clouds: [{ reportOnly: 'simulated' }] });
    const vm = world.cloud.model.create({ name: 'vm' });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(
        texts,
        texts,
        texts,
        fc.array(addresses, { maxLength: 6 }),
        fc.dictionary(labelKeys, fc.constantFrom('', 'v'), { maxKeys: 5 }),
        async (zone, region, type, found, extra) => {
          count += 1;
          const name = `n${count}`;
          const { incarnation: _, ...rest } = reportedOf(vm);
          const id = `i-${count}`;
          const instance = {
            ...rest,
            id,
            providerID: `simulated://sim-1/${id}`,
            zone,
            region,
            type,
            addresses: found,
            labels: extra,
          };
          const report = taken(instance);
          if (report === undefined) return;
          world.cluster.register(name);
          await world.clock.advance(1000);
          replica.report(name, report);
          await world.clock.advance(30_000);
          const shown = world.cluster.condition(name, conditions.cloudInitialized);
          assert.equal(world.cluster.hasTaint(name, taints.uninitialized), false, JSON.stringify([shown, report]));
          // Written, and then left alone.
          replica.kube.forgetCalls();
          await world.clock.advance(120_000);
          const again = replica.kube.writes().filter((write) => write.includes(`/nodes/${name}`));
          assert.deepEqual(again, [], JSON.stringify(report));
          const held = world.cluster.mustNode(name).metadata.labels ?? {};
          assert.equal(held['kubernetes.io/hostname'], name);
          assert.equal(held['node-role.kubernetes.io/control-plane'], undefined);
          assert.equal(held['node-restriction.kubernetes.io/x'], undefined);
          // The next Node may report the same addresses.
          world.cluster.remove(name);
        },
      ),
      { numRuns: 60, seed: 11 },
    );
  });

  it('leads to writes of exactly one of two Nodes that claim one instance at once, in any order', async () => {
    const { world, replica } = await setUp({ clouds: [{ reportOnly: 'simulated' }] });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.boolean(),
        fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 2, maxLength: 6 }),
        async (turned, gaps) => {
          count += 1;
          const vm = world.cloud.model.create({ name: `vm${count}` });
          const pair = [`a${count}`, `b${count}`];
          if (turned) pair.reverse();
          for (const name of pair) world.cluster.register(name);
          for (const [index, gap] of gaps.entries()) {
            replica.report(pair[index % 2]!, { instance: reportedOf(vm), bootId: String(index) });
            await world.clock.advance(gap);
          }
          await world.clock.advance(30_000);
          const written = pair.filter((name) => world.cluster.mustNode(name).spec.providerID !== undefined);
          assert.deepEqual(written, [pair[0]]);
          assert.equal(world.cluster.condition(pair[1]!, conditions.cloudInitialized)?.reason, 'IdentityConflict');
        },
      ),
      { numRuns: 25, seed: 3 },
    );
  });
});
