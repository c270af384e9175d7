import assert from 'node:assert/strict';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import type { KubeCall } from '../api.ts';
import { createElector, type Elector, type ElectorOptions } from '../elector.ts';
import { type MemoryLeases, memoryLeases, type StoredLease, type Weather } from './memory-leases.ts';
import { type ReplicaClock, replicaClock } from './replica-clock.ts';

/** A contender for the Lease with clocks and a network of its own. */
export interface Replica {
  readonly elector: Elector;
  readonly clock: ReplicaClock;
  readonly history: string[];
  weather: (call: KubeCall) => Weather;
  /** Dies: nothing of it runs any more. */
  kill(): void;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/** Replicas around one Lease, on one time. */
export interface ElectorHarness {
  readonly time: FakeClock;
  readonly leases: MemoryLeases;
  replica(name: string, options?: Partial<ElectorOptions> & { rate?: number; wallOffsetMs?: number }): Replica;
}

export function electorHarness(): ElectorHarness {
  const time = fakeClock();
  const leases = memoryLeases(time);
  return {
    time,
    leases,
    replica(name, { rate = 1, wallOffsetMs = 0, ...options } = {}) {
      const clock = replicaClock(time, { rate, wallOffsetMs });
      const history: string[] = [];
      const stop = new AbortController();
      const api = leases.api(clock, (call) => replica.weather(call));
      const elector = createElector({
        api,
        clock,
        random: seededRandom(name.length + 7 * name.charCodeAt(0)),
        log: silentLog,
        identity: name,
        namespace: 'kube-system',
        name: 'cloud-controller-manager',
        onStartedLeading: (signal) => {
          history.push('started');
          signal.addEventListener('abort', () => history.push('aborted'));
        },
        onStoppedLeading: (reason) => {
          history.push(`stopped: ${reason}`);
        },
        ...options,
      });
      const replica: Replica = {
        elector,
        clock,
        history,
        weather: () => ({}),
        kill: () => clock.stop('pause'),
        stop,
        done: elector.run(stop.signal),
      };
      return replica;
    },
  };
}

/** Of the Lease, which is there. */
export function leaseSpec(harness: ElectorHarness): StoredLease['spec'] {
  assert.ok(harness.leases.lease);
  return harness.leases.lease.spec;
}
