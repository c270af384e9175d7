import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations as known } from '../../common/well-known.ts';
import { isKubeError } from './api.ts';
import { electorWorld, leaseSpec } from './testing/elector-world.ts';

describe('what a leader writes on the Lease', () => {
  it('keeps what others wrote on the Lease', async () => {
    const world = electorWorld();
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
    assert.equal(leaseSpec(world)['strategy'], 'OldestEmulationVersion');
    assert.deepEqual(a.history, ['started']);
    await a.elector.release();
  });

  it('writes annotations together with a renewal, and takes them away again', async () => {
    const world = electorWorld();
    const a = world.replica('a');
    await world.time.advance(1_500);
    let done = false;
    void a.elector.annotate({ x: '1', y: '2' }).then(() => {
      done = true;
    });
    await world.time.advance(0);
    assert.equal(done, true);
    assert.deepEqual(a.elector.annotations(), { x: '1', y: '2' });
    assert.equal(leaseSpec(world)['renewTime'], '2026-01-01T00:00:01.500000Z');
    assert.equal(a.elector.timeLeftMs(), 14_000);
    const pending = a.elector.annotate({ x: null });
    await world.time.advance(0);
    await pending;
    assert.deepEqual(world.leases.lease?.metadata.annotations, { y: '2' });
    await a.elector.release();
  });

  it('refuses to annotate when it does not lead, and says so', async () => {
    const world = electorWorld();
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
    const world = electorWorld();
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

  it('keeps its annotations when the Lease is deleted', async () => {
    const world = electorWorld();
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

  it('gives standbys the report URL of the leader, but not of an expired one', async () => {
    const world = electorWorld();
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
});
