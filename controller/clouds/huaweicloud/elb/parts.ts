import type { Answer, Change, Found, Kind, PointsAt, ResourceName, WriteIo } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import type { HuaweiClient, ServiceRequest } from '../client.ts';
import type { Json, Shown } from './found.ts';

/** What a Service asks of one resource of ELB, in the wire's fields and only what was chosen. */
export interface PartSpec {
  /** Only for the create. */
  readonly once?: Json;
  /** Another value needs another resource. */
  readonly fixed?: Json;
  readonly fields: Json;
  /** Fields with the id of another resource. */
  readonly links?: Readonly<Record<string, ResourceName>>;
}

export interface PartOptions<B extends Shown> {
  /** Of the API, and where its path ends: `listeners`. */
  readonly collection: string;
  readonly kind: string;
  readonly within: string;
  /** The field with the id of its container. */
  readonly parent: string;
  /** What follows its path in a deletion. */
  readonly deletion?: string;
  read(fields: AnswerFields, key: string, before: Found<B> | undefined): Found<B>;
}

export type Mutating = Pick<WriteIo, 'permit' | 'signal'>;

/** A new resource may be missing in a list for so long. */
export const settleMs = 5000;
export const elbPath = '/v3/{project}/elb';

/** One mutating call to ELB. The answer's resource. */
export async function write(
  client: HuaweiClient,
  collection: string,
  id: string | undefined,
  body: Json,
  { permit, signal }: Mutating,
): Promise<AnswerFields> {
  const path = `${elbPath}/${collection}${id === undefined ? '' : `/${id}`}`;
  const method = id === undefined ? 'POST' : 'PUT';
  const singular = singularOf(collection);
  const request = { service: 'elb', path, method, body: { [singular]: body }, permit, signal } as const;
  return (await client.call(request)).object(singular);
}

/** What a body calls one resource: `listener`. @param path of the collection, or its end alone */
export function singularOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1, -1);
}

/** A deletion; what is gone already is fine. */
export async function erase(client: HuaweiClient, request: Omit<ServiceRequest, 'method'>): Promise<Answer> {
  await client.send({ ...request, method: 'DELETE' });
  return {};
}

/** A part of a load balancer that is no more than its fields. */
export function partKind<B extends Shown>(client: HuaweiClient, options: PartOptions<B>): Kind<PartSpec, B> {
  const { kind, within, parent, collection, deletion = '', read } = options;
  return {
    kind,
    within,
    retryCreate: 'afterSearch',
    settleMs,
    compare({ body }, spec, pointsAt) {
      const other = fixedDifference(body, spec);
      if (other !== undefined) return { replace: other, order: 'deleteFirst' };
      const changes = changesOf(kind, body, spec, pointsAt);
      return changes.length === 0 ? { same: true } : { changes };
    },
    async create({ key, spec: { once, fixed, fields, links = {} } }, _inside, io) {
      const body = { ...once, ...fixed, ...fields, ...linked(links, io), [parent]: io.within };
      const found = read(await write(client, collection, undefined, body, io), key, undefined);
      return { id: found.id, found: [found] };
    },
    async update(found, { body }, io) {
      const { fields, links = {} } = body as PartSpec;
      const answer = await write(client, collection, found.id, { ...fields, ...linked(links, io) }, io);
      return { found: [read(answer, found.key!, found)] };
    },
    remove: ({ id }, { permit, signal }) =>
      erase(client, { service: 'elb', path: `${elbPath}/${collection}/${id}${deletion}`, permit, signal }),
  };
}

/** Each by its id; an IP group is more than that. */
function linked(links: NonNullable<PartSpec['links']>, { idOf }: Pick<WriteIo, 'idOf'>): Json {
  return Object.fromEntries(
    Object.entries(links).map(([field, name]) => [
      field,
      field === 'ipgroup' ? { ipgroup_id: idOf(name), enable_ipgroup: true, type: 'white' } : idOf(name),
    ]),
  );
}

/** What would have to be made again, with both values. */
export function fixedDifference({ wire }: Shown, { fixed = {} }: PartSpec): string | undefined {
  const other = Object.keys(fixed).find((field) => !isShown(wire[field], fixed[field]));
  return other && `${other} ${JSON.stringify(wire[other])} to ${JSON.stringify(fixed[other])}`;
}

/** One call for all fields that differ. */
export function changesOf(kind: string, { name, wire }: Shown, spec: PartSpec, pointsAt: PointsAt): Change[] {
  const { fields, links = {} } = spec;
  const differing = Object.entries(fields).filter(([field, value]) => !isShown(wire[field], value));
  const others = Object.entries(links).filter(
    ([field, link]) => !pointsAt(field).includes(link) || (field === 'ipgroup' && !isOn(wire['ipgroup'])),
  );
  if (differing.length + others.length === 0) return [];
  const said = [...differing.map(([field, value]) => `${field} ${JSON.stringify(value)}`), ...others.flat()];
  const body: PartSpec = { fields: Object.fromEntries(differing), links: Object.fromEntries(others) };
  return [{ what: 'set', phase: 'set', summary: `${kind} ${name}: ${said.join(', ')}`, body }];
}

/** Those in the group may connect: of the other type they are those that may not. */
function isOn(group: unknown): boolean {
  const { enable_ipgroup: isUsed, type } = (group ?? {}) as {
    readonly enable_ipgroup?: boolean;
    readonly type?: string;
  };
  return isUsed !== false && type !== 'black';
}

/** Only what was chosen is compared; nothing, an empty text and what is missing are one. */
function isShown(there: unknown, chosen: unknown): boolean {
  if (chosen === undefined) return true;
  if (chosen === null || chosen === '') return there === undefined || there === null || there === '';
  if (Array.isArray(chosen)) return JSON.stringify([...chosen].sort()) === JSON.stringify([...asList(there)].sort());
  if (typeof chosen !== 'object') return there === chosen;
  if (typeof there !== 'object' || there === null) return false;
  return Object.entries(chosen).every(([name, value]) => isShown((there as Json)[name], value));
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
