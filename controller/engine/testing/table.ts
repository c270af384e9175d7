import type {
  Answer,
  Change,
  Comparison,
  Found,
  Kind,
  PointsAt,
  Reader,
  ResourceName,
  Want,
  WriteIo,
} from '../resource.ts';
import { everyService, nameOf } from '../resource.ts';
import type { Body, FakeCloud, NewThing, Thing } from './fake-cloud.ts';

/** The spec of a resource in these tests. */
export interface Spec {
  /** Fixed at creation: another value needs a replacement. */
  readonly fixed?: string;
  /** Each field is a change; lists grow and shrink. */
  readonly body: Body;
  /** By role. */
  readonly refs?: Readonly<Record<string, ResourceName>>;
}

export interface TableOptions {
  readonly kind: string;
  readonly within?: string;
  readonly inline?: boolean;
  readonly locks?: boolean;
  readonly retryCreate?: 'atOnce' | 'afterSearch';
  readonly settleMs?: number;
  readonly order?: 'createFirst' | 'deleteFirst';
  /** Answers show the resource in its new state. Default true. */
  readonly answers?: boolean;
  readonly loose?: boolean;
  readonly hasAddress?: boolean;
  readonly isMarkable?: boolean;
}

export function foundOf(cloud: FakeCloud, thing: Thing): Found<Thing> {
  const isPending = cloud.isPending(thing.id);
  return {
    kind: thing.kind,
    id: thing.id,
    key: thing.key,
    status: isPending ? 'pending' : (thing.status ?? 'ready'),
    slots: thing.slots,
    refs: thing.refs,
    body: thing,
    ...(isPending && { operation: cloud.operationOf(thing.id)! }),
    ...(thing.owner !== undefined && { owner: thing.owner }),
    ...(thing.within !== undefined && { within: thing.within }),
    ...(thing.address !== undefined && { address: thing.address }),
    ...(thing.consent && { consent: true }),
    ...(thing.retained && { retained: true }),
  };
}

const isList = (value: unknown): value is readonly string[] => Array.isArray(value);

export function compareThing(
  found: Found<Thing>,
  spec: Spec,
  pointsAt: PointsAt,
  order: 'createFirst' | 'deleteFirst',
): Comparison {
  const { body } = found.body;
  if (spec.fixed !== undefined && spec.fixed !== body['fixed'])
    return { replace: `${body['fixed']} to ${spec.fixed}`, order };
  const changes: Change[] = [];
  for (const [field, value] of Object.entries(spec.body)) {
    const now = body[field];
    const summary = `${field} of ${found.kind} ${found.key}`;
    if (isList(value) && isList(now)) {
      const added = value.filter((one) => !now.includes(one));
      const gone = now.filter((one) => !value.includes(one));
      if (added.length > 0) changes.push({ what: `more ${field}`, summary, phase: 'grow', body: { field, added } });
      const makesRoom = gone.length < now.length && { makesRoom: true as const };
      if (gone.length > 0)
        changes.push({ what: `less ${field}`, summary, phase: 'shrink', body: { field, gone }, ...makesRoom });
    } else if (String(now) !== String(value))
      changes.push({ what: field, summary, phase: 'set', body: { field, value } });
  }
  for (const [role, name] of Object.entries(spec.refs ?? {}))
    if (pointsAt(role).join() !== name)
      changes.push({ what: role, summary: `${role} of ${found.key}`, phase: 'set', body: { role, name } });
  return changes.length === 0 ? { same: true } : { changes };
}

/** A kind of the fake cloud, from a few options. */
export function tableKind(cloud: FakeCloud, options: TableOptions): Kind<Spec, Thing> {
  const { kind, order = 'deleteFirst', answers = true, settleMs = 0 } = options;
  function refsOf(refs: Spec['refs'], idOf: (name: ResourceName) => string) {
    return Object.entries(refs ?? {}).map(([role, name]) => ({
      role,
      kind: name.slice(0, name.indexOf('/')),
      id: idOf(name),
      ...(options.loose && { loose: true as const }),
    }));
  }
  function thingOf(want: Want<Spec>, io: Pick<WriteIo, 'idOf' | 'within'> & { owner: NewThing['owner'] }): NewThing {
    const { fixed, body } = want.spec;
    const slot = want.slot?.replace('{within}', io.within ?? '{within}');
    return {
      kind: want.kind,
      key: want.key,
      owner: options.within === undefined ? io.owner : undefined,
      within: io.within,
      slots: slot === undefined ? [] : [slot],
      refs: refsOf(want.spec.refs, io.idOf),
      body: { ...body, ...(fixed !== undefined && { fixed }) },
      ...(options.hasAddress && { address: `address of ${want.key}` }),
    };
  }
  const answerOf = (thing: Thing, operation: string | undefined): Answer => ({
    id: thing.id,
    ...(answers && { found: [foundOf(cloud, thing)] }),
    ...(operation !== undefined && { operation }),
  });
  return {
    kind,
    ...(options.within !== undefined && { within: options.within }),
    ...(options.inline && { inline: true }),
    ...(options.locks && { locks: true }),
    retryCreate: options.retryCreate ?? 'atOnce',
    settleMs,
    compare: (found, spec, pointsAt) => compareThing(found, spec, pointsAt, order),
    async create(want, inside, io) {
      // Inside one request, parts point at each other by name.
      const names = new Set(inside.map(nameOf));
      const idOf = (name: ResourceName) => (names.has(name) || name === nameOf(want) ? name : io.idOf(name));
      const parts = inside.map((part) => ({
        ...thingOf(part as Want<Spec>, { owner: undefined, idOf, within: undefined }),
        owner: undefined,
      }));
      io.permit(1000);
      const { made, operation } = await cloud.create(thingOf(want, io), parts);
      return answerOf(made, operation);
    },
    async update(found, { body }, io) {
      const change = body as {
        field?: string;
        value?: string;
        added?: string[];
        gone?: string[];
        role?: string;
        name?: string;
      };
      const { body: now, refs } = found.body;
      const list = (now[change.field ?? ''] ?? []) as readonly string[];
      io.permit(1000);
      const patch =
        change.role !== undefined
          ? {
              refs: [
                ...refs.filter(({ role }) => role !== change.role),
                ...refsOf({ [change.role]: change.name! }, io.idOf),
              ],
            }
          : change.value !== undefined
            ? { body: { ...now, [change.field!]: change.value } }
            : {
                body: {
                  ...now,
                  [change.field!]: [...list.filter((one) => !change.gone?.includes(one)), ...(change.added ?? [])],
                },
              };
      const answer = await cloud.update(found.id, patch);
      return answerOf(answer.now, answer.operation);
    },
    async remove(found, io) {
      io.permit(1000);
      const { operation } = await cloud.remove(found.id);
      return operation === undefined ? {} : { operation };
    },
    ...(options.isMarkable && {
      async mark(found: Found<Thing>, as: 'ours' | 'retained', _: Want<Spec> | undefined, io: WriteIo) {
        io.permit(1000);
        const patch = as === 'ours' ? { owner: io.owner } : { owner: undefined, retained: true };
        const { now, operation } = await cloud.update(found.id, patch);
        return answerOf(now, operation);
      },
    }),
  };
}

/** Lists show what is marked for this cluster, and its parts; a search shows what holds a slot, too. */
export function tableReader(cloud: FakeCloud, kinds: readonly string[], cluster: string): Reader {
  const withParts = (list: readonly Thing[], is: (one: Thing) => boolean) => {
    const roots = new Set(list.filter((one) => kinds.includes(one.kind) && is(one)).map(({ id }) => id));
    return list.filter((one) => roots.has(one.id) || (one.within !== undefined && roots.has(one.within)));
  };
  return {
    kinds,
    async all() {
      await cloud.list();
      return withParts(cloud.listed(), ({ owner }) => owner?.cluster === cluster).map((one) => foundOf(cloud, one));
    },
    async of({ owner, ids, slots, search }) {
      const byId = ids.filter(({ kind }) => kinds.includes(kind));
      await Promise.all(byId.map(({ id }) => cloud.read(id)));
      const seen = new Map<string, Thing>();
      if (search) {
        await cloud.list();
        const isNear = (one: Thing) =>
          (one.owner?.cluster === cluster && [owner.service, everyService].includes(one.owner.service)) ||
          one.slots.some((slot) => slots.includes(slot));
        for (const one of withParts(cloud.listed(), isNear)) seen.set(one.id, one);
      }
      // Reads by id do not lag.
      const read = new Set(byId.map(({ id }) => id));
      for (const one of withParts([...cloud.things.values()], ({ id }) => read.has(id))) seen.set(one.id, one);
      for (const id of read) if (!cloud.things.has(id)) seen.delete(id);
      return { found: [...seen.values()].map((one) => foundOf(cloud, one)) };
    },
  };
}
