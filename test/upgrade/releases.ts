import assert from 'node:assert/strict';
import { join } from 'node:path';

export type Program = 'agent' | 'controller';

/** Both programs of a release, as `run.ts` has built them. */
export interface BuiltRelease {
  /** `this`, `previous` or `second previous`. */
  readonly name: string;
  /** The file that node runs. */
  readonly agent: string;
  readonly controller: string;
}

function releaseIn(name: string, variable: string): BuiltRelease {
  const folder = process.env[variable];
  assert.ok(folder, `${variable} names no folder: run test/upgrade/run.ts`);
  return { name, agent: join(folder, 'agent.cjs'), controller: join(folder, 'controller.cjs') };
}

export const thisRelease = () => releaseIn('this', 'UPGRADE_THIS');
export const previousRelease = () => releaseIn('previous', 'UPGRADE_PREVIOUS');
export const secondPreviousRelease = () => releaseIn('second previous', 'UPGRADE_SECOND_PREVIOUS');
