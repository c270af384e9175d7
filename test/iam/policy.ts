/** A policy document of IAM, as far as the shipped one goes. */
export interface Policy {
  readonly Statement: readonly Statement[];
}

interface Statement {
  readonly Sid?: string;
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

/**
 * One evaluation of the caller's policies by AWS. A call with several resources, or with tags for a new one, has
 * several.
 */
export interface AccessRequest {
  /** `ec2:DescribeInstances` */
  readonly action: string;
  /** ARN; `*` where the action is about no resource of its own. */
  readonly resource: string;
  /** Condition keys that this request has. */
  readonly context: Readonly<Record<string, string | readonly string[]>>;
}

/**
 * Whether a policy allows a request: some statement allows it, and none denies it.
 *
 * @throws Error for an element or an operator that is not known here: nothing is guessed
 */
export function allows({ Statement }: Policy, request: AccessRequest): boolean {
  const matching = Statement.filter((statement) => applies(statement, request));
  return matching.some(({ Effect }) => Effect === 'Allow') && matching.every(({ Effect }) => Effect === 'Allow');
}

const elements: ReadonlySet<string> = new Set(['Sid', 'Effect', 'Action', 'Resource', 'Condition']);

function applies(statement: Statement, request: AccessRequest): boolean {
  const unknown = Object.keys(statement).find((key) => !elements.has(key));
  if (unknown !== undefined) throw new Error(`statement ${statement.Sid}: ${unknown} is not known here`);
  const isMeant = list(statement.Action).some((action) => like(action.toLowerCase(), request.action.toLowerCase()));
  if (!isMeant || !list(statement.Resource).some((resource) => like(resource, request.resource))) return false;
  return Object.entries(statement.Condition ?? {}).every(([operator, keys]) =>
    Object.entries(keys).every(([key, expected]) => holds(operator, list(expected), conditionValue(request, key))),
  );
}

/** Condition keys do not depend on case, but for the key of a tag within them. */
function conditionValue({ context }: AccessRequest, key: string): readonly string[] | undefined {
  const slash = key.indexOf('/');
  const spelled = (text: string) =>
    slash < 0 ? text.toLowerCase() : text.slice(0, slash).toLowerCase() + text.slice(slash);
  const found = Object.entries(context).find(([one]) => spelled(one) === spelled(key));
  return found && list(found[1]);
}

function holds(operator: string, expected: readonly string[], value: readonly string[] | undefined): boolean {
  switch (operator) {
    case 'StringEquals':
      return single(value) !== undefined && expected.includes(single(value)!);
    case 'StringEqualsIgnoreCase':
      return single(value) !== undefined && expected.some((one) => one.toLowerCase() === single(value)!.toLowerCase());
    case 'Null':
      return expected.every((one) => (one === 'true') === (value === undefined));
    // Also where the request has no such key.
    case 'ForAllValues:StringLike':
      return (value ?? []).every((one) => expected.some((pattern) => like(pattern, one)));
    case 'ForAllValues:StringNotLike':
      return (value ?? []).every((one) => expected.every((pattern) => !like(pattern, one)));
    default:
      throw new Error(`operator ${operator} is not known here`);
  }
}

function single(value: readonly string[] | undefined): string | undefined {
  if (value !== undefined && value.length !== 1) throw new Error(`${JSON.stringify(value)}: expected one value`);
  return value?.[0];
}

function list(value: string | readonly string[]): readonly string[] {
  return typeof value === 'string' ? [value] : value;
}

function like(pattern: string, text: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('\\?', '.'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(text);
}
