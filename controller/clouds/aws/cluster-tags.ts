import type { Instance as Ec2Instance } from '@aws-sdk/client-ec2';
import type { AwsConfig } from './config.ts';
import { invalid } from './errors.ts';

/**
 * Tags that mark this cluster's resources for the cloud's other controllers. Mooring's own proof of ownership is
 * another tag.
 */
export interface ClusterTags {
  /** Undefined only where the configuration allows it: then nothing is marked, and everything matches. */
  readonly id: string | undefined;
  /** Any of these keys may mark a resource as the cluster's, for filters; empty where everything matches. */
  readonly keys: readonly string[];
  /** What is put on new resources. */
  readonly owned: Readonly<Record<string, string>>;
  /** Whether a resource carries the cluster's tag, with any value. */
  has(tags: Readonly<Record<string, string>>): boolean;
  /** The same, where there is an id: without one nothing is marked. */
  marks(tags: Readonly<Record<string, string>>): boolean;
  /** Whether it is the cluster's alone: the tag says `owned`. */
  owns(tags: Readonly<Record<string, string>>): boolean;
}

const prefix = 'kubernetes.io/cluster/';
const legacyKey = 'KubernetesCluster';

export function clusterTagsOf(id: string | undefined, legacy: boolean): ClusterTags {
  if (id === undefined) return { id, keys: [], owned: {}, has: () => true, marks: () => false, owns: () => true };
  const key = prefix + id;
  const has = (tags: Readonly<Record<string, string>>) => Object.hasOwn(tags, key) || tags[legacyKey] === id;
  return {
    id,
    keys: [key, legacyKey],
    owned: { [key]: 'owned', ...(legacy && { [legacyKey]: id }) },
    has,
    marks: has,
    owns: (tags) => tags[key] === 'owned' || tags[legacyKey] === id,
  };
}

/** A list of tags as the SDKs show it. */
export function tagMap(tags: readonly { Key?: string | undefined; Value?: string | undefined }[] | undefined) {
  return Object.fromEntries((tags ?? []).map(({ Key = '', Value = '' }) => [Key, Value]));
}

/**
 * The cluster id of the cloud config, else of the tags of this machine's own instance. Read at the first need; a
 * failure is not cached.
 *
 * @throws CloudError `Invalid` where several clusters are named, or none unless that is allowed
 */
export function createCluster(
  config: Pick<AwsConfig, 'clusterId' | 'legacyClusterTag'>,
  allowUntagged: boolean,
  self: (signal?: AbortSignal) => Promise<Ec2Instance | undefined>,
): (signal?: AbortSignal) => Promise<ClusterTags> {
  let known: ClusterTags | undefined;
  return async (signal) => {
    known ??= await find(signal);
    return known;
  };

  async function find(signal: AbortSignal | undefined): Promise<ClusterTags> {
    if (config.clusterId !== undefined) return clusterTagsOf(config.clusterId, config.legacyClusterTag);
    const instance = await self(signal);
    const tags = tagMap(instance?.Tags);
    const ids = Object.keys(tags).flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []));
    const legacy = tags[legacyKey];
    const all = new Set([...ids, ...(legacy === undefined ? [] : [legacy])]);
    if (all.size > 1) {
      const message = `${instance?.InstanceId} is tagged for several clusters: ${[...all].join(', ')}; expected one`;
      throw invalid('cluster id', message);
    }
    const [id] = all;
    if (id !== undefined) return clusterTagsOf(id, legacy !== undefined);
    if (allowUntagged) return clusterTagsOf(undefined, false);
    const where =
      instance === undefined ? 'this is no EC2 instance' : `${instance.InstanceId} has no tag ${prefix}<id>`;
    throw invalid(
      'cluster id',
      `no cluster id: ${where}; expected KubernetesClusterID in [Global] of the cloud config, that tag, or ` +
        '--allow-untagged-cloud',
    );
  }
}
