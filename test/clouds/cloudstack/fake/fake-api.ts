import { readFileSync } from 'node:fs';
import type { FakeAnswer, Json } from '../../fake-http.ts';
import type { Command } from './fake-account.ts';

interface ApiCommand {
  readonly isAsync: boolean;
  /** Type by name, with `!` where it is required. */
  readonly params: Readonly<Record<string, string>>;
  /** Fields of its answer. */
  readonly answers: readonly string[];
}

/** Commands as the vendor's API description has them; `schema.suite.ts` holds this extract against the whole. */
export const apiCommands: Readonly<Record<string, ApiCommand>> = JSON.parse(
  readFileSync(new URL('commands.json', import.meta.url), 'utf8'),
);

/** An error answer of the API. */
export class FakeRefusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }

  body(): Json {
    return {
      uuidList: [],
      errorcode: this.code,
      cserrorcode: this.code === 431 ? 4350 : 9999,
      errortext: this.message,
    };
  }
}

export const invalid = (message: string) => new FakeRefusal(431, message);

/** What the API says of an id of nothing. */
export function noEntity(command: string, parameter: string, value: string): FakeRefusal {
  return invalid(
    `Unable to execute API command ${command.toLowerCase()} due to invalid value. Invalid parameter ${parameter} ` +
      `value=${value} due to incorrect long value format, or entity does not exist or due to incorrect parameter ` +
      'annotation for the field in api cmd class.',
  );
}

const always = new Set(['command', 'apikey', 'response', 'signatureversion', 'expires', 'signature']);
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const types: Readonly<Record<string, RegExp>> = {
  uuid,
  integer: /^-?\d+$/,
  boolean: /^(true|false)$/i,
  list: /^[^,]+(,[^,]+)*$/,
};

/** Refuses what the API description does not have. */
export function validate({ name, params }: Command): void {
  const command = apiCommands[name];
  if (command === undefined)
    throw new FakeRefusal(432, `The given command '${name}' either does not exist, is not available for user`);
  for (const [param, value] of params) {
    if (always.has(param.toLowerCase())) continue;
    // Of a map: `tags[0].key`.
    const [, base = param, index] = /^(\w+)(\[\d+\]\.\w+)?$/.exec(param) ?? [];
    const type = command.params[base]?.replace('!', '');
    if (type === undefined) throw invalid(`${name} takes no parameter ${param}`);
    if ((type === 'map') !== (index !== undefined)) throw invalid(`${name}: ${param} is no ${type}`);
    if (type === 'uuid' && !uuid.test(value)) throw noEntity(name, param, value);
    if (types[type]?.test(value) === false) throw invalid(`${name}: ${param}=${value} is no ${type}`);
  }
  for (const [param, type] of Object.entries(command.params)) {
    const isThere = params.has(param) || [...params.keys()].some((one) => one.startsWith(`${param}[`));
    if (type.endsWith('!') && !isThere)
      throw invalid(`Unable to execute API command ${name} due to missing parameter ${param}`);
  }
}

/** A page of a collection, as lists answer it: empty ones have neither count nor items. */
export function pageOf(collection: string, all: readonly Json[], { params }: Command): Json {
  const [page, size] = [Number(params.get('page') ?? 1), Number(params.get('pagesize') ?? 500)];
  if (size > 500) throw invalid(`Page size can not exceed max allowed page size 500`);
  const items = all.slice((page - 1) * size, page * size);
  return items.length === 0 ? {} : { count: all.length, [collection]: items };
}

export function answerOf(name: string, status: number, body: Json): FakeAnswer {
  return { status, body: { [`${name.toLowerCase()}response`]: body } };
}

export function tagsIn(command: Command): Record<string, string> {
  return pairsIn(command, 'tags', 'key');
}

/** Of a map: `tags[0].key`, `tags[0].value`. */
export function pairsIn({ params }: Command, map: string, key: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (let at = 0; params.has(`${map}[${at}].${key}`); at += 1)
    pairs[params.get(`${map}[${at}].${key}`)!] = params.get(`${map}[${at}].value`) ?? '';
  return pairs;
}
