import { type Clock, sleep } from '../../common/process/clock.ts';
import { labels } from '../../common/well-known.ts';
import type { AdmissionDecision, AdmissionRequest } from '../runtime/serving/admission-review.ts';
import { placeOfProvisioner, planTopology, type TopologyChange } from './topology.ts';
import type { VolumeLookups } from './volume-lookups.ts';
import { type VolumeView, viewVolume } from './volume-view.ts';

export interface VolumeAdmission {
  readonly clock: Clock;
  readonly lookups: VolumeLookups;
  /** True while everything is paused. */
  paused(): boolean;
}

/** Less than the ten seconds that the API server waits for at most by default. */
const answerWithinMs = 8_000;

/**
 * Admits a PersistentVolume that is created, with the labels and the node affinity of its zone and region. As the
 * admission plugin PersistentVolumeLabel did, it refuses one whose volume does not exist, or whose cloud does not tell
 * in time. What the PersistentVolume has already stays. Throws a TypeError for what is no PersistentVolume.
 */
export async function admitVolume(
  { clock, lookups, paused }: VolumeAdmission,
  { operation, group, resource, object }: AdmissionRequest,
): Promise<AdmissionDecision> {
  const allowed: AdmissionDecision = { allowed: true };
  if (operation !== 'CREATE' || group !== '' || resource !== 'persistentvolumes') return allowed;
  const volume = viewVolume(object, lookups.sources);
  const { ref } = volume;
  if (ref === undefined || !lookups.accepts(ref) || volume.paused) return allowed;
  if (paused()) return { ...allowed, warnings: ['Mooring is paused: the volume gets no zone and region'] };
  const told = placeOfProvisioner(volume);
  if (told !== undefined) return settled(object, volume, told);
  const ending = new AbortController();
  const answer = await Promise.race([
    lookups.lookup(ref),
    sleep(clock, answerWithinMs, ending.signal).then(
      () => undefined,
      () => undefined,
    ),
  ]);
  ending.abort();
  if (answer?.state === 'found') return settled(object, volume, answer.place);
  if (answer?.state === 'absent')
    return refused(403, 'Forbidden', `the cloud has no volume ${ref.handle} in the configured scope`);
  const why = answer === undefined ? `no answer within ${answerWithinMs / 1000} s` : answer.error.message;
  return refused(503, 'ServiceUnavailable', `zone and region of volume ${ref.handle} are not known: ${why}`);
}

function settled(object: unknown, volume: VolumeView, place: Parameters<typeof planTopology>[1]): AdmissionDecision {
  const plan = planTopology(volume, place, 'open');
  if (plan.kind === 'complete') return { allowed: true };
  if (plan.kind === 'write') return { allowed: true, patch: patchOf(object, plan) };
  return { allowed: true, warnings: [`the volume gets no zone and region: ${plan.why}`] };
}

function patchOf(object: unknown, { labels: added, terms }: TopologyChange) {
  const { metadata } = object as { readonly metadata: { readonly labels?: object | null } };
  const add = (path: string, value: unknown) => ({ op: 'add', path, value });
  const keys = Object.values(labels).filter((key) => added[key] !== undefined);
  const ofLabels =
    metadata.labels == null
      ? [add('/metadata/labels', added)]
      : keys.map((key) => add(`/metadata/labels/${key.replaceAll('/', '~1')}`, added[key]));
  return [
    ...(keys.length > 0 ? ofLabels : []),
    ...(terms ? [add('/spec/nodeAffinity', { required: { nodeSelectorTerms: terms } })] : []),
  ];
}

function refused(code: number, reason: string, message: string): AdmissionDecision {
  return { allowed: false, code, reason, message };
}
