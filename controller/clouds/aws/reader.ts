import type { Instance as Ec2Instance, Filter } from '@aws-sdk/client-ec2';
import { type CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { Lookup } from '../cloud.ts';
import type { InstanceReader, Listed, Named } from '../lookup-pass.ts';
import { chunks, inParallel } from '../parallel.ts';
import { type ClusterTags, tagMap } from './cluster-tags.ts';
import { type Ec2, getInstances, listInstances } from './ec2.ts';
import { awsError, codeOf } from './errors.ts';
import { type InstanceView, lookupOf } from './instance.ts';
import type { NetworkLayers } from './network-layers.ts';
import type { ZoneIds } from './zone-ids.ts';

/** EC2 takes up to 200 values a filter. */
const idsPerFilter = 200;
/** As many as upstream's bulk helper asks for. */
const namesPerFilter = 150;
const callsAtOnce = 4;
const operation = 'DescribeInstances';

export interface ReaderParts {
  readonly ec2: Ec2;
  readonly zoneIds: ZoneIds;
  readonly layers: NetworkLayers;
  /** Whose instances are meant by a name: two VPCs of a region may give out the same names. */
  readonly cluster: (signal?: AbortSignal) => Promise<ClusterTags>;
  /**
   * The cluster of the configuration: only its instances are found by name, as with the classic controller. Without it,
   * this is read only where several instances have one name.
   */
  readonly clusterNamed: boolean;
  readonly view: Pick<InstanceView, 'region' | 'nodeIpFamilies'>;
  /** Gets every instance that is read, which saves other readers a call. */
  readonly onSeen?: (instance: Ec2Instance) => void;
}

/**
 * Reads instances of one region.
 *
 * Several are read by the filter `instance-id`, not by the parameter InstanceIds: a filter never fails for an id that
 * does not exist or is malformed, so one bad id cannot fail the others, and it has pages. An id that the filter leaves
 * out is only a suspect. The proof is a request with InstanceIds: EC2 refuses it with `InvalidInstanceID.NotFound` and
 * names the ids that do not exist. Those are `absent`; the others are read again. EC2 answers so for a moment after
 * RunInstances, too, which is why the controller spares young nodes.
 */
export function createReader(parts: ReaderParts): InstanceReader {
  const { ec2, zoneIds, layers, view, cluster, clusterNamed } = parts;

  async function lookups(
    instances: readonly Ec2Instance[],
    request: 'list' | 'id',
    signal: AbortSignal | undefined,
  ): Promise<Map<string, Exclude<Lookup, { state: 'absent' }>>> {
    for (const instance of instances) parts.onSeen?.(instance);
    const unnamed = instances.filter(({ Placement }) => Placement?.AvailabilityZoneId === undefined);
    await layers.learn(instances, signal);
    await zoneIds.learn(new Set(unnamed.flatMap(({ Placement }) => Placement?.AvailabilityZone ?? [])), signal);
    const complete: InstanceView = { ...view, zoneId: zoneIds.of, networkLayers: layers.of };
    return new Map(instances.map((instance) => [instance.InstanceId ?? '', lookupOf(instance, complete, request)]));
  }

  async function ofCluster(hits: readonly Ec2Instance[], signal: AbortSignal | undefined) {
    if (!clusterNamed && hits.length < 2) return hits;
    const tags = await cluster(signal).catch(() => undefined);
    return tags === undefined ? hits : hits.filter(({ Tags }) => tags.has(tagMap(Tags)));
  }

  return {
    async list(ids, signal) {
      const answers = new Map<string, Listed>();
      await inParallel(callsAtOnce, chunks(ids, idsPerFilter), async (some) => {
        const filters = [{ Name: 'instance-id', Values: some }];
        const { instances, failure } = await listed(ec2, filters, signal);
        const rest: Listed = failure === undefined ? { state: 'missing' } : { state: 'unknown', error: failure };
        for (const id of some) answers.set(id, rest);
        for (const [id, lookup] of await lookups(instances, 'list', signal)) answers.set(id, lookup);
      });
      return answers;
    },

    async get(ids, signal) {
      const answers = new Map<string, Lookup>();
      const queue: (readonly string[])[] = [ids];
      for (let some = queue.shift(); some !== undefined; some = queue.shift()) {
        if (some.length === 0) continue;
        try {
          const instances = await getInstances(ec2, some, { signal });
          for (const [id, lookup] of await lookups(instances, 'id', signal)) answers.set(id, lookup);
        } catch (error) {
          const refused = isCloudError(error) ? refusedIds(error, some) : undefined;
          if (refused === undefined) {
            for (const id of some) answers.set(id, unknown(error));
          } else if (refused.ids.length > 0) {
            for (const id of refused.ids) answers.set(id, refused.absent ? { state: 'absent' } : unknown(error));
            queue.push(some.filter((id) => !refused.ids.includes(id)));
          } else {
            // The refusal names none of ours: only one by one tells whom it means.
            queue.push(...some.map((id) => [id]));
          }
        }
      }
      return answers;
    },

    async byName(names, signal) {
      const answers = new Map<string, Named>();
      await inParallel(callsAtOnce, chunks(names, namesPerFilter), async (some) => {
        const filters = [
          { Name: 'private-dns-name', Values: some },
          { Name: 'instance-state-name', Values: ['pending', 'running', 'shutting-down', 'stopping', 'stopped'] },
        ];
        const { instances, failure } = await listed(ec2, filters, signal);
        const seen = await lookups(instances, 'list', signal);
        for (const name of some) {
          const all = instances.filter(({ PrivateDnsName }) => PrivateDnsName === name);
          const hits = await ofCluster(all, signal);
          const [hit] = hits;
          // A page that is lacking may hold a second instance of this name.
          if (failure !== undefined) answers.set(name, { state: 'unknown', error: failure });
          else if (hits.length > 1) answers.set(name, several(name, hits));
          else if (hit === undefined) answers.set(name, noInstance(name, all));
          else answers.set(name, seen.get(hit.InstanceId ?? '')!);
        }
      });
      return answers;
    },
  };
}

/** With a failure, what came before it. */
async function listed(ec2: Ec2, filters: Filter[], signal: AbortSignal | undefined) {
  const instances: Ec2Instance[] = [];
  try {
    await listInstances(ec2, filters, { signal }, instances);
    return { instances, failure: undefined };
  } catch (error) {
    return { instances, failure: asCloudError(error) };
  }
}

/**
 * The ids that a refusal of InstanceIds names. `absent` for `InvalidInstanceID.NotFound`. A malformed id never was an
 * instance, so its refusal proves nothing. Undefined for any other failure.
 */
function refusedIds(
  error: CloudError,
  asked: readonly string[],
): { ids: readonly string[]; absent: boolean } | undefined {
  const code = codeOf(error.cause);
  const absent = code === 'InvalidInstanceID.NotFound';
  if (!absent && code !== 'InvalidInstanceID.Malformed') return undefined;
  if (asked.length === 1) return { ids: asked, absent };
  const text = error.cause instanceof Error ? error.cause.message : '';
  const named = new Set(text.match(/i-[0-9A-Za-z]+/g));
  return { ids: asked.filter((id) => named.has(id)), absent };
}

function unknown(error: unknown): Lookup & { state: 'unknown' } {
  return { state: 'unknown', error: asCloudError(error) };
}

function asCloudError(error: unknown): CloudError {
  if (isCloudError(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  return awsError('Unavailable', operation, message, { cause: error });
}

function several(name: string, hits: readonly Ec2Instance[]): Named {
  const ids = hits.map(({ InstanceId }) => InstanceId).join(', ');
  const message = `private-dns-name ${name} has several instances: ${ids}`;
  return { state: 'unknown', error: awsError('Conflict', operation, message) };
}

function noInstance(name: string, ofOthers: readonly Ec2Instance[]): Named {
  const ids = ofOthers.map(({ InstanceId }) => InstanceId).join(', ');
  const message =
    ids === ''
      ? `no instance has private-dns-name ${name}`
      : `no instance with private-dns-name ${name} has the tag of this cluster: ${ids}`;
  return { state: 'unknown', error: awsError('NotFound', operation, message) };
}
