import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { drive, ensure, managed, plain } from '../../../../test/clouds/aws/fake/nlb/driven.ts';
import { desired, member, port } from '../../../../test/clouds/aws/fake/nlb/example.ts';
import { createRecordingCalls } from '../../../../test/clouds/aws/fake/nlb/recording-calls.ts';
import { keys } from '../load-balancer-annotations.ts';
import type { NlbObserved } from './observed.ts';
import { planNlb } from './plan.ts';
import { planNlbRemoval } from './removal.ts';

describe('any two wishes of one Service', () => {
  const number = fc.integer({ min: 1, max: 4 });
  const wishes = fc
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
      desired({
        ports: ports.map(({ at, node, udp }) =>
          port(at, 30000 + node, { name: `p${at}${udp}`, protocol: udp ? 'UDP' : 'TCP' }),
        ),
        members: members.map((one) => member(one)),
        sourceRanges,
        trafficPolicy: local ? 'Local' : 'Cluster',
        healthCheck: local ? { port: 32000, path: '/healthz' } : { port: 10256, path: '/healthz' },
        families: dual ? ['IPv4', 'IPv6'] : ['IPv4'],
        annotations: {
          [keys.targetType]: targetType,
          [keys.crossZone]: String(crossZone),
          [keys.targetGroupAttributes]: `proxy_protocol_v2.enabled=${proxy}`,
        },
      }),
    );

  for (const [what, context] of [
    ['with a security group', managed],
    ['without', plain],
  ] as const) {
    it(`${what}: the change ends, keeps identity and address, and then there is nothing to do; removal leaves nothing`, async () => {
      await fc.assert(
        fc.asyncProperty(wishes, wishes, async (from, to) => {
          const calls = createRecordingCalls();
          const first = await ensure(calls, from, undefined, context);
          const second = await ensure(calls, to, calls.later(first.observed), context);
          const own = first.observed?.pieces.own;
          if (own) assert.equal(second.observed?.id, own.arn);
          assert.deepEqual(planNlb(to, calls.later(second.observed), context).steps, []);
          const removed = await drive(calls, second.observed, (one) =>
            one ? planNlbRemoval(one, false) : { steps: [], refusals: [], waitMs: undefined },
          );
          assert.equal(removed.observed, undefined);
          const made = (kind: string) => calls.sent.filter(({ operation }) => operation === `Create${kind}`).length;
          const gone = (kind: string) => calls.sent.filter(({ operation }) => operation === `Delete${kind}`).length;
          for (const kind of ['LoadBalancer', 'TargetGroup', 'SecurityGroup'])
            assert.equal(gone(kind), made(kind), kind);
        }),
        { numRuns: 150 },
      );
    });
  }

  it('at no time a port that both serve is without a listener that has targets', async () => {
    await fc.assert(
      fc.asyncProperty(wishes, wishes, async (from, to) => {
        fc.pre(from.members.length > 0 && to.members.length > 0);
        const calls = createRecordingCalls();
        const first = await ensure(calls, from);
        const serving = (observed: NlbObserved | undefined) =>
          (observed?.pieces.own?.listeners ?? []).flatMap(({ port: number, group }) =>
            observed?.pieces.groups.some(({ arn, targets }) => arn === group && targets.length > 0) ? [number] : [],
          );
        const before = new Set(serving(calls.later(first.observed)));
        const { observed: last } = await ensure(createRecordingCalls(), to);
        const both = serving(last).filter((number) => before.has(number));
        const start = calls.later(first.observed);
        await drive(calls, start, (one) => {
          const now = serving(one);
          for (const number of both) assert.ok(now.includes(number), `port ${number} is not served`);
          return planNlb(to, one, managed);
        });
      }),
      { numRuns: 100 },
    );
  });
});
