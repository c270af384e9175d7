import type { Answer, Change, Found, Want } from '../../../engine/resource.ts';
import { type Owner, ownerTags } from '../../load-balancers.ts';
import type { AlibabaClient, Mutating } from '../client.ts';
import type { Tags } from './found.ts';

/** What is tagged, as each API names it. */
export type ResourceType = 'instance' | 'acl' | 'loadbalancer' | 'servergroup';

/** Tags of what is made for a Service. */
export function marksOf(owner: Owner, service: string): Tags {
  const { cluster, service: uid, serviceName } = ownerTags;
  return { [cluster]: owner.cluster, [uid]: owner.service, [serviceName]: service };
}

export function tagList(tags: Tags) {
  return Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
}

export async function tag(
  client: AlibabaClient,
  type: ResourceType,
  id: string,
  tags: Tags,
  io: Mutating,
): Promise<Answer> {
  const product = type === 'instance' || type === 'acl' ? 'slb' : 'nlb';
  const params = { ResourceType: type, ResourceId: [id], Tag: tagList(tags) };
  await client.change(product, 'TagResources', params, io);
  return {};
}

interface Tagged {
  readonly tags: Tags;
}

/** For `tag`. Tags of what is taken over come with its mark. @param what for people */
export function tagChanges({ body, owner }: Found<Tagged>, tags: Tags, what: string): Change[] {
  const missing = Object.entries(tags).filter(([key, value]) => body.tags[key] !== value);
  if (owner === undefined || missing.length === 0) return [];
  const summary = `${what}: tags ${missing.map(([key]) => key).join(', ')}`;
  return [{ what: 'tags', phase: 'set', summary, body: Object.fromEntries(missing) }];
}

/** A tag says that it is retained, so that one call is enough; it says nothing while it is empty. */
export async function mark<Body extends Tagged>(
  client: AlibabaClient,
  type: ResourceType,
  found: Found<Body>,
  as: 'ours' | 'retained',
  want: Want<{ readonly tags: Tags }> | undefined,
  io: Mutating,
): Promise<Answer> {
  const { retained, serviceName } = ownerTags;
  const { owner: _, ...rest } = found;
  const { tags } = found.body;
  if (as === 'ours') {
    const reset = tags[retained] === undefined ? {} : { [retained]: '' };
    return tag(client, type, found.id, { ...want!.spec.tags, ...reset }, io);
  }
  const kept = { [retained]: tags[serviceName] || 'unknown' };
  await tag(client, type, found.id, kept, io);
  // The answer to its create outranks reads for a while: without this one, it would be marked again and again.
  return { found: [{ ...rest, retained: true, body: { ...found.body, tags: { ...tags, ...kept } } }] };
}
