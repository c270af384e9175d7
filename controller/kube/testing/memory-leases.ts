import type { FakeClock } from '../../../common/testing/fake-clock.ts';
import { type KubeApi, type KubeCall, KubeError } from '../api.ts';
import type { ReplicaClock } from './replica-clock.ts';

export interface StoredLease {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The faults of one call. Times in milliseconds of the shared clock. */
export interface Weather {
  readonly thereMs?: number;
  readonly backMs?: number;
  readonly lost?: 'request' | 'answer';
}

export interface MemoryLeases {
  /** The API as a replica with this clock sees it. */
  api(clock: ReplicaClock, weather?: (call: KubeCall) => Weather): KubeApi;
  /** Of the one Lease there is. */
  lease: StoredLease | undefined;
  /** All calls that reached the server. */
  readonly calls: readonly KubeCall[];
}

const microTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

function refuse(status: number, reason: string): KubeError {
  return new KubeError({ status, reason, message: reason });
}

/** The Leases of a server, with its rules: optimistic locking, times of six digits, a PUT that creates. */
export function memoryLeases(time: FakeClock): MemoryLeases {
  const calls: KubeCall[] = [];
  let lease: StoredLease | undefined;
  let version = 0;
  let uids = 0;

  function store(body: StoredLease, uid: string): StoredLease {
    for (const field of ['renewTime', 'acquireTime']) {
      const value = body.spec[field];
      if (value !== undefined && !microTime.test(String(value))) throw refuse(400, 'BadRequest');
    }
    const seconds = body.spec['leaseDurationSeconds'];
    if (seconds !== undefined && !(Number.isInteger(seconds) && Number(seconds) > 0)) throw refuse(422, 'Invalid');
    version += 1;
    lease = structuredClone({ ...body, metadata: { ...body.metadata, uid, resourceVersion: String(version) } });
    return lease;
  }

  function serve(call: KubeCall): StoredLease {
    calls.push(call);
    const body = call.body as StoredLease;
    if (call.verb === 'get') {
      if (!lease) throw refuse(404, 'NotFound');
      return lease;
    }
    if (call.verb === 'create') {
      if (lease) throw refuse(409, 'AlreadyExists');
      return store(body, `uid-${++uids}`);
    }
    if (!lease) {
      if (body.metadata.uid !== undefined) throw refuse(409, 'Conflict');
      return store(body, `uid-${++uids}`);
    }
    if (
      body.metadata.resourceVersion !== undefined &&
      body.metadata.resourceVersion !== lease.metadata.resourceVersion
    ) {
      throw refuse(409, 'Conflict');
    }
    return store(body, lease.metadata.uid);
  }

  return {
    calls,
    get lease() {
      return lease;
    },
    set lease(value) {
      version += 1;
      lease = value && { ...value, metadata: { ...value.metadata, resourceVersion: String(version) } };
    },
    api(clock, weather = () => ({})) {
      return {
        watch: () => Promise.reject(refuse(405, 'MethodNotAllowed')),
        call<T>(call: KubeCall) {
          return new Promise<T>((resolve, reject) => {
            const { thereMs = 0, backMs = 0, lost } = weather(call);
            const { signal: _, ...copied } = call;
            const sent: KubeCall = structuredClone(copied);
            const none = (reason: string) => new KubeError({ status: 0, reason, message: `${call.verb}: ${reason}` });
            const deadline = clock.setTimer(call.timeoutMs ?? 10_000, () => reject(none('Timeout')));
            call.signal?.addEventListener('abort', () => {
              deadline.cancel();
              reject(none('Aborted'));
            });
            if (lost === 'request') return;
            const arrive = () => {
              let answer: () => void;
              try {
                const result = structuredClone(serve(sent)) as T;
                answer = () => resolve(result);
              } catch (error) {
                answer = () => reject(error);
              }
              if (lost === 'answer') return;
              // By the replica's clock: a process that stands still takes no answer.
              const arriveBack = () => {
                deadline.cancel();
                answer();
              };
              if (backMs === 0 && !clock.stopped) arriveBack();
              else clock.setTimer(backMs, arriveBack);
            };
            if (thereMs === 0) queueMicrotask(arrive);
            else time.setTimer(thereMs, arrive);
          });
        },
      };
    },
  };
}
