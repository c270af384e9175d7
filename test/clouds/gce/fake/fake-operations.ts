import { type Clock, sleep } from '../../../../common/process/clock.ts';
import { notFound } from './fake-api.ts';

interface FakeOperation {
  readonly name: string;
  readonly type: string;
  readonly target: string;
  readonly targetId: string | undefined;
  readonly startedAt: number;
  readonly endsAt: number;
  readonly error: { readonly code: string; readonly message: string; readonly status: number } | undefined;
  readonly effect: () => void;
  done: boolean;
}

/** Operations of any scope: each takes its time, and has its effect when it ends. */
export interface FakeOperations {
  /** How long one takes. */
  durationMs: number;
  /** How long `wait` waits at the most. */
  waitMs: number;
  /** The next operation ends with this error and without an effect. */
  failNext: FakeOperation['error'];
  /** @param target `projects/p/global/routes/r` */
  start(type: string, target: string, effect: () => void, targetId?: string): object;
  isPending(target: string): boolean;
  /** @param waits until it has ended, but not for longer than `waitMs` */
  read(name: string, project: string, waits: boolean): Promise<object>;
  settle(): void;
}

export function createOperations(clock: Clock, nextId: () => string): FakeOperations {
  const operations = new Map<string, FakeOperation>();
  const running = new Set<FakeOperation>();
  function show({ name, type, target, targetId, done, error }: FakeOperation) {
    const [scope] = /^projects\/[^/]+\/(?:global|(?:regions|zones)\/[^/]+)/.exec(target)!;
    const link = `https://www.googleapis.com/compute/v1/${scope}/operations/${name}`;
    const failure = error && {
      error: { errors: [{ code: error.code, message: error.message }] },
      httpErrorStatusCode: error.status,
      httpErrorMessage: 'FAILED',
    };
    return {
      kind: 'compute#operation',
      id: nextId(),
      name,
      operationType: type,
      selfLink: link,
      targetLink: target,
      targetId,
      status: done ? 'DONE' : 'RUNNING',
      progress: done ? 100 : 0,
      ...(done ? failure : {}),
    };
  }
  const self: FakeOperations = {
    durationMs: 1500,
    waitMs: 120_000,
    failNext: undefined,
    start(type, target, effect, targetId) {
      const [startedAt, error] = [clock.now(), self.failNext];
      self.failNext = undefined;
      const times = { startedAt, endsAt: startedAt + self.durationMs };
      const operation = { name: `operation-${nextId()}`, type, target, targetId, ...times, error, effect, done: false };
      operations.set(operation.name, operation);
      running.add(operation);
      self.settle();
      return show(operation);
    },
    isPending: (target) => [...running].some((one) => one.target === target),
    async read(name, project, waits) {
      const operation = operations.get(name);
      if (operation === undefined) throw notFound(`projects/${project}/operations/${name}`);
      const until = waits ? Math.min(operation.endsAt, clock.now() + self.waitMs) : 0;
      // A timer of Node may end a millisecond before the clock shows its time.
      while (clock.now() < until) await sleep(clock, until - clock.now());
      self.settle();
      return show(operation);
    },
    settle() {
      for (const operation of running) {
        if (clock.now() < operation.endsAt) continue;
        running.delete(operation);
        operation.done = true;
        if (operation.error === undefined) operation.effect();
      }
    },
  };
  return self;
}
