import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { DesiredLoadBalancer, DesiredPort } from '../../../controller/clouds/load-balancers.ts';
import { keys } from '../../../controller/clouds/openstack/load-balancers/annotations.ts';
import { memberOf, port } from '../suite/desired.ts';
import { Crash, ensure, printStep, remove } from '../suite/drive.ts';
import { subnetId } from './fake-world.ts';
import { type OctaviaHarness, octaviaHarness } from './octavia-harness.ts';

const ports: fc.Arbitrary<DesiredPort[]> = fc
  .uniqueArray(
    fc.record({
      number: fc.integer({ min: 80, max: 84 }),
      nodePort: fc.integer({ min: 30_080, max: 30_085 }),
      protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
    }),
    { minLength: 1, maxLength: 4, selector: ({ number, protocol }) => `${number} ${protocol}` },
  )
  .map((some) => some.map(({ number, nodePort, protocol }) => port(number, nodePort, { protocol })));

const annotations = fc.record(
  {
    [keys.healthMonitor]: fc.constantFrom('true', 'false'),
    [keys.monitorDelay]: fc.constantFrom('5', '7'),
    [keys.method]: fc.constantFrom('ROUND_ROBIN', 'SOURCE_IP'),
    [keys.connectionLimit]: fc.constantFrom('-1', '100'),
    [keys.timeoutClientData]: fc.constantFrom('1000', '50000'),
    [keys.proxyProtocol]: fc.constantFrom('false', 'v2'),
    [keys.hostname]: fc.constantFrom('', 'web.example.org'),
    [keys.keepFloatingIp]: fc.constantFrom('true', 'false'),
  },
  { requiredKeys: [] },
);

interface State {
  readonly ports: DesiredPort[];
  readonly annotations: Record<string, string>;
  readonly members: readonly boolean[];
  readonly draining: boolean;
  readonly sticky: boolean;
  readonly local: boolean;
  readonly ranges: boolean;
}

const state: fc.Arbitrary<State> = fc.record({
  ports,
  annotations: annotations as fc.Arbitrary<Record<string, string>>,
  members: fc.tuple(fc.boolean(), fc.boolean()),
  draining: fc.boolean(),
  sticky: fc.boolean(),
  local: fc.boolean(),
  ranges: fc.boolean(),
});

const config = fc.constantFrom(
  '',
  'create-monitor = true\n',
  'manage-security-groups = true\n',
  'provider-requires-serial-api-calls = true\ncreate-monitor = true\n',
);

/** What a person or a fault does to what is there. */
type Damage =
  | 'nothing'
  | 'a pool is deleted'
  | 'a listener is deleted'
  | 'a member is deleted'
  | 'ERROR'
  | 'the load balancer is deleted'
  | 'the floating IP is detached'
  | 'a rule is deleted'
  | 'a rule is added'
  | 'a port lets the group go'
  | 'marks are taken off';
const damage = fc.constantFrom<Damage>(
  'nothing',
  'a pool is deleted',
  'a listener is deleted',
  'a member is deleted',
  'ERROR',
  'the load balancer is deleted',
  'the floating IP is detached',
  'a rule is deleted',
  'a rule is added',
  'a port lets the group go',
  'marks are taken off',
);

function desiredOf(
  harness: OctaviaHarness,
  { members, draining, sticky, local, ranges, ...rest }: State,
): DesiredLoadBalancer {
  return {
    ...harness.desired,
    ...rest,
    members: harness.vms.filter((_, at) => members[at]).map((vm) => memberOf(vm, draining)),
    sessionAffinity: sticky ? { timeoutSeconds: 10_800 } : undefined,
    trafficPolicy: local ? 'Local' : 'Cluster',
    healthCheck: local ? { port: 32_100, path: '/healthz' } : { port: 10_256, path: '/healthz' },
    sourceRanges: ranges ? ['192.0.2.0/24'] : [],
  };
}

function hurt({ octavia, edge, fake, record }: OctaviaHarness, what: Damage): void {
  octavia.settle();
  const [balancer] = octavia.balancers.values();
  if (!balancer) return;
  if (what === 'a pool is deleted') {
    const gone = balancer.pools.pop();
    for (const listener of balancer.listeners) if (listener.poolId === gone?.id) listener.poolId = null;
  }
  if (what === 'a listener is deleted') balancer.listeners.pop();
  if (what === 'a member is deleted') balancer.pools[0]?.members.pop();
  if (what === 'ERROR') octavia.breakDown(balancer.id);
  if (what === 'the load balancer is deleted') {
    octavia.balancers.delete(balancer.id);
    const at = fake.ports.findIndex(({ id }) => id === balancer.fields['vip_port_id']);
    fake.ports.splice(at, 1);
  }
  const groups = [...edge.groups.values()];
  for (const { rules } of groups) {
    if (what === 'a rule is deleted') rules.pop();
    const fields = { direction: 'ingress', ethertype: 'IPv4', protocol: 'tcp', port_range_min: 22, port_range_max: 22 };
    if (what === 'a rule is added') rules.push({ id: 'by-hand', fields: { ...fields, remote_ip_prefix: '0.0.0.0/0' } });
  }
  for (const one of what === 'a port lets the group go' ? fake.ports.slice(0, 2) : [])
    Object.assign(one, { securityGroups: [], revision: (one.revision ?? 1) + 1 });
  // Without a mark the record proves it, which is written when a Service has settled.
  for (const one of what === 'marks are taken off' ? [...groups, ...edge.floatingIps.values()] : [])
    if (record.notes?.includes(one.id)) one.description = 'by hand';
  if (what === 'the floating IP is detached') for (const one of edge.floatingIps.values()) one.portId = null;
}

describe('Octavia load balancers, whatever a Service desires and whatever happened before', () => {
  it('converges after any crash, keeps the address, changes nothing in a second run, and leaves nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        config,
        fc.array(fc.record({ state, crash: fc.integer({ min: 1, max: 12 }), after: fc.boolean(), damage }), {
          minLength: 1,
          maxLength: 4,
        }),
        fc.integer({ min: 0, max: 2 }),
        async (section, rounds, looks) => {
          const harness = await octaviaHarness(`[LoadBalancer]\nsubnet-id = ${subnetId}\n${section}`);
          try {
            harness.octavia.looks = looks;
            const before = JSON.stringify(await harness.world.inventory());
            let address: string | undefined;
            for (const round of rounds) {
              harness.desired = desiredOf(harness, round.state);
              hurt(harness, round.damage);
              try {
                await ensure(
                  await harness.driving({ crash: { at: round.after ? 'after' : 'before', call: round.crash } }),
                );
              } catch (error) {
                if (!(error instanceof Crash)) throw error;
              }
              const { observed, refusals } = await ensure(await harness.driving());
              assert.deepEqual(refusals, []);
              harness.record.notes = observed?.notes ?? harness.record.notes;
              const again = await ensure(await harness.driving());
              assert.deepEqual(again.steps.map(printStep), []);
              const floating = [...harness.edge.floatingIps.values()];
              assert.equal(floating.length, 1, 'one floating IP');
              address ??= floating[0]?.address;
              assert.equal(floating[0]?.address, address, 'the address stays');
              assert.ok(observed?.ingress.length);
              const [balancer] = harness.octavia.balancers.values();
              assert.equal(harness.octavia.balancers.size, 1);
              assert.equal(balancer?.listeners.length, harness.desired.ports.length);
              assert.equal(balancer.pools.length, harness.desired.ports.length);
              for (const { members } of balancer.pools) assert.equal(members.length, harness.desired.members.length);
              const { balancers } = await harness.driving();
              await harness.world.during(balancers.observeAll(harness.world.cluster));
              assert.deepEqual(balancers.plan(harness.desired).steps.map(printStep), []);
            }
            harness.desired = { ...harness.desired, annotations: {} };
            await harness.ensure();
            const crash = { at: 'after', call: rounds[0]?.crash ?? 1 } as const;
            await remove(await harness.driving({ crash })).catch((error: unknown) => {
              if (!(error instanceof Crash)) throw error;
            });
            await remove(await harness.driving());
            assert.equal(JSON.stringify(await harness.world.inventory()), before);
          } finally {
            await harness.close();
          }
        },
      ),
      { numRuns: 60, includeErrorInReport: true },
    );
  });

  it('converges in one process despite faults and foreign changes, so a new process changes nothing', async () => {
    const fault = fc.constantFrom<'nothing' | 'before' | 'lost'>('nothing', 'before', 'lost');
    const round = fc.record({ state, fault, call: fc.integer({ min: 1, max: 8 }), damage, list: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        config,
        fc.array(round, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 0, max: 2 }),
        async (section, rounds, looks) => {
          const harness = await octaviaHarness(`[LoadBalancer]\nsubnet-id = ${subnetId}\n${section}`);
          const { world, octavia, edge, record } = harness;
          try {
            octavia.looks = looks;
            const before = JSON.stringify(await world.inventory());
            const { balancers } = await harness.driving();
            /** @param failing which call is not sent */
            const driving = (failing?: number) => {
              let calls = 0;
              const permit = () => {
                calls += 1;
                if (calls !== failing) return;
                const about = { cloud: 'openstack', operation: 'any', message: 'not sent' };
                throw new CloudError({ kind: 'Unavailable', ...about });
              };
              return { world, balancers, desired: harness.desired, record, permit };
            };
            for (const each of rounds) {
              harness.desired = desiredOf(harness, each.state);
              hurt(harness, each.damage);
              if (each.list) await world.during(balancers.observeAll(world.cluster));
              const { fault: at, call } = each;
              if (at === 'lost') world.loseAnswer?.(call - 1);
              try {
                await ensure(driving(at === 'before' ? call : undefined));
              } catch (error) {
                if (!isCloudError(error)) throw error;
              }
              await world.pass(balancers.settleMs);
              const { refusals } = await ensure(driving());
              assert.deepEqual(refusals, []);
              assert.deepEqual((await ensure(await harness.driving())).steps.map(printStep), [], 'to a fresh process');
              assert.deepEqual([octavia.balancers.size, edge.floatingIps.size], [1, 1]);
              await world.during(balancers.observeAll(world.cluster));
              assert.deepEqual(balancers.plan(harness.desired).steps.map(printStep), [], 'by a list');
              // What others revert three times within half an hour is left to them until then.
              await world.pass(1_800_000);
            }
            harness.desired = { ...harness.desired, annotations: {} };
            await ensure(driving());
            const { fault: at = 'nothing', call = 1 } = rounds[0] ?? {};
            await remove(driving(at === 'before' ? call : undefined)).catch((error: unknown) => {
              if (!isCloudError(error)) throw error;
            });
            await remove(driving());
            assert.equal(JSON.stringify(await world.inventory()), before);
          } finally {
            await harness.close();
          }
        },
      ),
      { numRuns: 60, includeErrorInReport: true },
    );
  });
});
