import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CloudError, type CloudErrorKind } from '../common/cloud-error.ts';
import type { Instance } from '../common/instance.ts';
import { silentLog } from '../common/process/log.ts';
import { fakeClock } from '../common/testing/fake-clock.ts';
import type { MetadataSource } from './metadata/source.ts';
import { readPatiently } from './provider-id.ts';

const instance: Instance = { cloud: 'test', id: 'i-1', providerID: 'test://i-1', addresses: [] };

function failure(kind: CloudErrorKind, retryAfterMs?: number): CloudError {
  return new CloudError({ cloud: 'test', operation: 'GET /', kind, message: kind, retryAfterMs });
}

/** A source that fails as listed, then succeeds; `undefined` hangs. */
function start(failures: readonly (CloudError | undefined)[], timeoutMs = 30_000) {
  const clock = fakeClock();
  const reads: number[] = [];
  const stop = new AbortController();
  const source: MetadataSource = {
    cloud: 'test',
    read(signal) {
      const at = reads.push(clock.monotonic()) - 1;
      if (at >= failures.length) return Promise.resolve(instance);
      const error = failures[at];
      if (error !== undefined) return Promise.reject(error);
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(failure('Timeout')), { once: true });
      });
    },
  };
  const reading = readPatiently(source, timeoutMs, { clock, random: () => 0.5, log: silentLog, signal: stop.signal });
  reading.catch(() => {});
  return { clock, reads, stop, reading };
}

test('retries temporary failures with back-off', async () => {
  const { clock, reads, reading } = start([failure('Unavailable'), failure('Timeout'), failure('Throttled')]);
  await clock.advance(2000);
  assert.equal(await reading, instance);
  assert.deepEqual(reads, [0, 250, 750, 1750]);
  assert.equal(clock.pending, 0);
});

test('waits as long as the service asks', async () => {
  const { clock, reads, reading } = start([failure('Throttled', 7000)]);
  await clock.advance(7000);
  assert.equal(await reading, instance);
  assert.deepEqual(reads, [0, 7000]);
});

test('gives up at the first permanent failure', async () => {
  const { reads, reading } = start([failure('Invalid')]);
  await assert.rejects(reading, { kind: 'Invalid' });
  assert.equal(reads.length, 1);
});

test('gives up at the timeout with the last failure, not the timeout', async () => {
  const hanging = start([failure('Forbidden'), undefined], 10_000);
  await hanging.clock.advance(10_000);
  await assert.rejects(hanging.reading, { kind: 'Forbidden', message: /Forbidden; given up after 10s \(--timeout\)$/ });
  const failing = start(Array(100).fill(failure('Unavailable')), 10_000);
  await failing.clock.advance(10_000);
  await assert.rejects(failing.reading, { kind: 'Unavailable', message: /; given up after 10s \(--timeout\)$/ });
  assert.equal(failing.clock.pending, 0);
});

test('ends at once when asked to stop', async () => {
  const { clock, stop, reading } = start([undefined]);
  await clock.advance(1000);
  stop.abort();
  await assert.rejects(reading, { kind: 'Timeout', message: /; asked to stop$/ });
  assert.equal(clock.pending, 0);
});
