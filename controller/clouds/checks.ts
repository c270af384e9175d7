import type { CheckResult } from './cloud.ts';

/** What `check` of a cloud answers, gathered one proof after the other. */
export interface Checks {
  readonly results: readonly CheckResult[];
  /**
   * Adds the result of a proof: `ok` with what it answers, or not, with its error and the advice. Never throws.
   *
   * @param advice for a person, where it fails: `see HCLOUD_TOKEN`
   */
  prove(about: Pick<CheckResult, 'name' | 'neededFor'>, advice: string, proof: () => Promise<string>): Promise<void>;
}

export function createChecks(): Checks {
  const results: CheckResult[] = [];
  return {
    results,
    async prove(about, advice, proof) {
      try {
        results.push({ ...about, ok: true, message: await proof() });
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        results.push({ ...about, ok: false, message: `${reason}; ${advice}` });
      }
    },
  };
}
