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
    assert.ok(kept.balancer('lb', listed(['lb'])) && kept.group('g'));
    await clock.advance(3_600_000);
    assert.deepEqual([kept.balancer('lb', listed(['lb'])), kept.group('g')], [undefined, undefined]);
  });

  it('goes where a list shows that a listener went or turned to another group', () => {
    const kept = createKept(fakeClock(), () => 1);
    kept.keepBalancer(balancer);
    assert.equal(kept.balancer('lb', listed([])), undefined);
    assert.equal(kept.balancer('lb', [...listed(['lb']), { arn: 'other', loadBalancers: ['lb'] }]), undefined);
  });

  it('is not kept of a group in which somebody is not healthy', () => {
    const kept = createKept(fakeClock(), () => 1);
    for (const healthy of [false, undefined]) {
      kept.keepGroup(group(healthy));
      assert.equal(kept.group('g'), undefined);
    }
  });

  it('goes after a change whose end nobody saw, and with what it is of', () => {
    const kept = createKept(fakeClock(), () => 1);
    kept.keepBalancer(balancer);
    kept.keepGroup(group(true));
    kept.forget(['lb']);
    assert.equal(kept.balancer('lb', listed(['lb'])), undefined);
    kept.retain(new Set());
    assert.equal(kept.group('g'), undefined);
  });
});
