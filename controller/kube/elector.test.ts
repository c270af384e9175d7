import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../common/process/log.ts';
import { annotations as known } from '../../common/well-known.ts';
import { electorHarness, leaseSpec } from './testing/elector-harness.ts';

describe('the elector', () => {
  it('creates the Lease with times of six digits and leads', async () => {
    const harness = electorHarness();
    const a = harness.replica('a', { annotations: { [known.reportUrl]: 'https://10.0.0.1:10270' } });
    await harness.time.advance(0);
    assert.equal(a.elector.leading, true);
    assert.deepEqual(leaseSpec(harness), {
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    });
    assert.equal(a.elector.leaderReportUrl(), 'https://10.0.0.1:10270');
    await a.elector.release();
  });

  it('renews every two seconds with one request, and keeps acquireTime', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(0);
    const before = harness.leases.calls.length;
    await harness.time.advance(20_000);
    assert.deepEqual(
      harness.leases.calls.slice(before).map((call) => call.verb),
      Array.from({ length: 10 }, () => 'update'),
    );
    assert.equal(leaseSpec(harness)['acquireTime'], '2026-01-01T00:00:00.000000Z');
    assert.equal(leaseSpec(harness)['renewTime'], '2026-01-01T00:00:20.000000Z');
    assert.equal(leaseSpec(harness)['leaseTransitions'], 0);
    assert.equal(a.elector.timeLeftMs(), 14_000);
    await a.elector.release();
  });

  it('leaves a held Lease alone for its duration, counted from when it was observed', async () => {
    const harness = electorHarness();
    // Another program's, with a clock that is years behind: its times mean nothing here.
    harness.leases.lease = {
      metadata: { name: 'cloud-controller-manager', uid: 'u', resourceVersion: '0' },
      spec: {
        holderIdentity: 'old-ccm',
        leaseDurationSeconds: 30,
        renewTime: '2001-01-01T00:00:00.000000Z',
        leaseTransitions: 4,
      },
    };
    const a = harness.replica('a');
    await harness.time.advance(29_999);
    assert.equal(a.elector.leading, false);
    assert.equal(a.elector.timeLeftMs(), 0);
    await harness.time.advance(10);
    assert.equal(a.elector.leading, true);
    assert.equal(leaseSpec(harness)['leaseTransitions'], 5);
    await a.elector.release();
  });

  it('keeps waiting while the holder renews, whatever others write on the Lease', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(100);
    const b = harness.replica('b');
    await harness.time.advance(60_000);
    a.kill();
    for (let i = 0; i < 20; i += 1) {
      await harness.time.advance(1_000);
      const { metadata, spec: fields } = harness.leases.lease!;
      if (b.elector.leading) break;
      harness.leases.lease = { metadata: { ...metadata, annotations: { touched: String(i) } }, spec: fields };
    }
    assert.equal(b.elector.leading, true, 'an annotation is no renewal');
    await b.elector.release();
  });

  it('takes over from a killed leader within the lease time and two seconds', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(0);
    const b = harness.replica('b');
    await harness.time.advance(30_700);
    assert.equal(a.elector.leading, true);
    a.kill();
    await harness.time.advance(17_000);
    assert.equal(b.elector.leading, true);
    assert.equal(a.elector.leading, false);
    assert.ok(a.elector.timeLeftMs() < 0);
    await b.elector.release();
  });

  it('takes over from a leader that released within two seconds', async () => {
    const harness = electorHarness();
    const a = harness.replica('a', { annotations: { [known.reportUrl]: 'https://a:10270' } });
    await harness.time.advance(0);
    const b = harness.replica('b');
    await harness.time.advance(10_300);
    const released = a.elector.release();
    assert.equal(a.elector.timeLeftMs(), 0, 'writes stop before the lease is freed');
    await harness.time.advance(10);
    await released;
    assert.equal(leaseSpec(harness)['holderIdentity'], '');
    assert.equal(leaseSpec(harness)['leaseDurationSeconds'], 1);
    assert.deepEqual(harness.leases.lease?.metadata.annotations, {});
    await harness.time.advance(1_990);
    assert.equal(b.elector.leading, true);
    assert.equal(leaseSpec(harness)['leaseTransitions'], 1);
    assert.deepEqual(a.history, ['started', 'aborted', 'stopped: released']);
    await a.done;
    await harness.time.advance(30_000);
    assert.equal(a.elector.leading, false, 'who released does not come back');
    await b.elector.release();
  });

  it('leaves a deleted Lease alone whose holder it has not seen renew for long', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(0);
    const b = harness.replica('b');
    await harness.time.advance(2_000);
    b.weather = () => ({ lost: 'request' });
    await harness.time.advance(30_000);
    assert.equal(a.elector.leading, true);
    a.weather = () => ({ lost: 'request' });
    b.weather = () => ({});
    harness.leases.lease = undefined;
    await harness.time.advance(8_000);
    assert.deepEqual([a.elector.leading, b.elector.leading], [true, false]);
    a.kill();
    await harness.time.advance(20_000);
    assert.equal(b.elector.leading, true);
    await b.elector.release();
  });

  for (const [how, when] of [
    ['sleep', 'while this replica slept'],
    ['hold', 'while a hypervisor held this replica, of which its wall clock alone tells'],
  ] as const)
    it(`leaves a deleted Lease alone that another may have taken ${when}`, async () => {
      const harness = electorHarness();
      const a = harness.replica('a');
      await harness.time.advance(2_000);
      const b = harness.replica('b');
      await harness.time.advance(2_000);
      a.clock.stop(how);
      await harness.time.advance(20_000);
      assert.equal(b.elector.leading, true);
      b.weather = () => ({ lost: 'request' });
      harness.leases.lease = undefined;
      a.clock.resume();
      await harness.time.advance(8_000);
      assert.deepEqual([a.elector.leading, b.elector.leading], [false, true]);
      b.kill();
      await harness.time.advance(20_000);
      assert.equal(a.elector.leading, true);
      await a.elector.release();
    });

  it('creates its own Lease again at once when it is deleted', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(2_000);
    harness.leases.lease = undefined;
    await harness.time.advance(2_100);
    assert.equal(a.elector.leading, true);
    assert.equal(leaseSpec(harness)['holderIdentity'], 'a');
    assert.deepEqual(a.history, ['started']);
    await a.elector.release();
  });

  it('frees a Lease that it was just taking when told to release', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    a.weather = (call) => (call.verb === 'update' ? { thereMs: 200, backMs: 200 } : {});
    await harness.time.advance(300);
    a.weather = () => ({});
    assert.equal(leaseSpec(harness)['holderIdentity'], 'a');
    const released = a.elector.release();
    await harness.time.advance(200);
    await released;
    assert.equal(leaseSpec(harness)['holderIdentity'], '');
    assert.deepEqual(a.history, []);
    await a.done;
  });

  it('ends its term when told to stop and leaves the Lease as it is', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(1_000);
    a.stop.abort();
    assert.equal(a.elector.leading, false);
    await a.done;
    assert.equal(leaseSpec(harness)['holderIdentity'], 'a');
    await a.elector.release();
    assert.equal(leaseSpec(harness)['holderIdentity'], '', 'a release is still possible');
  });

  it('logs who leads, once for each leader', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(1_000);
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const b = harness.replica('b', { log: createLog({ clock: harness.time, level: 'info', format: 'text', write }) });
    await harness.time.advance(10_000);
    assert.equal(lines.length, 1, lines.join(''));
    assert.match(lines[0]!, /another replica holds the lease .*holder=a/);
    await a.elector.release();
    await b.elector.release();
  });

  it('logs why it cannot reach the Lease, and not every second', async () => {
    const harness = electorHarness();
    const lines: string[] = [];
    const log = createLog({ clock: harness.time, level: 'warn', format: 'text', write: (line) => lines.push(line) });
    const a = harness.replica('a', { log });
    a.weather = () => ({ lost: 'request' });
    await harness.time.advance(60_000);
    assert.equal(lines.filter((line) => line.includes('cannot read or take the lease')).length, 1);
    a.stop.abort();
  });
});
