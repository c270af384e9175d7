import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  machine,
  managedConfig,
  member,
  network,
  plainConfig,
  port,
} from '../../../../test/clouds/aws/fake/machine.ts';
import { keys } from '../load-balancer-annotations.ts';

const number = fc.integer({ min: 1, max: 4 });
const desires = fc
  .record({
    ports: fc.uniqueArray(fc.record({ at: number, node: number, udp: fc.boolean() }), {
      selector: ({ at, udp }) => `${at} ${udp}`,
      minLength: 1,
      maxLength: 4,
    }),
    members: fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { maxLength: 5 }),
    sourceRanges: fc.constantFrom([], ['192.0.2.0/24'], ['192.0.2.0/24', '198.51.100.0/25']),
    local: fc.boolean(),
    dual: fc.boolean(),
    targetType: fc.constantFrom('instance', 'ip'),
    crossZone: fc.boolean(),
    proxy: fc.boolean(),
  })
  .map(({ ports, members, sourceRanges, local, dual, targetType, crossZone, proxy }) =>
    network({
      ports: ports.map(({ at, node, udp }) => {
        return {
          ...port(at, 30_000 + node),
          name: `p${at}${udp}`,
          protocol: udp ? ('UDP' as const) : ('TCP' as const),
        };
      }),
      members: members.map((one) => member(one, { addresses: [`10.0.0.${one}`] })),
      sourceRanges,
      trafficPolicy: local ? 'Local' : 'Cluster',
      healthCheck: local ? { port: 32_000, path: '/healthz' } : { port: 10_256, path: '/healthz' },
      families: dual ? ['IPv4', 'IPv6'] : ['IPv4'],
      annotations: {
        [keys.targetType]: targetType,
        [keys.crossZone]: String(crossZone),
        [keys.targetGroupAttributes]: `proxy_protocol_v2.enabled=${proxy}`,
      },
    }),
  );

describe('any two desires of one Service for a network load balancer', () => {
  for (const [what, config] of [
    ['with security groups', managedConfig],
    ['without security groups', plainConfig],
  ] as const) {
    it(`ends any change with the same load balancer, and removal leaves nothing, ${what}`, async () => {
      await fc.assert(
        fc.asyncProperty(desires, desires, async (from, to) => {
          const m = machine({ config });
          const first = await m.ensure(from);
          const second = await m.ensure(to);
          if (first.observed !== undefined) assert.equal(second.observed?.id, first.observed.id);
          m.restart();
          // Of one without a listener no target tells any more where the nodes are.
          if (m.listeners().length > 0) assert.deepEqual((await m.ensure(to)).sent, []);
          await m.remove(to);
          assert.deepEqual([m.groups(), m.rulesOfNodes()], [['sg-nodes', 'sg-persons'], []]);
          const { balancers, listeners, targetGroups } = m.aws.region;
          assert.deepEqual([balancers.size, listeners.size, targetGroups.size], [0, 0, 0]);
        }),
        { numRuns: 60 },
      );
    });
  }

  it('keeps a listener with targets at every moment for a port that both desires serve', async () => {
    await fc.assert(
      fc.asyncProperty(desires, desires, async (from, to) => {
        fc.pre(from.members.length > 0 && to.members.length > 0);
        const m = machine({ config: managedConfig });
        const serving = () =>
          [...m.aws.region.listeners.values()].flatMap(({ port: at, group }) => {
            const targets = [...(m.aws.region.targetGroups.get(group)?.targets.values() ?? [])];
            return targets.some(({ draining }) => !draining) ? [String(at)] : [];
          });
        const last = machine({ config: managedConfig });
        await last.ensure(to);
        const after = [...last.aws.region.listeners.values()].map(({ port: at }) => String(at));
        await m.ensure(from);
        const both = serving().filter((at) => after.includes(at));
        m.aws.setHook(() => {
          for (const at of both) assert.ok(serving().includes(at), `port ${at} is not served`);
          return undefined;
        });
        await m.ensure(to);
      }),
      { numRuns: 60 },
    );
  });
});
