import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createLog, silentLog } from '../../common/process/log.ts';
import { seededRandom } from '../../common/process/random.ts';
import { type FakeClock, fakeClock } from '../../common/testing/fake-clock.ts';
import { annotations as known } from '../../common/well-known.ts';
import { isKubeError, type KubeCall } from './api.ts';
import { createElector, type Elector, type ElectorOptions } from './elector.ts';
import { type MemoryLeases, memoryLeases, type StoredLease, type Weather } from './testing/memory-leases.ts';
import { type ReplicaClock, replicaClock } from './testing/replica-clock.ts';

interface Replica {
  readonly elector: Elector;
  readonly clock: ReplicaClock;
  readonly history: string[];
  weather: (call: KubeCall) => Weather;
  /** Dies: nothing of it runs any more. */
  kill(): void;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

interface World {
  readonly time: FakeClock;
  readonly leases: MemoryLeases;
  replica(name: string, options?: Partial<ElectorOptions> & { rate?: number; wallOffsetMs?: number }): Replica;
}

function newWorld(): World {
  const time = fakeClock();
  const leases = memoryLeases(time);
  return {
    time,
    leases,
    replica(name, { rate = 1, wallOffsetMs = 0, ...options } = {}) {
      const clock = replicaClock(time, { rate, wallOffsetMs });
      const history: string[] = [];
      const stop = new AbortController();
      const api = leases.api(clock, (call) => replica.weather(call));
      const elector = createElector({
        api,
        clock,
        random: seededRandom(name.length + 7 * name.charCodeAt(0)),
        log: silentLog,
        identity: name,
        namespace: 'kube-system',
        name: 'cloud-controller-manager',
        onStartedLeading: (signal) => {
          history.push('started');
          signal.addEventListener('abort', () => history.push('aborted'));
        },
        onStoppedLeading: (reason) => {
          history.push(`stopped: ${reason}`);
        },
        ...options,
      });
      const replica: Replica = {
        elector,
        clock,
        history,
        weather: () => ({}),
        kill: () => clock.stop('pause'),
        stop,
        done: elector.run(stop.signal),
      };
      return replica;
    },
  };
}

function spec(world: World): StoredLease['spec'] {
  assert.ok(world.leases.lease);
  return world.leases.lease.spec;
}

describe('the elector', () => {
  it('creates the Lease with times of six digits and leads', async () => {
    const world = newWorld();
    const a = world.replica('a', { annotations: { [known.reportUrl]: 'https://10.0.0.1:10270' } });
    await world.time.advance(0);
    assert.equal(a.elector.leading, true);
    assert.deepEqual(spec(world), {
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
    const world = newWorld();
    const a = world.replica('a');
    await world.time.advance(0);
    const before = world.leases.calls.length;
    await world.time.advance(20_000);
    assert.deepEqual(
      world.leases.calls.slice(before).map((call) => call.verb),
      Array.from({ length: 10 }, () => 'update'),
    );
    assert.equal(spec(world)['acquireTime'], '2026-01-01T00:00:00.000000Z');
    assert.equal(spec(world)['renewTime'], '2026-01-01T00:00:20.000000Z');
    assert.equal(spec(world)['leaseTransitions'], 0);
    assert.equal(a.elector.timeLeftMs(), 14_000);
    await a.elector.release();
  });

  it('leaves a Lease that is held alone for as long as its word says, counted from when it was seen', async () => {
    const world = newWorld();
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
    assert.equal(spec(world)['leaseTransitions'], 5);
    await a.elector.release();
  });

  it('waits on while the holder renews, whatever others write on the Lease', async () => {
    const world = newWorld();
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
    const world = newWorld();
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
    const world = newWorld();
    const a = world.replica('a', { annotations: { [known.reportUrl]: 'https://a:10270' } });
    await world.time.advance(0);
    const b = world.replica('b');
    await world.time.advance(10_300);
    const released = a.elector.release();
    assert.equal(a.elector.timeLeftMs(), 0, 'writes stop before the lease is freed');
    await world.time.advance(10);
    await released;
    assert.equal(spec(world)['holderIdentity'], '');
    assert.equal(spec(world)['leaseDurationSeconds'], 1);
    assert.deepEqual(world.leases.lease?.metadata.annotations, {});
    await world.time.advance(1_990);
    assert.equal(b.elector.leading, true);
    assert.equal(spec(world)['leaseTransitions'], 1);
    assert.deepEqual(a.history, ['started', 'aborted', 'stopped: released']);
    await a.done;
    await world.time.advance(30_000);
    assert.equal(a.elector.leading, false, 'who released does not come back');
    await b.elector.release();
  });

  it('ends the term at the renew deadline when the server cannot be reached', async () => {
    const world = newWorld();
    const a = world.replica('a');
    await world.time.advance(4_000);
    a.weather = () => ({ lost: 'request' });
    await world.time.advance(9_999);
    assert.deepEqual(a.history, ['started']);
    assert.ok(a.elector.timeLeftMs() > 0);
    await world.time.advance(1);
    assert.deepEqual(a.history, ['started', 'aborted', 'stopped: the lease was not renewed within 10000 ms']);
    assert.equal(a.elector.timeLeftMs(), 0);
    a.weather = () => ({});
    await world.time.advance(2_000);
    assert.equal(a.elector.leading, true, 'it leads again when nobody else took the lease');
    await a.elector.release();
  });

  it('counts its time from before the renewal was sent', async () => {
    const world = newWorld();
    const a = world.replica('a');
    await world.time.advance(1_999);
    a.weather = () => ({ thereMs: 100, backMs: 1_900 });
    await world.time.advance(2_001);
    assert.equal(a.elector.timeLeftMs(), 14_000 - 2_000);
    a.weather = () => ({});
    await a.elector.release();
  });

  it('leads on after the answer of a renewal was lost, and not by that renewal', async () => {
    const world = newWorld();
    const a = world.replica('a');
    await world.time.advance(1_000);
    a.weather = () => ({ lost: 'answer' });
    await world.time.advance(1_000);
    a.weather = () => ({});
    await world.time.advance(4_000);
    assert.equal(spec(world)['renewTime'], '2026-01-01T00:00:02.000000Z', 'the renewal did happen');
    assert.equal(a.elector.timeLeftMs(), 14_000 - 6_000, 'but only an answer counts');
    await world.time.advance(2_100);
    assert.equal(a.elector.leading, true);
    assert.ok(a.elector.timeLeftMs() > 12_000);
    assert.deepEqual(a.history, ['started']);
    await a.elector.release();
  });

  it('ends the term at once when another holds the Lease', async () => {
    const world = newWorld();
    const a = world.replica('a');
    await world.time.advance(3_000);
    const { metadata, spec: fields } = world.leases.lease!;
    world.leases.lease = {
      metadata,
      spec: { ...fields, holderIdentity: 'usurper', renewTime: '2026-01-01T00:00:03.000000Z' },
    };
    await world.time.advance(1_000);
    assert.deepEqual(a.history, ['started', 'aborted', 'stopped: usurper holds the lease']);
    assert.equal(a.elector.leading, false);
    a.stop.abort();
    await a.done;
  });

  it('does not lead again before the end of its last term has settled', async () => {
    const world = newWorld();
    let settle = () => {};
    const a = world.replica('a', { onStoppedLeading: () => new Promise<void>((resolve) => (settle = resolve)) });
    await world.time.advance(1_000);
    a.weather = () => ({ lost: 'request' });
    await world.time.advance(12_000);
    a.weather = () => ({});
    await world.time.advance(30_000);
    assert.equal(a.elector.leading, false);
    settle();
    await world.time.advance(2_000);
    assert.equal(a.elector.leading, true);
    await a.elector.release();
  });

  it('stops writing when the wall clock jumps ahead, until the next renewal', async () => {
    const world = newWorld();
    const a = world.replica('a');
    await world.time.advance(500);
    a.clock.stepWall(3_600_000);
    assert.ok(a.elector.timeLeftMs() < 0);
    await world.time.advance(1_500);
    assert.equal(a.elector.timeLeftMs(), 14_000);
    assert.deepEqual(a.history, ['started']);
    a.clock.stepWall(-7_200_000);
    assert.equal(a.elector.timeLeftMs(), 14_000);
    await world.time.advance(1_000);
    assert.equal(a.elector.timeLeftMs(), 13_000);
    await a.elector.release();
  });

  for (const how of ['pause', 'sleep'] as const) {
    it(`does not write after a ${how} of the process that outlasted its lease`, async () => {
      const world = newWorld();
      const a = world.replica('a');
      await world.time.advance(0);
      const b = world.replica('b');
      await world.time.advance(5_000);
      a.clock.stop(how);
      await world.time.advance(40_000);
      assert.equal(b.elector.leading, true);
      a.clock.resume();
      assert.ok(a.elector.timeLeftMs() <= 0, `${a.elector.timeLeftMs()} ms left`);
      await world.time.advance(5_000);
      assert.equal(a.elector.leading, false);
      assert.equal(a.history.at(-1)?.startsWith('stopped'), true);
      assert.equal(b.elector.leading, true);
      await b.elector.release();
      a.stop.abort();
    });
  }

  it('keeps what others wrote on the Lease', async () => {
    const world = newWorld();
    const a = world.replica('a');
    await world.time.advance(1_000);
    const { metadata, spec: fields } = world.leases.lease!;
    world.leases.lease = {
      metadata: { ...metadata, labels: { team: 'x' }, annotations: { 'example.com/note': 'mine' } },
      spec: { ...fields, strategy: 'OldestEmulationVersion' },
    };
    await world.time.advance(2_000);
    await a.elector.annotate({ 'mooring.dev/deletion-ledger': '[]' });
    assert.deepEqual(world.leases.lease?.metadata.annotations, {
      'example.com/note': 'mine',
      'mooring.dev/deletion-ledger': '[]',
    });
    assert.deepEqual(world.leases.lease?.metadata['labels'], { team: 'x' });
    assert.equal(spec(world)['strategy'], 'OldestEmulationVersion');
    assert.deepEqual(a.history, ['started']);
    await a.elector.release();
  });

  it('writes annotations together with a renewal, and takes them away again', async () => {
    const world = newWorld();
    const a = world.replica('a');
    await world.time.advance(1_500);
    let done = false;
    void a.elector.annotate({ x: '1', y: '2' }).then(() => {
      done = true;
    });
    await world.time.advance(0);
    assert.equal(done, true);
    assert.deepEqual(a.elector.annotations(), { x: '1', y: '2' });
    assert.equal(spec(world)['renewTime'], '2026-01-01T00:00:01.500000Z');
    assert.equal(a.elector.timeLeftMs(), 14_000);
    const pending = a.elector.annotate({ x: null });
    await world.time.advance(0);
    await pending;
    assert.deepEqual(world.leases.lease?.metadata.annotations, { y: '2' });
    await a.elector.release();
  });

  it('refuses to annotate when it does not lead, and says so', async () => {
    const world = newWorld();
    const a = world.replica('a');
    await world.time.advance(0);
    const b = world.replica('b');
    await world.time.advance(2_000);
    await assert.rejects(b.elector.annotate({ x: '1' }), (error) => isKubeError(error) && error.reason === 'Fenced');
    const { metadata, spec: fields } = world.leases.lease!;
    world.leases.lease = { metadata, spec: { ...fields, holderIdentity: 'usurper' } };
    const refused = assert.rejects(
      a.elector.annotate({ x: '1' }),
      (error) => isKubeError(error) && error.reason === 'Fenced',
    );
    await world.time.advance(0);
    await refused;
    assert.equal(world.leases.lease?.metadata.annotations?.['x'], undefined);
    a.stop.abort();
    b.stop.abort();
  });

  it('shows annotations whose answer was lost after the next renewal', async () => {
    const world = newWorld();
    const a = world.replica('a');
    await world.time.advance(1_000);
    a.weather = () => ({ lost: 'answer' });
    const failed = assert.rejects(
      a.elector.annotate({ ledger: '1' }),
      (error) => isKubeError(error) && error.reason === 'Timeout',
    );
    await world.time.advance(100);
    a.weather = () => ({});
    await world.time.advance(5_000);
    await failed;
    await world.time.advance(3_000);
    assert.deepEqual(a.elector.annotations(), { ledger: '1' });
    assert.equal(a.elector.leading, true);
    await a.elector.release();
  });

  it('keeps its annotations when somebody deletes the Lease', async () => {
    const world = newWorld();
    const a = world.replica('a', { annotations: { [known.reportUrl]: 'https://a' } });
    await world.time.advance(0);
    const pending = a.elector.annotate({ [known.deletionLedger]: '[1]' });
    await world.time.advance(0);
    await pending;
    const b = world.replica('b');
    await world.time.advance(900);
    world.leases.lease = undefined;
    await world.time.advance(3_000);
    assert.equal(a.elector.leading, true);
    assert.equal(b.elector.leading, false, 'the time of the holder last seen still runs');
    assert.deepEqual(world.leases.lease!.metadata.annotations, {
      [known.reportUrl]: 'https://a',
      [known.deletionLedger]: '[1]',
    });
    await a.elector.release();
    b.stop.abort();
  });

  it('does not take a deleted Lease whose holder it has not seen renew for long', async () => {
    const world = newWorld();
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

  it('tells standbys where the leader takes reports, and nothing of a leader that is gone', async () => {
    const world = newWorld();
    const a = world.replica('a', { annotations: { [known.reportUrl]: 'https://a:10270' } });
    await world.time.advance(0);
    const b = world.replica('b');
    await world.time.advance(2_000);
    assert.equal(b.elector.leaderReportUrl(), 'https://a:10270');
    a.kill();
    b.weather = () => ({ lost: 'request' });
    await world.time.advance(15_000);
    assert.equal(b.elector.leaderReportUrl(), undefined);
    b.weather = () => ({});
    await world.time.advance(25_000);
    assert.equal(b.elector.leading, true);
    assert.equal(b.elector.leaderReportUrl(), undefined, 'the old URL goes with the old leader');
    await b.elector.release();
  });

  it('frees a Lease that it was just taking when told to release', async () => {
    const world = newWorld();
    const a = world.replica('a');
    a.weather = (call) => (call.verb === 'create' ? { thereMs: 200, backMs: 200 } : {});
    await world.time.advance(300);
    assert.equal(spec(world)['holderIdentity'], 'a');
    const released = a.elector.release();
    await world.time.advance(200);
    await released;
    assert.equal(spec(world)['holderIdentity'], '');
    assert.deepEqual(a.history, []);
    await a.done;
  });

  it('ends its term when told to stop and leaves the Lease as it is', async () => {
    const world = newWorld();
    const a = world.replica('a');
    await world.time.advance(1_000);
    a.stop.abort();
    assert.equal(a.elector.leading, false);
    await a.done;
    assert.equal(spec(world)['holderIdentity'], 'a');
    await a.elector.release();
    assert.equal(spec(world)['holderIdentity'], '', 'a release is still possible');
  });

  it('says why it cannot reach the Lease, without saying it every second', async () => {
    const world = newWorld();
    const lines: string[] = [];
    const log = createLog({ clock: world.time, level: 'warn', format: 'text', write: (line) => lines.push(line) });
    const a = world.replica('a', { log });
    a.weather = () => ({ lost: 'request' });
    await world.time.advance(60_000);
    assert.equal(lines.filter((line) => line.includes('cannot read or take the lease')).length, 1);
    a.stop.abort();
  });

  it('never lets two replicas write, whatever clocks, network and processes do; and one leads when they behave', async () => {
    const deed = fc.record({
      atMs: fc.integer({ min: 0, max: 6_000 }),
      who: fc.integer({ min: 0, max: 2 }),
      what: fc.oneof(
        fc.constantFrom(
          'pause',
          'sleep',
          'resume',
          'forward',
          'back',
          'lose-requests',
          'lose-answers',
          'fine',
          'restart',
        ),
        fc.constant('slow'),
      ),
      sizeMs: fc.integer({ min: 0, max: 20_000 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(deed, { minLength: 1, maxLength: 30 }),
        fc.array(fc.double({ min: 0.97, max: 1.03, noNaN: true }), { minLength: 3, maxLength: 3 }),
        async (deeds, rates) => {
          const world = newWorld();
          const all: Replica[] = rates.map((rate, i) =>
            world.replica(`r${i}`, { rate, wallOffsetMs: (i - 1) * 3_600_000 }),
          );
          const living = [...all];
          const check = (when: string) => {
            const may = all.filter((replica) => replica.elector.timeLeftMs() > 0).length;
            assert.ok(may <= 1, `${may} replicas may write ${when}`);
          };
          const pass = async (ms: number) => {
            for (let left = ms; left > 0; left -= 250) {
              await world.time.advance(Math.min(250, left));
              check(`at ${world.time.monotonic()}`);
            }
          };
          await pass(2_000);
          let births = 0;
          for (const { atMs, who, what, sizeMs } of deeds) {
            await pass(atMs);
            const replica = living[who]!;
            if (what === 'pause' || what === 'sleep') replica.clock.stop(what);
            else if (what === 'resume') replica.clock.resume();
            else if (what === 'forward') replica.clock.stepWall(sizeMs);
            else if (what === 'back') replica.clock.stepWall(-sizeMs);
            else if (what === 'lose-requests') replica.weather = () => ({ lost: 'request' });
            else if (what === 'lose-answers') replica.weather = () => ({ lost: 'answer' });
            else if (what === 'slow') replica.weather = () => ({ thereMs: sizeMs / 4, backMs: sizeMs / 3 });
            else if (what === 'fine') replica.weather = () => ({});
            else {
              replica.kill();
              births += 1;
              const born = world.replica(`born${births}`, { rate: rates[who]! });
              all.push(born);
              living[who] = born;
            }
            check(`after ${what}`);
          }
          for (const replica of living) {
            replica.clock.resume();
            replica.weather = () => ({});
          }
          check('after all resumed');
          await pass(40_000);
          assert.equal(living.filter((replica) => replica.elector.leading).length, 1);
          for (const replica of all) replica.stop.abort();
        },
      ),
      { numRuns: 40, seed: 20260101 },
    );
  });
});
