import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../common/process/log.ts';
import { annotations as known } from '../../common/well-known.ts';
import { electorWorld, leaseSpec } from './testing/elector-world.ts';

describe('the elector', () => {
  it('creates the Lease with times of six digits and leads', async () => {
    const world = electorWorld();
    const a = world.replica('a', { annotations: { [known.reportUrl]: 'https://10.0.0.1:10270' } });
    await world.time.advance(0);
    assert.equal(a.elector.leading, true);
    assert.deepEqual(leaseSpec(world), {
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
    const world = electorWorld();
    const a = world.replica('a');
    await world.time.advance(0);
    const before = world.leases.calls.length;
    await world.time.advance(20_000);
    assert.deepEqual(
      world.leases.calls.slice(before).map((call) => call.verb),
      Array.from({ length: 10 }, () => 'update'),
    );
    assert.equal(leaseSpec(world)['acquireTime'], '2026-01-01T00:00:00.000000Z');
    assert.equal(leaseSpec(world)['renewTime'], '2026-01-01T00:00:20.000000Z');
    assert.equal(leaseSpec(world)['leaseTransitions'], 0);
    assert.equal(a.elector.timeLeftMs(), 14_000);
    await a.elector.release();
  });

  it('leaves a held Lease alone for its duration, counted from when it was observed', async () => {
    const world = electorWorld();
    // Another program's, with a clock that is years behind: its times mean nothing here.
    world.leases.lease = {
      metadata: { name: 'cloud-controller-manager', uid: 'u', resourceVersion: '0' },
      spec: {
        holderIdentity: 'old-ccm',
        leaseDurationSeconds: 30,
        renewTime: '2001-01-01T00:00:00.000000Z',
        leaseTransitions: 4,
      },
    };
    const a = world.replica('a');
    await world.time.advance(29_999);
    assert.equal(a.elector.leading, false);
    assert.equal(a.elector.timeLeftMs(), 0);
    await world.time.advance(10);
    assert.equal(a.elector.leading, true);
    assert.equal(leaseSpec(world)['leaseTransitions'], 5);
    await a.elector.release();
  });

  it('keeps waiting while the holder renews, whatever others write on the Lease', async () => {
    const world = electorWorld();
    const a = world.replica('a');
    await world.time.advance(100);
    const b = world.replica('b');
    await world.time.advance(60_000);
    a.kill();
    for (let i = 0; i < 20; i += 1) {
      await world.time.advance(1_000);
      const { metadata, spec: fields } = world.leases.lease!;
      if (b.elector.leading) break;
      world.leases.lease = { metadata: { ...metadata, annotations: { touched: String(i) } }, spec: fields };
    }
    assert.equal(b.elector.leading, true, 'an annotation is no renewal');
    await b.elector.release();
  });

  it('takes over from a killed leader within the lease time and two seconds', async () => {
    const world = electorWorld();
    const a = world.replica('a');
    await world.time.advance(0);
    const b = world.replica('b');
    await world.time.advance(30_700);
    assert.equal(a.elector.leading, true);
    a.kill();
    await world.time.advance(17_000);
    assert.equal(b.elector.leading, true);
    assert.equal(a.elector.leading, false);
    assert.ok(a.elector.timeLeftMs() < 0);
    await b.elector.release();
  });

  it('takes over from a leader that released within two seconds', async () => {
    const world = electorWorld();
    const a = world.replica('a', { annotations: { [known.reportUrl]: 'https://a:10270' } });
    await world.time.advance(0);
    const b = world.replica('b');
    await world.time.advance(10_300);
    const released = a.elector.release();
    assert.equal(a.elector.timeLeftMs(), 0, 'writes stop before the lease is freed');
    await world.time.advance(10);
    await released;
    assert.equal(leaseSpec(world)['holderIdentity'], '');
    assert.equal(leaseSpec(world)['leaseDurationSeconds'], 1);
    assert.deepEqual(world.leases.lease?.metadata.annotations, {});
    await world.time.advance(1_990);
    assert.equal(b.elector.leading, true);
    assert.equal(leaseSpec(world)['leaseTransitions'], 1);
    assert.deepEqual(a.history, ['started', 'aborted', 'stopped: released']);
    await a.done;
    await world.time.advance(30_000);
    assert.equal(a.elector.leading, false, 'who released does not come back');
    await b.elector.release();
  });

  it('does not take a deleted Lease whose holder it has not seen renew for long', async () => {
    const world = electorWorld();
    const a = world.replica('a');
    await world.time.advance(0);
    const b = world.replica('b');
    await world.time.advance(2_000);
    b.weather = () => ({ lost: 'request' });
    await world.time.advance(30_000);
    assert.equal(a.elector.leading, true);
    a.weather = () => ({ lost: 'request' });
    b.weather = () => ({});
    world.leases.lease = undefined;
    await world.time.advance(8_000);
    assert.deepEqual([a.elector.leading, b.elector.leading], [true, false]);
    a.kill();
    await world.time.advance(20_000);
    assert.equal(b.elector.leading, true);
    await b.elector.release();
  });

  for (const [how, when] of [
    ['sleep', 'while this replica slept'],
    ['hold', 'while a hypervisor held this replica, of which its wall clock alone tells'],
  ] as const)
    it(`does not take a deleted Lease that another may have taken ${when}`, async () => {
      const world = electorWorld();
      const a = world.replica('a');
      await world.time.advance(2_000);
      const b = world.replica('b');
      await world.time.advance(2_000);
      a.clock.stop(how);
      await world.time.advance(20_000);
      assert.equal(b.elector.leading, true);
      b.weather = () => ({ lost: 'request' });
      world.leases.lease = undefined;
      a.clock.resume();
      await world.time.advance(8_000);
      assert.deepEqual([a.elector.leading, b.elector.leading], [false, true]);
      b.kill();
      await world.time.advance(20_000);
      assert.equal(a.elector.leading, true);
      await a.elector.release();
    });

  it('creates its own Lease again at once when it is deleted', async () => {
    const world = electorWorld();
    const a = world.replica('a');
    await world.time.advance(2_000);
    world.leases.lease = undefined;
    await world.time.advance(2_100);
    assert.equal(a.elector.leading, true);
    assert.equal(leaseSpec(world)['holderIdentity'], 'a');
    assert.deepEqual(a.history, ['started']);
    await a.elector.release();
  });

  it('frees a Lease that it was just taking when told to release', async () => {
    const world = electorWorld();
    const a = world.replica('a');
    a.weather = (call) => (call.verb === 'update' ? { thereMs: 200, backMs: 200 } : {});
    await world.time.advance(300);
    a.weather = () => ({});
    assert.equal(leaseSpec(world)['holderIdentity'], 'a');
    const released = a.elector.release();
    await world.time.advance(200);
    await released;
    assert.equal(leaseSpec(world)['holderIdentity'], '');
    assert.deepEqual(a.history, []);
    await a.done;
  });

  it('ends its term when told to stop and leaves the Lease as it is', async () => {
    const world = electorWorld();
    const a = world.replica('a');
    await world.time.advance(1_000);
    a.stop.abort();
    assert.equal(a.elector.leading, false);
    await a.done;
    assert.equal(leaseSpec(world)['holderIdentity'], 'a');
    await a.elector.release();
    assert.equal(leaseSpec(world)['holderIdentity'], '', 'a release is still possible');
  });

  it('says why it cannot reach the Lease, without saying it every second', async () => {
    const world = electorWorld();
    const lines: string[] = [];
    const log = createLog({ clock: world.time, level: 'warn', format: 'text', write: (line) => lines.push(line) });
    const a = world.replica('a', { log });
    a.weather = () => ({ lost: 'request' });
    await world.time.advance(60_000);
    assert.equal(lines.filter((line) => line.includes('cannot read or take the lease')).length, 1);
    a.stop.abort();
  });
});
