import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../../../common/testing/fake-clock.ts';
import { createKept } from './kept.ts';
import type { LoadBalancer, TargetGroup } from './observed.ts';

const balancer = {
  arn: 'lb',
  listeners: [{ arn: 'l', port: 80, protocol: 'TCP', policy: undefined, certificate: undefined, group: 'g', tags: {} }],
  attributes: {},
} as unknown as LoadBalancer;
const group = (healthy: boolean | undefined) =>
  ({
    arn: 'g',
    targets: [{ id: 'i-1', providerID: 'aws:///a/i-1', healthy }],
    attributes: {},
  }) as unknown as TargetGroup;
const listed = (loadBalancers: readonly string[]) => [{ arn: 'g', loadBalancers }];

describe('what is kept of load balancers between looks at everything', () => {
  it('is kept for an hour at the most', async () => {
    const clock = fakeClock();
    const kept = createKept(clock, () => 1);
    kept.keepBalancer(balancer);
    kept.keepGroup(group(true));
    assert.ok(kept.balancer('lb', listed(['lb']), 'refresh') && kept.group('g', 'refresh').targets);
    await clock.advance(3_600_000);
    assert.deepEqual(
      [kept.balancer('lb', listed(['lb']), 'refresh'), kept.group('g', 'refresh').targets],
      [undefined, undefined],
    );
  });

  it('is asked for again after two minutes by whoever looks at one Service, and targets at once', async () => {
    const clock = fakeClock();
    const kept = createKept(clock, () => 1);
    kept.keepBalancer(balancer);
    kept.keepGroup(group(true));
    assert.ok(kept.balancer('lb', listed(['lb']), 'need'));
    assert.deepEqual(kept.group('g', 'need'), { attributes: {} });
    await clock.advance(120_000);
    assert.equal(kept.balancer('lb', listed(['lb']), 'need'), undefined);
    assert.deepEqual(kept.group('g', 'need'), {});
  });

  it('does not grow younger by being handed on', async () => {
    const clock = fakeClock();
    const kept = createKept(clock, () => 1);
    const first = group(false);
    kept.keepGroup(first);
    for (let round = 0; round < 6; round += 1) {
      await clock.advance(600_000);
      kept.keepGroup({ ...first, targets: [] });
    }
    assert.deepEqual(kept.group('g', 'refresh'), { targets: [] });
  });

  it('goes where a list shows that a listener went or turned to another group', () => {
    const kept = createKept(fakeClock(), () => 1);
    kept.keepBalancer(balancer);
    assert.equal(kept.balancer('lb', listed([]), 'refresh'), undefined);
    assert.equal(
      kept.balancer('lb', [...listed(['lb']), { arn: 'other', loadBalancers: ['lb'] }], 'refresh'),
      undefined,
    );
  });

  it('is not kept of a group in which somebody is not healthy', () => {
    const kept = createKept(fakeClock(), () => 1);
    for (const healthy of [false, undefined]) {
      kept.keepGroup(group(healthy));
      assert.equal(kept.group('g', 'refresh').targets, undefined);
    }
  });

  it('is kept of a group that nobody probes for a look at one Service, too, for two minutes', async () => {
    const clock = fakeClock();
    const kept = createKept(clock, () => 1);
    kept.keepGroup(group(undefined));
    assert.equal(kept.group('g', 'need', true).targets?.length, 1);
    await clock.advance(120_000);
    assert.equal(kept.group('g', 'need', true).targets, undefined);
  });

  it('goes after a change whose end nobody saw, and with what it is of', () => {
    const kept = createKept(fakeClock(), () => 1);
    kept.keepBalancer(balancer);
    kept.keepGroup(group(true));
    kept.forget(['lb']);
    assert.equal(kept.balancer('lb', listed(['lb']), 'refresh'), undefined);
    kept.retain(new Set());
    assert.equal(kept.group('g', 'refresh').targets, undefined);
  });
});
