import { CloudError } from '../../common/cloud-error.ts';

/** The origin of a value, for errors. */
export interface AnswerPlace {
  /** The cloud's name in `--cloud-provider`. */
  readonly cloud: string;
  /** The call whose answer it is. */
  readonly operation: string;
  /** From there to the value: `server.private_net`. Default `answer`. */
  readonly path?: string;
  /** It holds secrets: errors show no value. */
  readonly secret?: boolean;
}

/**
 * The JSON of an answer.
 *
 * @throws CloudError `Unavailable` where it is none: a cut body and a proxy's page look alike
 */
export function parseAnswer(text: string, { cloud, operation }: Pick<AnswerPlace, 'cloud' | 'operation'>): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const message = 'the answer is not JSON, or not all of it';
    throw new CloudError({ kind: 'Unavailable', cloud, operation, message });
  }
}

/**
 * Reads one JSON object of an answer. Each throws a CloudError `Invalid` that names the field, what it holds and what
 * was expected.
 */
export interface AnswerFields {
  /** Not empty. */
  text(name: string): string;
  /** Undefined for null, for an empty text and for a field that is missing. */
  optionalText(name: string): string | undefined;
  number(name: string): number;
  /** Undefined for null and for a field that is missing. */
  optionalNumber(name: string): number | undefined;
  /** The number as text, as paths and our own types have it. */
  id(name: string): string;
  flag(name: string): boolean;
  /** Undefined for null and for a field that is missing. */
  optionalFlag(name: string): boolean | undefined;
  object(name: string): AnswerFields;
  /** Undefined for null and for a field that is missing. */
  optionalObject(name: string): AnswerFields | undefined;
  objects(name: string): AnswerFields[];
  /** None for null and for a field that is missing. */
  optionalObjects(name: string): AnswerFields[];
  texts(name: string): string[];
  /** Texts by name: labels, tags. Nothing for null and for a field that is missing. */
  labels(name: string): Readonly<Record<string, string>>;
  /** The error for a value that is wrong in another way. */
  wrong(name: string, expected: string): CloudError;
  /** The object as it is. */
  json(): Readonly<Record<string, unknown>>;
}

/** @throws CloudError where the value is no object */
export function answerFields(
  value: unknown,
  { cloud, operation, path = 'answer', secret = false }: AnswerPlace,
): AnswerFields {
  const wrong = (name: string, found: unknown, expected: string) => {
    const value = () => (secret ? 'a wrong value (not shown)' : (JSON.stringify(found)?.slice(0, 80) ?? String(found)));
    const shown = found === undefined ? 'missing' : value();
    const message = `${path}${name === '' ? '' : `.${name}`}: ${shown}, expected ${expected}`;
    return new CloudError({ kind: 'Invalid', cloud, operation, message });
  };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong('', value, 'an object');
  const fields = value as Readonly<Record<string, unknown>>;
  const below = (name: string, one: unknown) =>
    answerFields(one, { cloud, operation, path: `${path}.${name}`, secret });

  function optionalText(name: string): string | undefined {
    const found = fields[name] ?? '';
    if (typeof found !== 'string') throw wrong(name, found, 'a text');
    return found === '' ? undefined : found;
  }
  function number(name: string): number {
    const found = fields[name];
    if (typeof found !== 'number' || !Number.isFinite(found)) throw wrong(name, found, 'a number');
    return found;
  }
  function list(name: string): readonly unknown[] {
    const found = fields[name];
    if (!Array.isArray(found)) throw wrong(name, found, 'a list');
    return found;
  }

  function flag(name: string): boolean {
    const found = fields[name];
    if (typeof found !== 'boolean') throw wrong(name, found, 'true or false');
    return found;
  }
  const objects = (name: string) => list(name).map((one) => below(name, one));

  return {
    optionalText,
    text(name) {
      const found = optionalText(name);
      if (found === undefined) throw wrong(name, fields[name], 'a text');
      return found;
    },
    number,
    optionalNumber: (name) => (fields[name] == null ? undefined : number(name)),
    id: (name) => String(number(name)),
    flag,
    optionalFlag: (name) => (fields[name] == null ? undefined : flag(name)),
    object: (name) => below(name, fields[name]),
    optionalObject: (name) => (fields[name] == null ? undefined : below(name, fields[name])),
    objects,
    optionalObjects: (name) => (fields[name] == null ? [] : objects(name)),
    texts: (name) =>
      list(name).map((one) => {
        if (typeof one !== 'string') throw wrong(name, one, 'a list of texts');
        return one;
      }),
    labels(name) {
      const labels = fields[name] ?? {};
      if (typeof labels === 'object' && Object.values(labels).every((one) => typeof one === 'string'))
        return labels as Readonly<Record<string, string>>;
      throw wrong(name, labels, 'an object of texts');
    },
    wrong: (name, expected) => wrong(name, fields[name], expected),
    json: () => fields,
  };
}
