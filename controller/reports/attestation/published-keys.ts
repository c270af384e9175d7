import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { type JsonWebKeys, jsonWebKeys } from './trust.ts';
import { EvidenceRefusal } from './verdict.ts';

/** Where Google publishes the keys that sign identity tokens. */
export const googleKeysUrl = 'https://www.googleapis.com/oauth2/v3/certs';

const timeoutMs = 10_000;
const maxBytes = 64 * 1024;
const shortestMs = 60_000;
const longestMs = 24 * 3_600_000;
/** The delay after a failure. Cached keys are used until they expire. */
const retryMs = 15_000;

/**
 * The keys at a fixed URL, fetched on demand and cached for as long as the answer allows. One request at a time.
 *
 * @returns rejects with an EvidenceRefusal `KeysUnavailable`
 */
export function createPublishedKeys(url: string, http: Http, clock: Clock): () => Promise<JsonWebKeys> {
  let held: { readonly keys: JsonWebKeys; readonly untilMs: number } | undefined;
  let underWay: Promise<JsonWebKeys> | undefined;
  let notBeforeMs = Number.NEGATIVE_INFINITY;

  async function fetchKeys(): Promise<JsonWebKeys> {
    try {
      const answer = await http({ url, timeoutMs, maxBytes, headers: { accept: 'application/json' } });
      if (answer.status !== 200) throw new Error(`status ${answer.status}`);
      const keys = jsonWebKeys(answer.text);
      held = { keys, untilMs: clock.monotonic() + lifetimeMs(answer.header, clock.now()) };
      return keys;
    } catch (error) {
      notBeforeMs = clock.monotonic() + retryMs;
      const why = error instanceof Error ? error.message : String(error);
      throw new EvidenceRefusal('KeysUnavailable', `the keys at ${url} cannot be fetched: ${why}`);
    }
  }

  return async () => {
    const nowMs = clock.monotonic();
    if (held !== undefined && nowMs < held.untilMs) return held.keys;
    if (nowMs < notBeforeMs) throw new EvidenceRefusal('KeysUnavailable');
    underWay ??= fetchKeys().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}

/** From `Cache-Control` or else `Expires`, at least a minute and at most a day. */
function lifetimeMs(header: (name: string) => string | null, nowMs: number): number {
  const maxAge = /(?:^|[\s,])max-age=(\d+)/i.exec(header('cache-control') ?? '')?.[1];
  const expires = Date.parse(header('expires') ?? '');
  const ms = maxAge !== undefined ? Number(maxAge) * 1000 : expires - nowMs;
  return Math.min(longestMs, Math.max(shortestMs, Number.isFinite(ms) ? ms : shortestMs));
}
