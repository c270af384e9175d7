import { formatDuration } from '../../../common/process/duration.ts';
import { visibleText } from '../../../common/visible-text.ts';
import { isEmptyPlan, type Plan, type PlannedChange } from '../../dry-run/planned-change.ts';
import { table } from '../explain/table.ts';

const marks = { create: '+', update: '~', delete: '-', hold: '!' } as const;

/** The plan as text for people: one line per change, those of one object together, then a summary. */
export function printPlan(plan: Plan): string {
  const groups = new Map<string, PlannedChange[]>();
  for (const change of plan.changes) groups.set(change.object, [...(groups.get(change.object) ?? []), change]);
  const rows = [...groups.values()].flat().map((change) => {
    const { of, object, action, what } = change;
    return [marks[action], object, whenOf(change), what, of];
  });
  const problems = plan.problems.map((problem) => `in doubt: ${visibleText(problem)}\n`).join('');
  const count = (counted: string) => plan.changes.filter(({ action }) => action === counted).length;
  const verdict = isEmptyPlan(plan)
    ? 'Nothing would be changed'
    : `${count('create')} to create, ${count('update')} to update, ${count('delete')} to delete`;
  const held = count('hold') > 0 ? `, ${count('hold')} held back` : '';
  const doubtful = plan.problems.length > 0 ? `, ${plan.problems.length} in doubt` : '';
  const listed = rows.length > 0 ? table([['', 'OBJECT', 'WHEN', 'CHANGE', 'IN'], ...rows]) : '';
  const note = plan.changes.some(({ inMs }) => inMs !== undefined) ? laterNote : '';
  return `${listed}${problems}${note}${verdict}${held}${doubtful}.\n`;
}

const laterNote = '`in ...`: not before, and only if nothing else changes until then.\n';

function whenOf({ action, inMs }: PlannedChange): string {
  if (action === 'hold') return '';
  return inMs === undefined ? 'now' : `in ${formatDuration(inMs)}`;
}
