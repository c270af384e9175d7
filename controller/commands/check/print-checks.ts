import { table } from '../explain/table.ts';
import type { CheckLine } from './run-checks.ts';

export interface RatedLine extends CheckLine {
  /** As `isNeeded` says. */
  readonly needed: boolean;
}

export type CheckState = 'ok' | 'failed' | 'unknown' | 'not needed';

const shownState = { ok: 'ok', failed: 'FAILED', unknown: 'unknown', 'not needed': 'not needed' } as const;

/** `not needed`: it failed, and nothing that is used needs it. */
export function stateOf({ ok, needed }: Pick<RatedLine, 'ok' | 'needed'>): CheckState {
  if (ok === null) return 'unknown';
  if (ok) return 'ok';
  return needed ? 'failed' : 'not needed';
}

/** The checks as text for people: failures first, then the clouds; the permissions that are there take one line. */
export function printChecks(lines: readonly RatedLine[]): string {
  const allowed = lines.filter(({ ok, permission }) => ok && permission);
  const shown = lines.filter((line) => !allowed.includes(line));
  const failed = ({ ok, needed }: RatedLine) => ok === false && needed;
  const ofCluster = ({ of }: RatedLine) => of === 'kubernetes';
  const groups = [failed, (line: RatedLine) => !ofCluster(line), ofCluster];
  const ordered = groups.flatMap((isIn, at) =>
    shown.filter((line) => isIn(line) && !groups.slice(0, at).some((before) => before(line))),
  );
  const rows = ordered.map((line) => [line.of, shownState[stateOf(line)], line.name, line.message]);
  if (allowed.length > 0)
    rows.push(['kubernetes', 'ok', 'permissions', `${allowed.length} allowed (-o json lists them)`]);
  return table([['TARGET', 'RESULT', 'CHECK', 'MESSAGE'], ...rows]);
}
