import type { LoadBalancerDriver } from '../../../controller/clouds/load-balancer-driver.ts';
import {
  type Answer,
  type Comparison,
  type Found,
  identityOf,
  type Kind,
  nameOf,
  type Reader,
  type ResourceName,
  type Want,
} from '../../../controller/engine/resource.ts';
import { Crash } from './drive.ts';
import type { WrapDriver } from './world.ts';

/** One call that created something, and everything that it was to create. */
export interface Creation {
  readonly kind: string;
  readonly wants: readonly Want[];
}

export interface Compared {
  readonly found: Found;
  readonly result: Comparison;
  /** What the driver says a create leaves to be changed; undefined where it says nothing. */
  readonly left: Comparison | undefined;
}

/** What went through the kinds of a driver. */
export interface Recording {
  readonly wrap: WrapDriver;
  readonly creations: readonly Creation[];
  /** The last comparison of each name. */
  readonly compared: ReadonlyMap<ResourceName, Compared>;
  /** Whether the process has died. */
  readonly isDead: boolean;
}

/** @param stopAfter the process dies when so many creates have been answered */
export function recordDriver(stopAfter = Number.POSITIVE_INFINITY): Recording {
  const creations: Creation[] = [];
  const compared = new Map<ResourceName, Compared>();
  let isDead = false;

  async function create(kind: string, wants: readonly Want[], send: () => Promise<Answer>): Promise<Answer> {
    if (isDead) throw new Crash();
    const answer = await send();
    creations.push({ kind, wants });
    if (creations.length < stopAfter) return answer;
    isDead = true;
    throw new Crash();
  }
  function record(kind: Kind): Kind {
    return {
      ...kind,
      compare(found, spec, pointsAt) {
        const result = kind.compare(found, spec, pointsAt);
        const want: Want = { kind: kind.kind, key: found.key ?? '', spec, summary: '' };
        const fresh = spec === undefined ? undefined : kind.fresh?.(want);
        const made: Found | undefined = fresh && {
          kind: kind.kind,
          id: '',
          key: found.key ?? '',
          status: 'ready',
          body: fresh.body,
        };
        const left = made && kind.compare(made, spec, (role) => fresh?.points?.[role] ?? []);
        compared.set(nameOf(found), { found, result, left });
        return result;
      },
      ...(kind.create && {
        create: (want: Want, inside: readonly Want[], io) =>
          create(kind.kind, [want, ...inside], () => kind.create!(want, inside, io)),
      }),
      ...(kind.createMany && {
        createMany: (wants, io) =>
          create(
            kind.kind,
            wants.map(({ want }) => want),
            () => kind.createMany!(wants, io),
          ),
      }),
    } satisfies Kind;
  }
  return {
    creations,
    compared,
    get isDead() {
      return isDead;
    },
    wrap: (driver) => ({ ...driver, kinds: driver.kinds.map(record) }),
  };
}

/** The driver of a client that `open` makes. Throws where the world does not give it. */
export async function driverOf(open: (wrap: WrapDriver) => Promise<unknown>): Promise<LoadBalancerDriver> {
  let caught: LoadBalancerDriver | undefined;
  await open((driver) => {
    caught = driver;
    return driver;
  });
  if (caught === undefined)
    throw new Error('the world opens load balancers and does not call `wrap` with their driver');
  return caught;
}

/** Everything that the lists of a driver show now. */
export async function listAll(
  { readers, documents = [] }: LoadBalancerDriver,
  cluster: string,
): Promise<readonly Found[]> {
  const lists = await Promise.all(
    readers.map(async ({ all, detail }) => {
      const list = await all(cluster, {});
      const ours = list.filter(({ owner }) => owner?.cluster === cluster);
      const details = [detail ?? []].flat();
      const due = details.flatMap((one) =>
        ours.flatMap((found) => (found.kind === one.kind ? one.read(found, {}) : [])),
      );
      return [list, ...(await Promise.all(due))].flat();
    }),
  );
  const written = await Promise.all(
    documents.map(async (type) => {
      const all = await type.all(cluster, {});
      return () => all.flatMap(({ name, doc }) => type.parse(name, doc, cluster));
    }),
  );
  // A document may tell whose the parts of another one are.
  return [...lists, ...written.map((parse) => parse())].flat();
}

/**
 * Lists and searches of a fresh process show once what they showed before: that much the kinds say that they may be
 * late. Reads by id are never late.
 */
export function lagBehind(before: readonly Found[]): WrapDriver {
  const shown = new Set(before.map(identityOf));
  return (driver) => {
    const late = new Set(driver.kinds.flatMap(({ kind, settleMs = 0 }) => (settleMs > 0 ? [kind] : [])));
    return {
      ...driver,
      readers: driver.readers.map((reader): Reader => {
        let isLate = true;
        return {
          ...reader,
          async all(cluster, io) {
            const now = await reader.all(cluster, io);
            if (!isLate) return now;
            isLate = false;
            const then = before.filter(({ kind }) => reader.kinds.includes(kind) && late.has(kind));
            return [...now.filter(({ kind }) => !late.has(kind)), ...then];
          },
          async of(query, io) {
            const reading = await reader.of(query, io);
            if (!isLate || reading.isFresh) return reading;
            const asked = new Set(query.ids.map(identityOf));
            const isShown = (one: Found) =>
              !late.has(one.kind) || asked.has(identityOf(one)) || shown.has(identityOf(one));
            return { ...reading, found: reading.found.filter(isShown) };
          },
        };
      }),
    };
  };
}

/** The cloud with what the suite puts around its driver. For worlds. */
export function withDriver<C extends { readonly loadBalancerDriver?: LoadBalancerDriver | undefined }>(
  cloud: C,
  wrap: WrapDriver | undefined,
): C {
  const { loadBalancerDriver: driver } = cloud;
  return driver === undefined || wrap === undefined ? cloud : { ...cloud, loadBalancerDriver: wrap(driver) };
}
