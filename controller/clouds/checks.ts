import { isCloudError } from '../../common/cloud-error.ts';
import type { CheckResult } from './cloud.ts';
import type { JsonApi } from './json-api.ts';

/** What `check` of a cloud answers, gathered one proof after the other. */
export interface Checks {
  readonly results: readonly CheckResult[];
  /**
   * Adds the result of a proof: `ok` with what it answers, or not, with its error and the advice. Never throws.
   *
   * @param advice for a person, where the cloud refuses: `see HCLOUD_TOKEN`
   */
  prove(about: Pick<CheckResult, 'name' | 'neededFor'>, advice: string, proof: () => Promise<string>): Promise<void>;
}

/** @param whenDown the advice where the cloud did not answer, or failed */
export function createChecks(whenDown: (error: unknown) => string = () => adviceWhenDown): Checks {
  const results: CheckResult[] = [];
  return {
    results,
    async prove(about, advice, proof) {
      try {
        results.push({ ...about, ok: true, message: await proof() });
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        results.push({ ...about, ok: false, message: `${reason}; ${isDown(error) ? whenDown(error) : advice}` });
      }
    },
  };
}

/** A read of what cannot exist: a call that may not be made is refused before. */
export async function readNone(read: Promise<unknown>): Promise<void> {
  try {
    await read;
  } catch (error) {
    if (!isCloudError(error) || !['Invalid', 'NotFound'].includes(error.kind)) throw error;
  }
}

/**
 * A create that lacks everything, which proves that the credential may write: one without that right is refused before
 * the API looks at what is sent.
 */
export async function createNothing({ call }: JsonApi, path: string, signal: AbortSignal | undefined): Promise<string> {
  try {
    await call({ method: 'POST', path, body: {}, permit: () => {}, signal });
  } catch (error) {
    if (!isCloudError(error) || !['Invalid', 'QuotaExceeded'].includes(error.kind)) throw error;
  }
  return 'the token may write';
}

/** The line about the rights that only a change would prove. Pure. */
export function changesOf(why: string): CheckResult {
  return { name: 'changes', neededFor: ['routes', 'load balancers'], ok: null, message: `not proved: ${why}` };
}

/** For a person, where a cloud does not answer. */
export const adviceWhenDown = 'check that its endpoint is right and reachable from here, or try again later';

/** Whether the cloud did not answer, failed, or has had too many calls: no other credential would help. Pure. */
export function isDown(error: unknown): boolean {
  return isCloudError(error) && ['Timeout', 'Unavailable', 'Throttled'].includes(error.kind);
}
