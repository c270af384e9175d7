import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DesiredLoadBalancer, DesiredPort } from '../../../controller/clouds/load-balancers.ts';
import { memberOf, port } from './desired.ts';
import { ensure, look, printStep, remove } from './drive.ts';
import { type Example, type SuiteContext, withExample } from './suite-context.ts';
import type { CloudCapabilities } from './world.ts';

type Change = readonly [string, (desired: DesiredLoadBalancer) => Partial<DesiredLoadBalancer>];

const drainingMember: Change = [
  'a member that drains',
  ({ members: [first, ...others] }) => ({ members: [{ ...first!, draining: true }, ...others] }),
];

const healthCheckChanges: readonly Change[] = [
  ['another health check', () => ({ healthCheck: { port: 32000, path: '/healthz' } })],
  ['traffic policy Local', () => ({ trafficPolicy: 'Local' as const, healthCheck: { port: 32001, path: '/healthz' } })],
];

function changes({
  sourceRanges,
  sessionAffinity,
  healthChecks = true,
  nodePorts = true,
  drains,
}: NonNullable<CloudCapabilities['loadBalancers']>): Change[] {
  const withPorts = (edit: (ports: readonly DesiredPort[]) => DesiredPort[]): Change[1] => {
    return ({ ports }) => ({ ports: edit(ports) });
  };
  return [
    ['another port', withPorts((ports) => [...ports, port(443, 30443)])],
    ['another number of a port', withPorts(([first]) => [{ ...first!, port: 8080, name: 'p8080' }])],
    ...(nodePorts
      ? ([['another node port', withPorts(([first]) => [{ ...first!, nodePort: 31999 }])]] satisfies Change[])
      : []),
    ['ports in another order', withPorts((ports) => [port(443, 30443), ...ports])],
    ['one member less', ({ members }) => ({ members: members.slice(1) })],
    ['no members at all', () => ({ members: [] })],
    ...(healthChecks ? healthCheckChanges : []),
    ...(drains ? [drainingMember] : []),
    ...(sourceRanges
      ? ([['source ranges', () => ({ sourceRanges: ['192.0.2.0/24', '198.51.100.0/25'] })]] satisfies Change[])
      : []),
    ...(sessionAffinity
      ? ([['session affinity', () => ({ sessionAffinity: { timeoutSeconds: 10_800 } })]] satisfies Change[])
      : []),
  ];
}

/** Facts about changes: each is made with few calls, ends in an empty plan, and leaves identity and address alone. */
export function changeFacts({ world, capabilities }: SuiteContext): void {
  const { loadBalancers } = capabilities;
  if (!loadBalancers) return;
  describe('changes of a load balancer', () => {
    for (const [what, change] of changes(loadBalancers)) {
      it(`applies and reverts ${what} under the same id and address`, () =>
        withExample(world(), async (example) => {
          const first = (await ensure(await example.driving())).observed;
          const plain = example.desired;
          for (const desired of [{ ...plain, ...change(plain) }, plain]) {
            example.desired = desired;
            const { observed, steps, calls, refusals } = await ensure(await example.driving());
            assert.deepEqual(refusals, []);
            assert.ok(calls > 0, 'the change was not seen');
            assert.ok(loadBalancers.writesMembersEach ? calls >= steps.length : calls === steps.length);
            assert.equal(observed?.id, first?.id);
            assert.deepEqual(observed?.ingress, first?.ingress);
            const again = await ensure(await example.driving());
            assert.deepEqual(again.steps.map(printStep), []);
            const shown = observed?.members.map(({ providerID }) => providerID).sort();
            assert.deepEqual(shown, desired.members.map(({ providerID }) => providerID).sort());
          }
        }));
    }

    it('applies all changes at once, too', () =>
      withExample(world(), async (example) => {
        await ensure(await example.driving());
        for (const [, change] of changes(loadBalancers)) {
          example.desired = { ...example.desired, ...change(example.desired) };
        }
        example.desired = { ...example.desired, members: example.vms.map((vm) => memberOf(vm)) };
        await ensure(await example.driving());
        assert.equal((await ensure(await example.driving())).calls, 0);
      }));

    for (const protocol of loadBalancers.protocols.filter((known) => known !== 'TCP')) {
      it(`serves ${protocol} beside TCP on one port, and alone`, () =>
        withExample(world(), async (example) => {
          const { refusals } = await ensure(
            await example.driving({
              desired: { ...example.desired, ports: [port(53, 30053), port(53, 30054, { name: 'other', protocol })] },
            }),
          );
          assert.deepEqual(refusals, []);
          example.desired = { ...example.desired, ports: [port(53, 30054, { name: 'other', protocol })] };
          await ensure(await example.driving());
          assert.equal((await ensure(await example.driving())).calls, 0);
        }));
    }

    it('adds a port with as many calls beside many ports as beside few', () =>
      withExample(world(), async (example) => {
        await ensure(await example.driving());
        const costs: number[] = [];
        for (let count = 2; count <= 6; count += 1) {
          const ports = Array.from({ length: count }, (_, at) => port(8000 + at, 31000 + at));
          example.desired = { ...example.desired, ports };
          const { calls } = await ensure(await example.driving());
          if (count > 2) costs.push(calls);
        }
        assert.deepEqual(costs, Array(costs.length).fill(costs[0]));
      }));

    it('adds a member with as many calls beside many members as beside few', () =>
      withExample(world(), async (example) => {
        const more = await Promise.all([1, 2, 3, 4].map(() => example.world.createVm()));
        try {
          await ensure(await example.driving());
          const costs: number[] = [];
          for (const count of [1, 2, 3, 4]) {
            const members = [...example.vms, ...more.slice(0, count)].map((vm) => memberOf(vm));
            example.desired = { ...example.desired, members };
            costs.push((await ensure(await example.driving())).calls);
          }
          assert.deepEqual(costs, Array(costs.length).fill(costs[0]));
        } finally {
          await remove(await example.driving());
          for (const { providerID } of more) await example.world.deleteVm(providerID);
        }
      }));

    it('makes no call when members come in another order', () =>
      withExample(world(), async (example) => {
        await ensure(await example.driving());
        example.desired = { ...example.desired, members: example.vms.toReversed().map((vm) => memberOf(vm)) };
        assert.equal((await ensure(await example.driving())).calls, 0);
      }));

    it('shows a draining member as draining, where the cloud can', (t) =>
      withExample(world(), async (example) => {
        const balancers = await example.fresh();
        if (!balancers.drains) return t.skip('this cloud drains by itself what is taken out');
        const [first, second] = example.vms;
        example.desired = { ...example.desired, members: [memberOf(first!, true), memberOf(second!)] };
        const { observed } = await ensure(await example.driving());
        const draining = observed?.members.filter(({ draining }) => draining).map(({ providerID }) => providerID);
        assert.deepEqual(draining, [first?.providerID]);
      }));

    it('names a member that is no instance, and serves the others', (t) =>
      withExample(world(), async (example) => {
        if (!loadBalancers.refusesMembers) return t.skip('this cloud takes any member');
        const ghost = { ...example.vms[0]!, name: 'ghost', providerID: example.world.unusedProviderID() };
        const members = [...example.vms, ghost].map((vm) => memberOf(vm));
        const attempt = ensure(await example.driving({ desired: { ...example.desired, members } }));
        await assert.rejects(attempt, (error: { subjects?: readonly string[] }) => {
          assert.deepEqual(error.subjects, [ghost.providerID]);
          return true;
        });
        const { observed } = await ensure(await example.driving());
        assert.equal(observed?.members.length, 2);
      }));

    it('creates a load balancer again that a person deleted', () => mended({ world, capabilities }));
  });
}

/** A person deletes the whole load balancer at the console: the next pass creates it again. */
async function mended({ world, capabilities }: SuiteContext): Promise<void> {
  await withExample(world(), async (example: Example) => {
    const { observed } = await ensure(await example.driving());
    assert.ok(observed?.id);
    await example.world.deleteLoadBalancer(observed.id);
    await example.world.pass((await example.fresh()).settleMs);
    const seen = await look(await example.driving());
    assert.notEqual(seen?.id, observed.id);
    const after = await ensure(await example.driving());
    assert.ok(after.observed?.id);
    if (!capabilities.loadBalancers?.idsAreNames) assert.notEqual(after.observed.id, observed.id);
    assert.equal((await ensure(await example.driving())).calls, 0);
  });
}
