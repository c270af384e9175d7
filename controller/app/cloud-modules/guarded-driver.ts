import type { CloudErrorKind } from '../../../common/cloud-error.ts';
import type { LoadBalancerDriver } from '../../clouds/load-balancer-driver.ts';
import type { DocumentType } from '../../engine/driver.ts';
import type { Answer, Detail, Found, Kind, Reader, ReadIo, WriteIo } from '../../engine/resource.ts';
import type { CallGuard } from './call-guard.ts';

type Fields = Readonly<Record<string, unknown>>;
type Methods = Readonly<Record<string, (...args: never[]) => unknown>>;
/** What was expected of an answer; undefined when it is valid. */
type Expectation = (answer: unknown) => string | undefined;

const statuses: ReadonlySet<unknown> = new Set<Found['status']>(['ready', 'pending', 'failed', 'deleting']);
const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null;
const isText = (value: unknown) => typeof value === 'string' && value !== '';

const anything: Expectation = () => undefined;
const ofObject: Expectation = (value) => (isObject(value) ? undefined : 'an object');
const ofList: Expectation = (value) => (Array.isArray(value) ? undefined : 'a list');
const ofMap: Expectation = (value) => (value instanceof Map ? undefined : 'a Map');
const ofFound: Expectation = (value) => {
  const isFound = (one: unknown) =>
    isObject(one) && isText(one['kind']) && isText(one['id']) && statuses.has(one['status']);
  return Array.isArray(value) && value.every(isFound) ? undefined : 'a list of resources with kind, id and status';
};
const ofReading: Expectation = (value) => (isObject(value) ? ofFound(value['found']) : 'an object with found');
const ofAnswer: Expectation = (value) => {
  if (!isObject(value)) return 'an answer';
  return value['found'] === undefined ? undefined : ofFound(value['found']);
};
const ofShown: Expectation = (value) =>
  isObject(value) && typeof value['name'] === 'string' && Array.isArray(value['ingress'])
    ? undefined
    : 'an object with name and ingress';
const ofDesire: Expectation = (value) =>
  isObject(value) && Array.isArray(value['wants']) && Array.isArray(value['refusals'])
    ? undefined
    : 'an object with wants and refusals';
const ofComparison: Expectation = (value) =>
  isObject(value) && (value['same'] === true || Array.isArray(value['changes']) || isText(value['replace']))
    ? undefined
    : 'same, changes or replace';

/** Pure functions of each part, and what they answer. */
const pure = {
  driver: { desire: ofDesire, slots: ofList, show: ofShown, members: ofList, adopts: anything, nodeLabels: ofList },
  kind: {
    ...{ compare: ofComparison, alone: anything, merge: anything, fresh: anything, lane: isTextOr('a name') },
    ...{ heldBy: anything, usedBy: anything },
  },
  document: { name: isTextOr('a name'), parse: ofFound, basis: anything, fold: anything },
} as const;
const writes: Readonly<Record<string, Expectation>> = Object.fromEntries(
  ['create', 'update', 'remove', 'createMany', 'removeMany', 'mark'].map((name) => [name, ofAnswer]),
);

function isTextOr(expected: string): Expectation {
  return (value) => (isText(value) ? undefined : expected);
}

/**
 * The driver of a module behind the guard: no call lasts for ever, and no foreign error and no answer of another shape
 * reaches the engine.
 *
 * @throws Error where a part of the driver is missing
 */
export function guardDriver(driver: LoadBalancerDriver, guard: CallGuard): LoadBalancerDriver {
  for (const list of ['kinds', 'readers', 'documents', 'annotations'] as const)
    if (!Array.isArray(driver[list])) throw new Error(`loadBalancerDriver.${list}: expected a list`);

  function checked<T>(operation: string, answer: T, expectation: Expectation, kind?: CloudErrorKind): T {
    const expected = expectation(answer);
    if (expected === undefined) return answer;
    const shown = answer === undefined ? 'nothing' : (JSON.stringify(answer)?.slice(0, 80) ?? typeof answer);
    throw guard.fault(operation, `it answered ${shown}, expected ${expected}`, kind);
  }

  /** The methods of `object` that `expectations` names, each behind the guard. */
  function guarded(
    object: object,
    expectations: Readonly<Record<string, Expectation>>,
    around: (operation: string, method: (...args: unknown[]) => unknown, expectation: Expectation) => unknown,
  ): Fields {
    const methods = object as Methods;
    const names = Object.keys(expectations).filter((name) => typeof methods[name] === 'function');
    return Object.fromEntries(
      names.map((name) => {
        const method = (...args: unknown[]) => methods[name]!(...(args as never[]));
        return [name, around(name, method, expectations[name]!)];
      }),
    );
  }
  const pureOf = (object: object, expectations: Readonly<Record<string, Expectation>>) =>
    guarded(
      object,
      expectations,
      (operation, method, expectation) =>
        (...args: unknown[]) =>
          guard.pure(operation, () => checked(operation, method(...args), expectation)),
    );
  /** The last argument has the signal. */
  const readsOf = (object: object, expectations: Readonly<Record<string, Expectation>>) =>
    guarded(object, expectations, (operation, method, expectation) => (...args: unknown[]) => {
      const io = (args.at(-1) ?? {}) as ReadIo;
      return guard.call(operation, io.signal, async (signal) =>
        checked(operation, await method(...args.slice(0, -1), { ...io, signal }), expectation),
      );
    });
  const writesOf = (object: object) =>
    guarded(object, writes, (operation, method, expectation) => (...args: unknown[]) => {
      const io = args.at(-1) as WriteIo;
      const { permit, idOf } = io;
      return guard.call(operation, io.signal, async (signal): Promise<Answer> => {
        const ours = { permit: guard.passing(permit), ...(idOf && { idOf: guard.passing(idOf) }) };
        const answer = await method(...args.slice(0, -1), { ...io, ...ours, signal });
        return checked(operation, answer as Answer, expectation, 'Unavailable');
      });
    });

  function guardDocument(type: DocumentType): DocumentType {
    const changed = <T>(operation: string, change: () => Promise<T>) =>
      guard.call(operation, undefined, async () => checked(operation, await change(), ofObject, 'Unavailable'));
    return {
      ...type,
      ...pureOf(type, pure.document),
      ...readsOf(type, { all: ofList, read: anything }),
      write: (name, doc, version, permit) =>
        changed('write', () => type.write(name, doc, version, guard.passing(permit))),
      remove: (name, version, permit) => changed('remove', () => type.remove(name, version, guard.passing(permit))),
    };
  }
  const guardDetail = (detail: Detail) => ({ ...detail, ...readsOf(detail, { read: ofFound }) });
  const guardReader = (reader: Reader): Reader => ({
    ...reader,
    ...readsOf(reader, { all: ofFound, of: ofReading }),
    ...pureOf(reader, { isUnknown: anything }),
    ...(reader.detail && { detail: [reader.detail].flat().map(guardDetail) }),
  });
  const guardKind = (kind: Kind): Kind => ({ ...kind, ...pureOf(kind, pure.kind), ...writesOf(kind) });

  return {
    ...driver,
    kinds: driver.kinds.map(guardKind),
    readers: driver.readers.map(guardReader),
    documents: driver.documents.map(guardDocument),
    ...pureOf(driver, pure.driver),
    ...readsOf(driver, { poll: ofMap }),
  };
}
