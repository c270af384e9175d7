import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import { simulated } from '../../../../common/provider-id/simulated.ts';
import type { Answer, Found, Want, WriteIo } from '../../../engine/resource.ts';
import type { ApiRequest, JsonApi } from '../../json-api.ts';
import { ownerTags } from '../../load-balancers.ts';
import { cloud, refusalOf } from '../fault.ts';
import { foundAll, type Part, tagsFor } from '../found.ts';
import { type Listener, type LoadBalancer, type Pool, readLoadBalancer, type Tags } from '../load-balancer-answer.ts';
import type { MemberSets } from '../member-sets.ts';

export interface CallParts {
  readonly api: JsonApi;
  readonly region: string;
  readonly sets: MemberSets;
}

export type Calls = ReturnType<typeof createCalls>;

/** Members of answers are known by their digest. */
const quiet = [['inlineMembers', '0']] as const;

/** Changes of load balancers and their parts. */
export function createCalls({ api, region, sets }: CallParts) {
  /** Answers the whole load balancer; undefined: there is none any more. */
  async function send(request: ApiRequest, { permit, signal }: WriteIo): Promise<LoadBalancer | undefined> {
    const query = [...quiet, ...(request.query ?? [])];
    const answer = await namingMembers(() => api.call({ ...request, query, permit, signal }), region);
    return 'id' in answer.json() ? readLoadBalancer(answer, region, sets) : undefined;
  }
  async function change(request: ApiRequest, io: WriteIo): Promise<Answer> {
    const now = await send(request, io);
    return now === undefined ? {} : { found: foundAll(now) };
  }
  return {
    send,
    change,
    patch: (operation: string, path: string, within: LoadBalancer, body: object, io: WriteIo) =>
      change({ operation, method: 'PATCH', path, body: { ...body, ...guardOf(within, io) } }, io),
  };
}

/** The calls that are alike for pools and listeners. */
export function createPartCalls<P extends Listener | Pool>(
  parts: 'pools' | 'listeners',
  { change, patch: patchAt }: Calls,
) {
  const pathOf = ({ id, body }: Found<Part<P>>) => `/load-balancers/${body.within.id}/${parts}/${id}`;
  const patch = (found: Found<Part<P>>, body: object, io: WriteIo) =>
    patchAt(`${parts}.update`, pathOf(found), found.body.within, body, io);
  return {
    pathOf,
    patch,
    remove(found: Found<Part<P>>, io: WriteIo) {
      const query = guardQuery(found.body.within, io);
      return change({ operation: `${parts}.delete`, method: 'DELETE', path: pathOf(found), query }, io);
    },
    mark: (found: Found<Part<P>>, as: 'ours' | 'retained', want: Marking, io: WriteIo) =>
      patch(found, marksOf(as, found.body, want, io), io),
  };
}

/** On a load balancer of others, changes by others are none of ours. */
export function guardOf({ tags, revision }: LoadBalancer, { owner }: WriteIo): { readonly ifRevision?: number } {
  return tags[ownerTags.service] === owner.service ? { ifRevision: revision } : {};
}

export function guardQuery(within: LoadBalancer, io: WriteIo): NonNullable<ApiRequest['query']> {
  return Object.entries(guardOf(within, io)).map(([name, revision]) => [name, String(revision)] as const);
}

export function tokenOf(what: string, { owner: { cluster, service } }: WriteIo): string {
  return `${what} ${cluster} ${service}`;
}

type Marking = Want<{ readonly service: string }> | undefined;

/** The tags that say whose it is, and null for those that it loses. */
export function marksOf(
  as: 'ours' | 'retained',
  { tags }: { readonly tags: Tags },
  want: Marking,
  { owner }: WriteIo,
): { readonly tags: Readonly<Record<string, string | null>> } {
  const { [ownerTags.serviceName]: service = '' } = tags;
  if (as === 'ours') return { tags: { ...tagsFor(owner, want?.spec.service ?? service), [ownerTags.retained]: null } };
  return {
    tags: { [ownerTags.service]: null, [ownerTags.serviceName]: null, [ownerTags.retained]: service },
  };
}

/** In words. */
export function differencesOf(before: object, change: object): string {
  const old = before as Readonly<Record<string, unknown>>;
  const show = (value: unknown) => JSON.stringify(value) ?? 'none';
  return Object.entries(change)
    .map(([key, value]) => `${key} from ${show(old[key])} to ${show(value)}`)
    .join(', ');
}

/** Tells refused members by their providerIDs. */
async function namingMembers<T>(run: () => Promise<T>, region: string): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const refusal = refusalOf(error);
    if (!isCloudError(error) || refusal?.code !== 'invalid-member') throw error;
    const ids = refusal.details['ids'];
    const texts = Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
    const subjects = texts.map((instanceId) => simulated.print({ instanceId, region }));
    const { kind, operation } = error;
    throw new CloudError({ kind, cloud, operation, message: refusal.message, subjects, cause: refusal });
  }
}
