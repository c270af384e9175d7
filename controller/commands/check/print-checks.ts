import { table } from '../explain/table.ts';
import type { CheckLine } from './run-checks.ts';

export interface RatedLine extends CheckLine {
  /** As `isNeeded` says. */
  readonly needed: boolean;
}

/** The checks as text for people: failures first, then the clouds; the permissions that are there take one line. */
export function printChecks(lines: readonly RatedLine[]): string {
  const allowed = lines.filter(({ ok, permission }) => ok && permission);
  const shown = lines.filter((line) => !allowed.includes(line));
  const failed = ({ ok, needed }: RatedLine) => !ok && needed;
  const ofCluster = ({ of }: RatedLine) => of === 'kubernetes';
  const groups = [failed, (line: RatedLine) => !ofCluster(line), ofCluster];
  const ordered = groups.flatMap((isIn, at) =>
    shown.filter((line) => isIn(line) && !groups.slice(0, at).some((before) => before(line))),
  );
  const rows = ordered.map(({ of, name, ok, needed, message }) => {
    const result = ok ? 'ok' : needed ? 'FAILED' : 'not needed';
    return [of, result, name, message];
  });
  if (allowed.length > 0)
    rows.push(['kubernetes', 'ok', 'permissions', `${allowed.length} allowed (-o json lists them)`]);
  return table([['TARGET', 'RESULT', 'CHECK', 'MESSAGE'], ...rows]);
}
