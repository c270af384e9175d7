import { CloudError } from '../../common/cloud-error.ts';
import type { Clock } from '../../common/process/clock.ts';
import type { Cloud } from '../clouds/cloud.ts';
import { type VolumeLookup, type VolumeRef, type VolumeSource, volumeKey } from '../clouds/volumes.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';

/** Finds volumes in the configured clouds, many in one pass. */
export interface VolumeLookups {
  /** Of all clouds. */
  readonly sources: readonly VolumeSource[];
  /** Whether a configured cloud may have it. */
  accepts(ref: VolumeRef): boolean;
  /**
   * Joins the next pass. Never rejects: a failure is `unknown`. `absent`: all scopes that may have it said so. `found`:
   * exactly one has it.
   */
  lookup(ref: VolumeRef): Promise<VolumeLookup>;
}

/** How long a pass collects refs. */
const collectMs = 100;

type CloudOfVolumes = Cloud & { readonly volumes: NonNullable<Cloud['volumes']> };

export function createVolumeLookups(clouds: readonly ConfiguredCloud[], clock: Clock): VolumeLookups {
  const passes = clouds.flatMap(({ api }) => (hasVolumes(api) ? [createPasses(api, clock)] : []));
  const sources = new Map(passes.flatMap(({ cloud }) => cloud.volumes.sources.map((one) => [one.name, one])));
  const having = (ref: VolumeRef) => passes.filter(({ cloud }) => serves(cloud, ref));
  return {
    sources: [...sources.values()],
    accepts: (ref) => having(ref).length > 0,
    async lookup(ref) {
      const answers = await Promise.all(having(ref).map(({ lookup }) => lookup(ref)));
      const found = answers.filter(({ state }) => state === 'found');
      if (found.length > 1) return conflict(ref);
      return found[0] ?? answers.find(({ state }) => state === 'unknown') ?? { state: 'absent' };
    },
  };
}

function hasVolumes(cloud: Cloud | undefined): cloud is CloudOfVolumes {
  return cloud?.volumes !== undefined;
}

function serves({ volumes }: CloudOfVolumes, ref: VolumeRef): boolean {
  return volumes.sources.some(({ name }) => name === ref.source) && volumes.accepts(ref);
}

/** One pass at a time; refs that arrive during a pass join the next, so calls follow time and not volumes. */
function createPasses(cloud: CloudOfVolumes, clock: Clock) {
  let waiting = new Map<string, { readonly ref: VolumeRef; readonly answer: PromiseWithResolvers<VolumeLookup> }>();
  let isCollecting = false;

  async function pass(): Promise<void> {
    const batch = waiting;
    waiting = new Map();
    const answers = await read([...batch.values()].map(({ ref }) => ref));
    for (const [key, { answer, ref }] of batch) answer.resolve(answers.get(key) ?? unanswered(cloud, ref));
    isCollecting = false;
    collect();
  }

  async function read(refs: readonly VolumeRef[]): Promise<ReadonlyMap<string, VolumeLookup>> {
    try {
      return await cloud.volumes.lookup(refs);
    } catch (error) {
      const failure = unknown(cloud.name, 'Invalid', String(error));
      return new Map(refs.map((ref) => [volumeKey(ref), failure]));
    }
  }

  function collect(): void {
    if (isCollecting || waiting.size === 0) return;
    isCollecting = true;
    clock.setTimer(collectMs, () => void pass());
  }

  return {
    cloud,
    lookup(ref: VolumeRef): Promise<VolumeLookup> {
      const key = volumeKey(ref);
      const entry = waiting.get(key) ?? { ref, answer: Promise.withResolvers<VolumeLookup>() };
      waiting.set(key, entry);
      collect();
      return entry.answer.promise;
    },
  };
}

function conflict({ handle }: VolumeRef): VolumeLookup {
  return unknown('several clouds', 'Conflict', `more than one configured cloud has a volume ${handle}`);
}

function unanswered({ name }: Cloud, { handle }: VolumeRef): VolumeLookup {
  return unknown(name, 'Invalid', `no answer for ${handle}`);
}

function unknown(cloud: string, kind: CloudError['kind'], message: string): VolumeLookup {
  return { state: 'unknown', error: new CloudError({ kind, cloud, operation: 'lookup of volumes', message }) };
}
