import { CloudError, isCloudError } from '../../common/cloud-error.ts';
import { inParallel } from './parallel.ts';

/** One way in which a PersistentVolume names a volume of a cloud. */
export interface VolumeSource {
  /** The name of the CSI driver or, in-tree, the field of `spec` such as `awsElasticBlockStore`. */
  readonly name: string;
  /** In-tree: the field in there that has the id. Undefined: a CSI driver, whose id is `volumeHandle`. */
  readonly idField?: string;
}

/** A volume as a PersistentVolume names it. */
export interface VolumeRef {
  /** The `name` of its VolumeSource. */
  readonly source: string;
  /** Its id, as the PersistentVolume has it. */
  readonly handle: string;
  /** Those of its zone label: where the id is only a name, the volume is looked for there. Empty: anywhere. */
  readonly zones: readonly string[];
}

/** One string per ref, unique and stable; the key of every map of lookups. */
export function volumeKey({ source, handle, zones }: VolumeRef): string {
  return JSON.stringify([source, handle, ...zones]);
}

/** Where Nodes have to be to use a volume. */
export interface VolumePlace {
  /** Several where the volume is replicated; empty where it has no zone, so that all of the region can use it. */
  readonly zones: readonly string[];
  /** Undefined where the cloud does not tell. */
  readonly region: string | undefined;
}

/**
 * The answer about one volume. `absent`: proved not to exist in this scope by a request for it. `unknown`: anything
 * else.
 */
export type VolumeLookup =
  | { readonly state: 'found'; readonly place: VolumePlace }
  | { readonly state: 'absent' }
  | { readonly state: 'unknown'; readonly error: CloudError };

/** Volumes of a cloud. Zones and region have the same values as on its instances. */
export interface Volumes {
  readonly sources: readonly VolumeSource[];
  /** Whether this scope can contain the volume: the id has the cloud's form, and no part that contradicts the scope. */
  accepts(ref: VolumeRef): boolean;
  /**
   * Looks up many volumes in few calls. Answers every ref. Never throws for a failure of the cloud: those refs are
   * `unknown`. A bad ref does not affect the others. Reads only, safe to repeat.
   */
  lookup(refs: readonly VolumeRef[], signal?: AbortSignal): Promise<ReadonlyMap<string, VolumeLookup>>;
}

const callsAtOnce = 8;
const operation = 'lookup of volumes';
/** In one pass, as of instances. */
const maxAbsenceProofs = 20;

/**
 * A lookup of groups of refs, each in one request, of which a failure affects only its own group.
 *
 * @param read answers refs of one group by key; those that it leaves out are `absent`. Throws a CloudError; `NotFound`
 *   means that all of them are absent
 */
export async function lookupGroups(
  cloud: string,
  groups: readonly (readonly VolumeRef[])[],
  read: (refs: readonly VolumeRef[]) => Promise<ReadonlyMap<string, VolumeLookup>>,
): Promise<ReadonlyMap<string, VolumeLookup>> {
  const answers = await inParallel(callsAtOnce, groups, async (refs): Promise<[string, VolumeLookup][]> => {
    let found: ReadonlyMap<string, VolumeLookup>;
    try {
      found = await read(refs);
    } catch (error) {
      const failure = failed(cloud, error);
      return refs.map((ref) => [volumeKey(ref), failure]);
    }
    return refs.map((ref) => [volumeKey(ref), found.get(volumeKey(ref)) ?? { state: 'absent' }]);
  });
  return new Map(answers.flat());
}

/**
 * A lookup by one request for each ref.
 *
 * @param read where the volume is; undefined: it does not exist. Throws a CloudError; `NotFound` means the same
 */
export function lookupEach(
  cloud: string,
  refs: readonly VolumeRef[],
  read: (ref: VolumeRef) => Promise<VolumePlace | undefined>,
): Promise<ReadonlyMap<string, VolumeLookup>> {
  return lookupGroups(
    cloud,
    refs.map((ref) => [ref]),
    async ([ref]) => {
      const place = await read(ref!);
      return place === undefined ? new Map() : new Map([[volumeKey(ref!), { state: 'found', place }]]);
    },
  );
}

/** Up to so many volumes are asked for one by one; more, and a list is read first. */
const listAbove = 5;

/**
 * A lookup by one request for each ref where they are few. Of more, those that a list shows cost no request of their
 * own; the list proves no absence.
 *
 * @param list places by key, of all refs that it shows. Throws a CloudError
 */
export async function lookupListed(
  cloud: string,
  refs: readonly VolumeRef[],
  list: (refs: readonly VolumeRef[]) => Promise<ReadonlyMap<string, VolumePlace>>,
  read: (ref: VolumeRef) => Promise<VolumePlace | undefined>,
): Promise<ReadonlyMap<string, VolumeLookup>> {
  if (refs.length <= listAbove) return lookupEach(cloud, refs, read);
  let shown: ReadonlyMap<string, VolumePlace>;
  try {
    shown = await list(refs);
  } catch (error) {
    const failure = unknownOf(cloud, error);
    return new Map(refs.map((ref) => [volumeKey(ref), failure]));
  }
  const missing = refs.filter((ref) => !shown.has(volumeKey(ref)));
  const proved = await lookupEach(cloud, missing.slice(0, maxAbsenceProofs), read);
  const message = 'a list does not show it; it is asked for in a later pass';
  const postponed = unknownOf(cloud, new CloudError({ kind: 'Unavailable', cloud, operation, message }));
  return new Map(
    refs.map((ref): [string, VolumeLookup] => {
      const place = shown.get(volumeKey(ref));
      return [
        volumeKey(ref),
        place === undefined ? (proved.get(volumeKey(ref)) ?? postponed) : { state: 'found', place },
      ];
    }),
  );
}

function failed(cloud: string, error: unknown): VolumeLookup {
  if (isCloudError(error) && error.kind === 'NotFound') return { state: 'absent' };
  return unknownOf(cloud, error);
}

function unknownOf(cloud: string, error: unknown): VolumeLookup {
  if (isCloudError(error)) return { state: 'unknown', error };
  const message = error instanceof Error ? error.message : String(error);
  return {
    state: 'unknown',
    error: new CloudError({ kind: 'Unavailable', cloud, operation, message, cause: error }),
  };
}
