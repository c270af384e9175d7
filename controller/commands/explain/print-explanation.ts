import type { ServiceExplanation } from './explain-service.ts';
import type { Explanation } from './explanation.ts';
import { table } from './table.ts';

/** The explanation as text for people. */
export function printExplanation(explanation: Explanation | ServiceExplanation): string {
  const head: string[][] = [
    'node' in explanation ? ['NODE', explanation.node] : ['SERVICE', explanation.service],
    ['STATE', explanation.reason === '' ? explanation.state : `${explanation.state} (${explanation.reason})`],
    ['WHY', explanation.why],
  ];
  if (explanation.remedy !== '') head.push(['TRY', explanation.remedy]);
  const facts = Object.values(explanation.facts).map(({ label, text }) => [`  ${label}`, text]);
  const events = explanation.events.map(({ time, type, reason, message }) => [`  ${time}`, type, reason, message]);
  return `${table(head)}\nFACTS\n${table(facts)}${events.length > 0 ? `\nEVENTS\n${table(events)}` : ''}`;
}

/** The explanation for programs: the facts are values. */
export function explanationJson(explanation: Explanation | ServiceExplanation): object {
  const facts = Object.entries(explanation.facts).map(([key, { value }]) => [key, value]);
  return { ...explanation, facts: Object.fromEntries(facts) };
}
