import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations as known } from '../../common/well-known.ts';
import { isKubeError } from './api.ts';
import { electorHarness, leaseSpec } from './testing/elector-harness.ts';

describe('the annotations of a leader on the Lease', () => {
  it('keeps the annotations of others on the Lease', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(1_000);
    const { metadata, spec: fields } = harness.leases.lease!;
    harness.leases.lease = {
      metadata: { ...metadata, labels: { team: 'x' }, annotations: { 'example.com/note': 'mine' } },
      spec: { ...fields, strategy: 'OldestEmulationVersion' },
    };
    await harness.time.advance(2_000);
    await a.elector.annotate({ 'mooring.dev/deletion-ledger': '[]' });
    assert.deepEqual(harness.leases.lease?.metadata.annotations, {
      'example.com/note': 'mine',
      'mooring.dev/deletion-ledger': '[]',
    });
    assert.deepEqual(harness.leases.lease?.metadata['labels'], { team: 'x' });
    assert.equal(leaseSpec(harness)['strategy'], 'OldestEmulationVersion');
    assert.deepEqual(a.history, ['started']);
    await a.elector.release();
  });

  it('writes annotations with a renewal, and removes them', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(1_500);
    let done = false;
    void a.elector.annotate({ x: '1', y: '2' }).then(() => {
      done = true;
    });
    await harness.time.advance(0);
    assert.equal(done, true);
    assert.deepEqual(a.elector.annotations(), { x: '1', y: '2' });
    assert.equal(leaseSpec(harness)['renewTime'], '2026-01-01T00:00:01.500000Z');
    assert.equal(a.elector.timeLeftMs(), 14_000);
    const pending = a.elector.annotate({ x: null });
    await harness.time.advance(0);
    await pending;
    assert.deepEqual(harness.leases.lease?.metadata.annotations, { y: '2' });
    await a.elector.release();
  });

  it('refuses to annotate when it does not lead, and says so', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(0);
    const b = harness.replica('b');
    await harness.time.advance(2_000);
    await assert.rejects(b.elector.annotate({ x: '1' }), (error) => isKubeError(error) && error.reason === 'Fenced');
    const { metadata, spec: fields } = harness.leases.lease!;
    harness.leases.lease = { metadata, spec: { ...fields, holderIdentity: 'usurper' } };
    const refused = assert.rejects(
      a.elector.annotate({ x: '1' }),
      (error) => isKubeError(error) && error.reason === 'Fenced',
    );
    await harness.time.advance(0);
    await refused;
    assert.equal(harness.leases.lease?.metadata.annotations?.['x'], undefined);
    a.stop.abort();
    b.stop.abort();
  });

  it('shows annotations whose answer was lost after the next renewal', async () => {
    const harness = electorHarness();
    const a = harness.replica('a');
    await harness.time.advance(1_000);
    a.weather = () => ({ lost: 'answer' });
    const failed = assert.rejects(
      a.elector.annotate({ ledger: '1' }),
      (error) => isKubeError(error) && error.reason === 'Timeout',
    );
    await harness.time.advance(100);
    a.weather = () => ({});
    await harness.time.advance(5_000);
    await failed;
    await harness.time.advance(3_000);
    assert.deepEqual(a.elector.annotations(), { ledger: '1' });
    assert.equal(a.elector.leading, true);
    await a.elector.release();
  });

  it('keeps its annotations when the Lease is deleted', async () => {
    const harness = electorHarness();
    const a = harness.replica('a', { annotations: { [known.reportUrl]: 'https://a' } });
    await harness.time.advance(0);
    const pending = a.elector.annotate({ [known.deletionLedger]: '[1]' });
    await harness.time.advance(0);
    await pending;
    const b = harness.replica('b');
    await harness.time.advance(900);
    harness.leases.lease = undefined;
    await harness.time.advance(3_000);
    assert.equal(a.elector.leading, true);
    assert.equal(b.elector.leading, false, 'the time of the holder last seen still runs');
    assert.deepEqual(harness.leases.lease!.metadata.annotations, {
      [known.reportUrl]: 'https://a',
      [known.deletionLedger]: '[1]',
    });
    await a.elector.release();
    b.stop.abort();
  });

  it('gives standbys the report URL of the leader, but not of an expired one', async () => {
    const harness = electorHarness();
    const a = harness.replica('a', { annotations: { [known.reportUrl]: 'https://a:10270' } });
    await harness.time.advance(0);
    const b = harness.replica('b');
    await harness.time.advance(2_000);
    assert.equal(b.elector.leaderReportUrl(), 'https://a:10270');
    a.kill();
    b.weather = () => ({ lost: 'request' });
    await harness.time.advance(15_000);
    assert.equal(b.elector.leaderReportUrl(), undefined);
    b.weather = () => ({});
    await harness.time.advance(25_000);
    assert.equal(b.elector.leading, true);
    assert.equal(b.elector.leaderReportUrl(), undefined, 'the old URL goes with the old leader');
    await b.elector.release();
  });
});
