import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../common/process/log.ts';
import { electorHarness, leaseSpec } from './testing/elector-harness.ts';

describe('the term of a leader', () => {
  it('ends the term at the renew deadline when the server cannot be reached', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(4_000);
    a.weather = () => ({ lost: 'request' });
    await harness.time.advance(9_999);
    assert.deepEqual(a.history, ['started']);
    assert.ok(a.elector.timeLeftMs() > 0);
    await harness.time.advance(1);
    assert.deepEqual(a.history, ['started', 'aborted', 'stopped: the lease was not renewed within 10000 ms']);
    assert.equal(a.elector.timeLeftMs(), 0);
    a.weather = () => ({});
    await harness.time.advance(2_000);
    assert.equal(a.elector.leading, true, 'it leads again when no other replica has the lease');
    await a.elector.release();
  });

  it('counts its time from before the renewal was sent', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(1_999);
    a.weather = () => ({ thereMs: 100, backMs: 1_900 });
    await harness.time.advance(2_001);
    assert.equal(a.elector.timeLeftMs(), 14_000 - 2_000);
    a.weather = () => ({});
    await a.elector.release();
  });

  it('continues to lead after a lost answer, but does not count that renewal', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(1_000);
    a.weather = () => ({ lost: 'answer' });
    await harness.time.advance(1_000);
    a.weather = () => ({});
    await harness.time.advance(4_000);
    assert.equal(leaseSpec(harness)['renewTime'], '2026-01-01T00:00:02.000000Z', 'the renewal did happen');
    assert.equal(a.elector.timeLeftMs(), 14_000 - 6_000, 'but only an answer counts');
    await harness.time.advance(2_100);
    assert.equal(a.elector.leading, true);
    assert.ok(a.elector.timeLeftMs() > 12_000);
    assert.deepEqual(a.history, ['started']);
    await a.elector.release();
  });

  it('ends the term at once when another holds the Lease', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(3_000);
    const { metadata, spec: fields } = harness.leases.lease!;
    harness.leases.lease = {
      metadata,
      spec: { ...fields, holderIdentity: 'usurper', renewTime: '2026-01-01T00:00:03.000000Z' },
    };
    await harness.time.advance(1_000);
    assert.deepEqual(a.history, ['started', 'aborted', 'stopped: usurper holds the lease']);
    assert.equal(a.elector.leading, false);
    a.stop.abort();
    await a.done;
  });

  it('leads again only after the end of its last term has settled', async () => {
    const harness = electorHarness();
    let settle = () => {};
    const a = harness.replica('a', { onStoppedLeading: () => new Promise<void>((resolve) => (settle = resolve)) });
    await harness.time.advance(1_000);
    a.weather = () => ({ lost: 'request' });
    await harness.time.advance(12_000);
    a.weather = () => ({});
    await harness.time.advance(30_000);
    assert.equal(a.elector.leading, false);
    settle();
    await harness.time.advance(2_000);
    assert.equal(a.elector.leading, true);
    await a.elector.release();
  });

  it('counts the term while it lasts, and begins and ends it although the callbacks throw', async () => {
    const harness = electorHarness();
    const counted: boolean[] = [];
    const lines: string[] = [];
    const a = harness.replica('a', {
      metrics: { leading: (is) => counted.push(is) },
      log: createLog({ clock: harness.time, level: 'error', format: 'text', write: (line) => lines.push(line) }),
      onStartedLeading: () => {
        throw new Error('the start fails');
      },
      onStoppedLeading: () => {
        throw new Error('the end fails');
      },
    });
    await harness.time.advance(1_000);
    assert.equal(a.elector.leading, true);
    a.weather = () => ({ lost: 'request' });
    await harness.time.advance(12_000);
    assert.equal(a.elector.leading, false);
    a.weather = () => ({});
    await harness.time.advance(4_000);
    assert.equal(a.elector.leading, true);
    assert.deepEqual(counted, [true, false, true]);
    for (const what of ['the start fails', 'the end fails'])
      assert.ok(
        lines.some((line) => line.includes(what)),
        what,
      );
    await a.elector.release();
  });

  it('stops writing when the wall clock jumps ahead, until the next renewal', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(500);
    a.clock.stepWall(3_600_000);
    assert.ok(a.elector.timeLeftMs() < 0);
    await harness.time.advance(1_500);
    assert.equal(a.elector.timeLeftMs(), 14_000);
    assert.deepEqual(a.history, ['started']);
    a.clock.stepWall(-7_200_000);
    assert.equal(a.elector.timeLeftMs(), 14_000);
    await harness.time.advance(1_000);
    assert.equal(a.elector.timeLeftMs(), 13_000);
    await a.elector.release();
  });

  for (const how of ['pause', 'sleep'] as const) {
    it(`stops leading after a ${how} of the process that outlasted its lease`, async () => {
      const harness = electorHarness();
      const a = harness.replica('a');
      await harness.time.advance(0);
      const b = harness.replica('b');
      await harness.time.advance(5_000);
      a.clock.stop(how);
      await harness.time.advance(40_000);
      assert.equal(b.elector.leading, true);
      a.clock.resume();
      assert.ok(a.elector.timeLeftMs() <= 0, `${a.elector.timeLeftMs()} ms left`);
      await harness.time.advance(5_000);
      assert.equal(a.elector.leading, false);
      assert.equal(a.history.at(-1)?.startsWith('stopped'), true);
      assert.equal(b.elector.leading, true);
      await b.elector.release();
      a.stop.abort();
    });
  }
});
