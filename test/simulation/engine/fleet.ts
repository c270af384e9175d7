import { silentLog } from '../../../common/process/log.ts';
import { names } from '../../../common/well-known.ts';
import { createReportReader } from '../../../controller/reports/read-report.ts';
import type { SimulatedCloud } from '../../kit/cloud/cloud.ts';
import { admin, type User } from '../../kit/kube-api/auth/user.ts';
import type { KubeApiCore } from '../../kit/kube-api/kube-api-core.ts';
import { largestStepMs } from '../judge/deletions.ts';
import type { Observer } from '../judge/observer.ts';
import type { Acting, Wire } from '../wires/wire.ts';
import { createDice, type Dice } from './dice.ts';
import { type Aim, createFaults, type Faults } from './faults.ts';
import { type Process, startProcess, traceLog } from './process.ts';
import type { Scenario } from './scenario.ts';
import type { PauseKind, ProcessClock, Timeline } from './timeline.ts';

/** Where one replica of the Deployment runs, one process after another. */
export interface Place {
  readonly name: string;
  readonly rate: number;
  readonly outage: Faults['outage'];
  readonly faults: Faults;
  /** What goes wrong where reports are taken; drawn apart. */
  readonly reportFaults: Faults;
  process: Process | undefined;
  processes: number;
  startedAt: number;
}

export interface Fleet {
  readonly places: readonly Place[];
  start(): void;
  /** Processes that run and believe that they lead. */
  leaders(): Process[];
  crash(place: Place): void;
  /** SIGTERM; it is started again when it has ended. */
  stop(place: Place): void;
  /** Answers how; undefined when there is no process to pause. */
  pause(place: Place): PauseKind | undefined;
  stepWall(place: Place, ms: number): void;
  /** Every process is held by its hypervisor while `act` runs. */
  frozen(act: () => void): void;
  /** No more troubles: paused processes go on, clocks are right. */
  calm(): void;
  wallOffsetOf(identity: string): number;
  /** The holder of the Lease; after its deletion the last one. */
  holder(): string;
  /** Deletes it. Answers false when it is not there, or a process has not read it yet. */
  deleteLease(): boolean;
  /**
   * The Lease was deleted, and a process that never read it started before the last holder's term ran out: it cannot
   * know of that leader. The promises about leaders cannot be kept then.
   */
  leaseIsLost(): boolean;
  /** What connects one more process to the world, on a clock of its own. */
  wireOf(identity: string): Wire;
  end(): void;
}

export interface FleetParts {
  readonly timeline: Timeline;
  readonly core: KubeApiCore;
  /** The account of the controller. */
  readonly user: User;
  readonly cloud: SimulatedCloud;
  readonly scenario: Scenario;
  readonly observers: readonly Observer[];
  readonly acting: Acting;
  readonly dice: Dice;
  readonly rates: Faults['rates'];
  readonly counts: Map<string, number>;
  readonly aim: Aim;
  readonly trace: ((line: string) => void) | undefined;
  readonly otherNode: Wire['otherNode'];
  /** A process ended by itself. */
  failed(identity: string, why: unknown): void;
}

/** A lease, on clocks that run slow. */
const longestTermMs = 16_000;

export function createFleet(parts: FleetParts): Fleet {
  const { timeline, core, cloud, scenario, observers, dice, trace } = parts;
  const world = timeline.clock;
  const read = createReportReader();
  /** The furthest its wall clock has ever been ahead, by process. */
  const offsets = new Map<string, number>();
  const leases = core.store.collection('coordination.k8s.io/leases');
  const leaseKey = `${names.namespace}/${names.lease}`;
  const owners = new Map<ProcessClock, Place>();
  let ended = false;

  const places: Place[] = Array.from({ length: scenario.replicas }, (_, index) => {
    const name = 'abc'[index]!;
    const { rates, counts, aim } = parts;
    const faultDice = createDice(scenario.seed, `faults ${name}`);
    const faults = createFaults({ dice: faultDice, rates, counts, aim, turn: scenario.seed });
    if (scenario.deaf && index > 0) faults.deafness = 0.9;
    return {
      name,
      rate: scenario.clockRates[index]!,
      faults,
      reportFaults: createFaults({
        dice: createDice(scenario.seed, `report faults ${name}`),
        rates,
        counts,
        aim,
        turn: scenario.seed,
        outage: faults.outage,
      }),
      outage: faults.outage,
      process: undefined,
      processes: 0,
      startedAt: 0,
    };
  });

  let deletedAt = Number.NEGATIVE_INFINITY;
  let lastHolder = '';
  let lostUntil = Number.NEGATIVE_INFINITY;

  core.store.watch(leases, ({ type, object }) => {
    if (object.key === leaseKey && type !== 'DELETED') lastHolder = holderOf(object.value);
  });

  function holderOf(lease: unknown): string {
    return (lease as { spec?: { holderIdentity?: string } }).spec?.holderIdentity ?? '';
  }

  function holder(): string {
    const lease = leases.items.get(leaseKey)?.value;
    if (lease !== undefined) return holderOf(lease);
    return world.monotonic() - deletedAt < longestTermMs ? lastHolder : '';
  }

  function deleteLease(): boolean {
    const now = world.monotonic();
    const known = places.every(({ process }) => process?.elector.leaderReportUrl() !== undefined);
    if (!known || leases.items.get(leaseKey) === undefined) return false;
    const path = `/apis/coordination.k8s.io/v1/namespaces/${names.namespace}/leases/${names.lease}`;
    const query = new URLSearchParams();
    core.handle({ method: 'DELETE', path, query, headers: {}, body: undefined, user: admin });
    deletedAt = now;
    return true;
  }

  function startAt(place: Place): void {
    if (ended || place.process !== undefined) return;
    place.startedAt = world.monotonic();
    if (place.startedAt - deletedAt < longestTermMs) lostUntil = deletedAt + 2 * longestTermMs;
    place.processes += 1;
    const identity = `${place.name}.${place.processes}`;
    const clock = timeline.process(place.rate);
    owners.set(clock, place);
    const wire: Wire = {
      ...wireOf(identity, place, clock),
      crash() {
        trace?.(`${identity}  !! crashes`);
        // Also in the middle of its start.
        world.setTimer(0, () => {
          if (place.process?.identity === identity) crash(place);
        });
        if (place.process?.identity === identity) crash(place);
        return new Promise<never>(() => {});
      },
      pause() {
        if (place.process?.identity === identity) pause(place);
      },
    };
    trace?.(`${identity}  starts`);
    const started = startProcess(wire, cloud, scenario, trace === undefined ? silentLog : traceLog(wire, trace));
    place.process = started;
    void started.ended.then((failure) => {
      if (place.process !== started) return;
      if (failure !== undefined) parts.failed(identity, failure);
      trace?.(`${identity}  has stopped`);
      crash(place);
    });
  }

  /** Without faults of the process itself. */
  function wireOf(identity: string, place: Place, clock: ProcessClock): Wire {
    return {
      core,
      user: parts.user,
      faults: place.faults,
      dice: createDice(scenario.seed, `process ${identity}`),
      clock,
      world,
      process: { identity },
      observers,
      acting: parts.acting,
      holder,
      revisionBefore,
      cloudLagMs: scenario.cloudLagMs,
      otherNode: parts.otherNode,
      ofReports: { faults: place.reportFaults, dice: createDice(scenario.seed, `reports of ${identity}`), read },
      lastEvents: new Map(),
      crash: () => new Promise<never>(() => {}),
      pause() {},
      trace,
    };
  }

  /** One a second, the latest minute. */
  const revisions: number[] = [core.store.revision];
  function sample(): void {
    revisions.push(core.store.revision);
    if (revisions.length > 60) revisions.shift();
    if (!ended) world.setTimer(1000, sample);
  }
  sample();

  function revisionBefore(ms: number): number {
    return revisions[Math.max(0, revisions.length - 1 - Math.floor(ms / 1000))]!;
  }

  function startLater(place: Place, ms: number): void {
    world.setTimer(ms, () => startAt(place));
  }

  function crash(place: Place): void {
    const { process } = place;
    if (process === undefined) return;
    process.wire.clock.kill();
    owners.delete(process.wire.clock);
    place.process = undefined;
    startLater(place, dice.between(500, 20_000));
  }

  function stop(place: Place): void {
    place.process?.stop();
  }

  function pause(place: Place): PauseKind | undefined {
    const clock = place.process?.wire.clock;
    if (clock === undefined || clock.paused !== undefined) return undefined;
    const kind = dice.pick(['stopped', 'suspended', 'frozen'] as const);
    const lasts = dice.chance(0.5) ? dice.between(200, 8000) : dice.between(8000, 45_000);
    trace?.(`${place.process!.identity}  !! ${kind} for ${Math.round(lasts)} ms`);
    clock.pause(kind);
    world.setTimer(lasts, () => {
      if (clock.paused !== undefined) trace?.(`${place.name}  goes on`);
      clock.resume();
    });
    return kind;
  }

  function stepWall(place: Place, ms: number): void {
    const clock = place.process?.wire.clock;
    // A clock that is set back while it is the only one that goes on hides the pause: nothing can tell it then.
    if (clock === undefined || clock.paused !== undefined) return;
    const limit = scenario.wildClocks ? Number.POSITIVE_INFINITY : largestStepMs;
    if (Math.abs(clock.wallOffsetMs + ms) > limit) return;
    clock.stepWall(ms);
    const { identity } = place.process!;
    offsets.set(identity, Math.max(offsets.get(identity) ?? 0, clock.wallOffsetMs));
  }

  /** Seldom enough that most processes live for minutes. */
  const crashAtTimer = 0.0004;
  timeline.onTimer = (clock) => {
    const place = owners.get(clock);
    if (place === undefined) return false;
    const { faults } = place;
    if (faults.rates.kube === 0 || !dice.chance(crashAtTimer)) return false;
    faults.count('timer', 'crash');
    trace?.(`${place.name}  !! crashes at a timer`);
    crash(place);
    return true;
  };

  return {
    places,
    start() {
      for (const place of places) startLater(place, dice.between(0, 3000));
    },
    leaders: () => places.flatMap(({ process }) => (process?.elector.leading ? [process] : [])),
    crash,
    stop,
    pause,
    stepWall,
    frozen(act) {
      const clocks = places.flatMap(({ process }) => (process === undefined ? [] : [process.wire.clock]));
      for (const clock of clocks) clock.pause('frozen');
      act();
      for (const clock of clocks) clock.resume();
    },
    calm() {
      for (const place of places) {
        place.outage.kube = undefined;
        place.outage.cloud = undefined;
        const clock = place.process?.wire.clock;
        clock?.resume();
        // Set right once the length of the pause is no longer read from it.
        world.setTimer(20_000, () => {
          if (clock?.dead === false) clock.stepWall(-clock.wallOffsetMs);
        });
      }
    },
    holder,
    deleteLease,
    leaseIsLost: () => world.monotonic() < lostUntil,
    wallOffsetOf: (identity) => offsets.get(identity) ?? 0,
    wireOf: (identity) => wireOf(identity, places[0]!, timeline.process(1)),
    end() {
      ended = true;
      for (const { process } of places) process?.wire.clock.kill();
    },
  };
}
