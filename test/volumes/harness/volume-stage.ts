import { afterEach } from 'node:test';
import { createLog, silentLog } from '../../../common/process/log.ts';
import { createMetricRegistry } from '../../../common/process/metrics.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, type FakeClock } from '../../../common/testing/fake-clock.ts';
import { metricValue } from '../../../common/testing/metric-value.ts';
import { withholdingApi } from '../../../controller/kube/fence.ts';
import { createListWatch } from '../../../controller/kube/list-watch.ts';
import { volumeMetrics } from '../../../controller/volumes/metrics.ts';
import { createVolumeLookups, type VolumeLookups } from '../../../controller/volumes/volume-lookups.ts';
import { createVolumeTask } from '../../../controller/volumes/volume-task.ts';
import { viewVolume } from '../../../controller/volumes/volume-view.ts';
import { volumesPath } from '../../../controller/volumes/write-topology.ts';
import type { SimulatedCloud } from '../../kit/cloud/cloud.ts';
import { adminClient } from '../../kit/kube-api/testing/admin-client.ts';
import { type InProcessKube, inProcessKube } from '../../nodes/harness/kube-in-process.ts';
import { createWorld, type WorldOptions } from '../../nodes/harness/world.ts';
import { type VolumeChanges, volumeObject } from './volume-object.ts';

export interface RawVolume {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>>; readonly resourceVersion: string };
  readonly spec: { readonly nodeAffinity?: unknown };
}

/** A replica with the task for volumes alone. */
export interface VolumeReplica {
  readonly kube: InProcessKube;
  readonly log: string[];
  paused: boolean;
  start(): Promise<void>;
  stop(): Promise<void>;
  metric(name: string, labels?: string): Promise<number>;
  /** `reason name: message` of each event. */
  readonly events: string[];
}

export interface VolumeStage {
  readonly clock: FakeClock;
  readonly cloud: SimulatedCloud;
  readonly kube: InProcessKube;
  replica(): VolumeReplica;
  /** Of a webhook. */
  openLookups(): VolumeLookups;
  /** In the cloud. */
  disk(id: string, ...zones: string[]): void;
  /** A PersistentVolume of a disk. */
  create(name: string, changes?: VolumeChanges): void;
  patch(name: string, body: object): void;
  get(name: string): RawVolume;
  /** Calls of the cloud for volumes so far. */
  lookups(): number;
}

/** Called where the suite is described; the stage is closed after the test. */
export function volumeStage(): (options?: WorldOptions) => VolumeStage {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });
  return (options = {}) => {
    const world = createWorld({ ...options });
    const { clock, core, cloud } = world;
    const ask = adminClient(core, 'person');
    // Opened by the world for its own replicas.
    const clouds = world.replica().context.resolver.configured;
    const kube = inProcessKube(core, clock);
    closing.push(() => world.close());

    function replica(): VolumeReplica {
      const own = inProcessKube(core, clock);
      const registry = createMetricRegistry();
      const lookups = createVolumeLookups(clouds, clock);
      const lines: string[] = [];
      const log = createLog({ clock, level: 'info', format: 'json', write: (line) => void lines.push(line) });
      const common = { clock, random: seededRandom(3), log };
      const volumes = createListWatch({
        ...common,
        log: silentLog,
        api: own,
        path: volumesPath,
        trim: (raw) => viewVolume(raw, lookups.sources),
      });
      const task = createVolumeTask({
        ...common,
        volumes,
        lookups,
        metrics: registry.define(volumeMetrics),
        paused: () => self.paused,
        api: withholdingApi(own, { allowed: () => (self.paused ? 'everything is paused' : true) }),
        events: { emit: ({ name }, { reason, message }) => void self.events.push(`${reason} ${name}: ${message}`) },
      });
      let term: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;
      const self: VolumeReplica = {
        kube: own,
        log: lines,
        paused: false,
        events: [],
        async start() {
          const stop = new AbortController();
          term = { stop, done: task.lead(stop.signal) };
          volumes.start();
          await clock.advance(1000);
        },
        async stop() {
          const { stop, done } = term ?? {};
          term = undefined;
          stop?.abort();
          if (done) await advanceDuring(clock, done, 250);
          await volumes.stop();
        },
        metric: (name, labels) => metricValue(registry, name, labels),
      };
      closing.unshift(self.stop);
      return self;
    }

    return {
      clock,
      cloud,
      kube,
      replica,
      openLookups: () => createVolumeLookups(clouds, clock),
      disk: (id, ...zones) => void cloud.network.volumes.create({ id, place: 'demo/sim-1', zones }),
      create: (name, changes) => void ask('POST', volumesPath, volumeObject(name, changes)),
      patch: (name, body) => void ask('PATCH', `${volumesPath}/${name}`, body, 'application/merge-patch+json'),
      get: (name) => ask('GET', `${volumesPath}/${name}`) as RawVolume,
      lookups: () => cloud.calls.total('volumes.lookup'),
    };
  };
}
