import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { electorHarness } from '../../kube/testing/elector-harness.ts';
import { leaderHealth } from './leader-health.ts';

const leaseMs = 15_000;

describe("upstream's check leaderElection", () => {
  it('passes on a leader that renews, on a standby, and before either', async () => {
    const harness = electorHarness();
    const [a, b] = [harness.replica('a'), harness.replica('b')];
    const checks = [a, b].map(({ elector }) => leaderHealth(elector, leaseMs));
    assert.deepEqual(
      checks.map((check) => check.check()),
      [undefined, undefined],
    );
    await harness.time.advance(120_000);
    assert.deepEqual(
      checks.map(({ name, check }) => [name, check()]),
      Array(2).fill(['leaderElection', undefined]),
    );
    for (const { elector } of [a, b]) await elector.release();
  });

  it('passes on a leader that lost the server and has ended its work', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(4000);
    a.weather = () => ({ lost: 'request' });
    await harness.time.advance(120_000);
    assert.equal(leaderHealth(a.elector, leaseMs).check(), undefined);
    a.stop.abort();
  });

  it('fails once a leader has not renewed for the lease and 20 s, and its work does not end', async () => {
    const harness = electorHarness();
    const hanging = Promise.withResolvers<void>();
    const a = harness.replica('a', { onStoppedLeading: () => hanging.promise });
    const check = leaderHealth(a.elector, leaseMs);
    await harness.time.advance(4000);
    a.weather = () => ({ lost: 'request' });
    await harness.time.advance(leaseMs + 20_000);
    assert.equal(check.check(), undefined);
    await harness.time.advance(1);
    assert.match(check.check() ?? '', /^the lease was renewed 35 s ago, and the work of its term has not ended$/);
    hanging.resolve();
    await harness.time.advance(0);
    assert.equal(check.check(), undefined);
    a.stop.abort();
  });
});
