import { type CloudErrorKind, isCloudError } from '../../../common/cloud-error.ts';
import type { LoadBalancerDriver } from '../../clouds/load-balancer-driver.ts';
import type { DesiredLoadBalancer } from '../../clouds/load-balancers.ts';
import type { DocumentType } from '../../engine/driver.ts';
import type { Answer, Detail, Kind, OperationState, Reader, ReadIo, WriteIo } from '../../engine/resource.ts';
import {
  anything,
  type Expectation,
  type Fields,
  ofAnswer,
  ofComparison,
  ofDesire,
  ofFound,
  ofLabels,
  ofMap,
  ofMembers,
  ofObject,
  ofReading,
  ofShown,
  ofText,
  ofTexts,
  ofVersion,
  ofVersionOrNone,
  ofVersions,
  parts,
} from './answer-shapes.ts';
import type { CallGuard } from './call-guard.ts';

type Methods = Readonly<Record<string, (...args: never[]) => unknown>>;

/** Pure functions of each part, and what they answer. */
const pure = {
  driver: {
    startTerm: anything,
    slots: ofTexts,
    show: ofShown,
    members: ofMembers,
    adopts: anything,
    nodeLabels: ofLabels,
    takesPods: anything,
  },
  kind: {
    compare: ofComparison,
    needsOwnCreate: anything,
    merge: anything,
    fresh: anything,
    lane: ofText,
    usedBy: anything,
  },
  document: { name: ofText, parse: ofFound, basis: anything, fold: anything },
} as const;
const writes: Readonly<Record<string, Expectation>> = Object.fromEntries(
  ['create', 'update', 'remove', 'createMany', 'removeMany', 'mark'].map((name) => [name, ofAnswer]),
);

/**
 * The driver of a module behind the guard: no call lasts for ever, and no foreign error and no answer of another shape
 * reaches the engine.
 *
 * @throws Error where a part of the driver is missing
 */
export function guardDriver(driver: LoadBalancerDriver, guard: CallGuard): LoadBalancerDriver {
  for (const [part, expectation] of Object.entries(parts)) {
    const expected = expectation(driver[part as keyof typeof parts]);
    if (expected !== undefined) throw new Error(`loadBalancerDriver.${part}: expected ${expected}`);
  }
  const kinds = new Set(driver.kinds.map(({ kind }) => kind));
  /** By the original, which other Services may share parts of. */
  const copies = new WeakMap<DesiredLoadBalancer, DesiredLoadBalancer>();

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
        const method = (...args: unknown[]) => methods[name]!(...(args.map(ofItsOwn) as never[]));
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
    const changed = <T>(operation: 'write' | 'remove', change: () => Promise<T>) => {
      const expectation = operation === 'write' ? ofVersion : ofObject;
      return guard.call(operation, undefined, async () =>
        checked(operation, await change(), expectation, 'Unavailable'),
      );
    };
    return {
      ...type,
      ...pureOf(type, pure.document),
      ...readsOf(type, { all: ofVersions, read: ofVersionOrNone }),
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
  /** Of operations: an error of the module becomes one of ours. */
  function readState(operation: string, state: unknown): OperationState {
    if (state === 'running' || state === 'done') return state;
    if (state instanceof Error || isCloudError(state)) return guard.asCloudError('poll', state, 'Unavailable');
    throw guard.fault(
      'poll',
      `it answered ${JSON.stringify(state)} for ${operation}, expected running, done or an error`,
    );
  }
  function copyOf(desired: DesiredLoadBalancer): DesiredLoadBalancer {
    const copy = copies.get(desired) ?? structuredClone(desired);
    copies.set(desired, copy);
    return copy;
  }
  const polled = readsOf(driver, { poll: ofMap, podIds: ofMap }) as Pick<LoadBalancerDriver, 'poll' | 'podIds'>;
  const pureParts = pureOf(driver, { ...pure.driver, desire: ofDesire(kinds) }) as Pick<LoadBalancerDriver, 'desire'>;
  const guardKind = (kind: Kind): Kind => ({ ...kind, ...pureOf(kind, pure.kind), ...writesOf(kind) });

  return {
    ...driver,
    kinds: driver.kinds.map(guardKind),
    readers: driver.readers.map(guardReader),
    documents: (driver.documents ?? []).map(guardDocument),
    ...polled,
    ...pureParts,
    desire: (input) =>
      pureParts.desire({
        ...input,
        desired: copyOf(input.desired),
        found: (kind) => [...input.found(kind)],
        own: () => [...input.own()],
      }),
    async poll(operations, io) {
      const states = await polled.poll(operations, io);
      return new Map([...states].map(([operation, state]) => [operation, readState(operation, state)]));
    },
  };
}

/** A list of ours stays as it is, whatever the module does to it. */
function ofItsOwn(argument: unknown): unknown {
  return Array.isArray(argument) ? [...argument] : argument;
}
