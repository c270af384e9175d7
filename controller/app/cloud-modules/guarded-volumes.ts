import { isCloudError } from '../../../common/cloud-error.ts';
import { type VolumeLookup, type VolumeRef, type Volumes, volumeKey } from '../../clouds/volumes.ts';
import type { CallGuard } from './call-guard.ts';

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** Volumes of a module behind the guard: an answer of another shape is `unknown`, so that nothing follows from it. */
export function guardVolumes(volumes: Volumes, guard: CallGuard): Volumes {
  const operation = 'lookup of volumes';
  for (const name of ['accepts', 'lookup'] as const)
    if (typeof volumes[name] !== 'function')
      throw new Error(`volumes.${name}: ${typeof volumes[name]}, expected a function`);
  const isSource = (one: Volumes['sources'][number] | undefined) =>
    isText(one?.name) && (one.idField === undefined || isText(one.idField));
  const { sources } = volumes;
  if (!Array.isArray(sources) || !sources.every(isSource))
    throw new Error(`volumes.sources: ${JSON.stringify(sources)}, expected names of CSI drivers as { name }`);

  function read({ handle }: VolumeRef, answer: unknown): VolumeLookup {
    const { state, place, error } = (answer ?? {}) as Readonly<Record<string, unknown>>;
    if (state === 'absent') return { state };
    if (state === 'unknown' && isCloudError(error)) return { state, error };
    const { zones, region } = (place ?? {}) as Readonly<Record<string, unknown>>;
    if (state === 'found' && Array.isArray(zones) && zones.every(isText) && (region === undefined || isText(region)))
      return { state, place: { zones: [...zones], region } };
    const message = `${handle}: it answered ${JSON.stringify(answer) ?? 'nothing'}, expected a lookup of a volume`;
    return { state: 'unknown', error: guard.fault(operation, message) };
  }

  return {
    sources: sources.map(({ name, idField }) => ({ name, ...(idField !== undefined && { idField }) })),
    accepts(ref) {
      try {
        return volumes.accepts({ ...ref, zones: [...ref.zones] }) === true;
      } catch {
        // The lookup says what is wrong, and the PersistentVolume waits for it.
        return true;
      }
    },
    async lookup(refs, signal) {
      let answers: ReadonlyMap<string, unknown>;
      try {
        answers = await guard.call(operation, signal, async (ending) => {
          const asked = refs.map((ref) => ({ ...ref, zones: [...ref.zones] }));
          const answered: unknown = await volumes.lookup(asked, ending);
          if (answered instanceof Map) return answered;
          throw guard.fault(operation, `it answered ${typeof answered}, expected a Map`);
        });
      } catch (error) {
        const failure = guard.asCloudError(operation, error, 'Unavailable');
        return new Map(refs.map((ref) => [volumeKey(ref), { state: 'unknown', error: failure }]));
      }
      return new Map(refs.map((ref) => [volumeKey(ref), read(ref, answers.get(volumeKey(ref)))]));
    },
  };
}
