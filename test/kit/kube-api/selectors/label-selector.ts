import { badRequest } from '../api-error.ts';

interface Requirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'missing' | 'gt' | 'lt';
  readonly values: readonly string[];
}

export type Labels = { readonly [key: string]: unknown };
/** Undefined = everything matches. */
export type LabelSelector = ((labels: Labels) => boolean) | undefined;

const setPattern = /^\s*([^\s!=,()]+)\s+(in|notin)\s*\(([^)]*)\)\s*/;
const simplePattern = /^\s*(!?)\s*([^\s!=<>,()]+)\s*(?:(==|=|!=|>|<)\s*([^\s,()=!<>]*))?\s*/;
const keyPattern = /^([a-z0-9A-Z]([-a-z0-9A-Z.]*[a-z0-9A-Z])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const valuePattern = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** Parses `a=b,c in (d,e),!f`. Throws 400 for what the server would refuse. */
export function parseLabelSelector(text: string): LabelSelector {
  const requirements: Requirement[] = [];
  let rest = text.trim();
  while (rest !== '') {
    const { requirement, length } = parseOne(rest);
    requirements.push(requirement);
    rest = rest.slice(length);
    if (rest === '') break;
    if (!rest.startsWith(',')) {
      const operators = 'in, notin, =, ==, !=, gt, lt';
      throw requirement.operator === 'exists'
        ? unparsable(`unable to parse requirement: found '${rest.split(/[\s,(]/)[0]}', expected: ${operators}`)
        : unparsable(`found '${rest.charAt(0)}', expected: ',' or 'end of string'`);
    }
    rest = rest.slice(1).trimStart();
    if (rest === '') throw unparsable(`found '', expected: identifier after ','`);
  }
  if (requirements.length === 0) return undefined;
  return (labels) => requirements.every((requirement) => matches(requirement, labels));
}

function unparsable(why: string) {
  return badRequest(why);
}

function parseOne(rest: string): { requirement: Requirement; length: number } {
  const set = setPattern.exec(rest);
  if (set) {
    const [all, key = '', operator = '', values = ''] = set;
    const list = values.split(',').map((value) => value.trim());
    return { requirement: check({ key, operator: operator as 'in' | 'notin', values: list }), length: all.length };
  }
  if (/^\s*[^\s!=,()]+\s+(in|notin)\s*\(/.test(rest)) {
    throw unparsable("unable to parse requirement: found '', expected: ',', ')' or identifier");
  }
  const simple = simplePattern.exec(rest);
  if (!simple) throw unparsable(`found '${rest.charAt(0)}', expected: !, identifier, or 'end of string'`);
  const [all, not, key = '', operator, value = ''] = simple;
  if (not === '!' && operator !== undefined) throw unparsable(`found '${operator}', expected: ',' or 'end of string'`);
  if (operator === undefined) {
    return {
      requirement: check({ key, operator: not === '!' ? 'missing' : 'exists', values: [] }),
      length: all.length,
    };
  }
  const kinds = { '=': 'in', '==': 'in', '!=': 'notin', '>': 'gt', '<': 'lt' } as const;
  const requirement = check({ key, operator: kinds[operator as keyof typeof kinds], values: [value] });
  return { requirement, length: all.length };
}

function check(requirement: Requirement): Requirement {
  if (!keyPattern.test(requirement.key)) {
    throw badRequest(
      `unable to parse requirement: <nil>: Invalid value: "${requirement.key}": name part must consist of ` +
        "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
        "'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
        "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    );
  }
  for (const value of requirement.values) {
    if (!valuePattern.test(value)) {
      throw badRequest(
        `unable to parse requirement: values[0][${requirement.key}]: Invalid value: "${value}": a valid label must ` +
          "be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with " +
          "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
          "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
      );
    }
  }
  return requirement;
}

function matches({ key, operator, values }: Requirement, labels: Labels): boolean {
  const value = labels[key];
  switch (operator) {
    case 'in':
      return typeof value === 'string' && values.includes(value);
    case 'notin':
      return typeof value !== 'string' || !values.includes(value);
    case 'exists':
      return value !== undefined;
    case 'missing':
      return value === undefined;
    case 'gt':
      return typeof value === 'string' && Number(value) > Number(values[0]);
    case 'lt':
      return typeof value === 'string' && Number(value) < Number(values[0]);
  }
}
