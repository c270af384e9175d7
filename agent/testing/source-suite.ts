import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CloudErrorKind } from '../../common/cloud-error.ts';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { seededRandom } from '../../common/process/random.ts';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { type FakeClock, fakeClock } from '../../common/testing/fake-clock.ts';
import type { MetadataSource, SourceKind, SourceOptions } from '../metadata/source.ts';
import {
  cut,
  type FakeAnswer,
  type FakeMetadata,
  hang,
  type SeenRequest,
  slowBody,
  startFakeMetadata,
} from './fake-metadata.ts';

export const never = new AbortController().signal;

/** A source on real sockets, beside a service that answers as told. */
export async function openBeside(
  context: TestContext,
  kind: SourceKind,
  answer: (request: SeenRequest) => FakeAnswer,
  options: Partial<SourceOptions> = {},
): Promise<{ readonly source: MetadataSource; readonly service: FakeMetadata }> {
  const service = await startFakeMetadata(answer);
  context.after(() => service.close());
  const clock = options.clock ?? systemClock();
  const base = { clock, random: seededRandom(1), log: silentLog, dmi: {}, metadataUrl: service.url };
  return { source: kind.open({ ...base, ...options }), service };
}

/** Advances the clock in small steps until the promise settles, so that no test waits for a real timeout. */
export async function hurried<T>(clock: FakeClock, promise: Promise<T>, stepMs = 500): Promise<T> {
  let settled = false;
  const done = promise.finally(() => {
    settled = true;
  });
  done.catch(() => {});
  while (!settled) await clock.advance(stepMs);
  return done;
}

const faults: readonly (readonly [string, FakeAnswer, CloudErrorKind, RegExp])[] = [
  ['429', { status: 429, headers: { 'retry-after': '7' } }, 'Throttled', /429/],
  ['503', { status: 503, headers: { 'retry-after': '3' } }, 'Unavailable', /503/],
  ['500', { status: 500, body: 'secret details' }, 'Unavailable', /500/],
  ['a redirect', { status: 302, headers: { location: '/elsewhere' } }, 'Invalid', /redirect \(302\) refused/],
  ['a body of 2 MiB', 'x'.repeat(2 * 1024 * 1024), 'Invalid', /exceeds (262144|1048576) bytes/],
  ['a connection that is cut', cut, 'Unavailable', /./],
  ['silence', hang, 'Timeout', /no answer/],
  ['a body that never ends', slowBody, 'Timeout', /no answer/],
];

/**
 * What every metadata source must do when its service misbehaves: each fault is tried on each path of a good read.
 *
 * @param answer the service of a full payload
 */
export function testFaults(kind: SourceKind, answer: (request: SeenRequest) => FakeAnswer): void {
  for (const [name, fault, expected, message] of faults) {
    test(`${kind.cloud}: ${name} fails the read as ${expected}, and the next read recovers`, async (context) => {
      const clock = fakeClock(undefined, 1);
      let broken: string | undefined;
      let breakNow = false;
      const behave = (request: SeenRequest) => (breakNow && request.path === broken ? fault : answer(request));
      const probe = await openBeside(context, kind, behave, { clock });
      const good = await probe.source.read(never);
      const paths = new Set(probe.service.requests.map(({ path }) => path));
      assert.ok(paths.size > 0);
      for (broken of paths) {
        breakNow = true;
        const { source, service } = await openBeside(context, kind, behave, { clock });
        const reading = source.read(never);
        const error = await failureOf(expected === 'Timeout' ? hurried(clock, reading) : reading);
        assert.equal(error.kind, expected, `${broken}: ${error.message}`);
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /secret details/);
        assert.ok(!service.requests.some(({ path }) => path === '/elsewhere'), 'followed the redirect');
        if (name === '429') assert.equal(error.retryAfterMs, 7000);
        if (name === '503') assert.equal(error.retryAfterMs, 3000);
        breakNow = false;
        assert.deepEqual(await source.read(never), good);
      }
    });
  }

  test(`${kind.cloud}: a read that is given up ends at once`, async (context) => {
    const { source, service } = await openBeside(context, kind, () => hang);
    const stop = new AbortController();
    const reading = source.read(stop.signal);
    while (service.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    await failureOf(reading);
  });
}
