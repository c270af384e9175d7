import { isEmptyPlan, type Plan } from '../../dry-run/planned-change.ts';
import { table } from '../explain/table.ts';

const marks = { create: '+', update: '~', delete: '-', hold: '!' } as const;

/** The plan as text for people: one line per change, then a summary. */
export function printPlan(plan: Plan): string {
  const rows = plan.changes.map(({ of, object, action, what }) => [marks[action], object, what, of]);
  const problems = plan.problems.map((problem) => `in doubt: ${problem}\n`).join('');
  const count = (counted: string) => plan.changes.filter(({ action }) => action === counted).length;
  const verdict = isEmptyPlan(plan)
    ? 'Nothing would be changed'
    : `${count('create')} to create, ${count('update')} to update, ${count('delete')} to delete`;
  const held = count('hold') > 0 ? `, ${count('hold')} held back` : '';
  const doubtful = plan.problems.length > 0 ? `, ${plan.problems.length} in doubt` : '';
  const listed = rows.length > 0 ? table([['', 'OBJECT', 'CHANGE', 'IN'], ...rows]) : '';
  return `${listed}${problems}${verdict}${held}${doubtful}.\n`;
}
