import { AddTagsCommand, RemoveTagsCommand } from '@aws-sdk/client-elastic-load-balancing-v2';
import type { Change, Found, Want, WriteIo } from '../../../engine/resource.ts';
import { type Owner, ownerTags } from '../../load-balancers.ts';
import { ownerTagsOf, sdkTags, type Tags, tagsFor } from '../load-balancer-tags.ts';
import type { LoadBalancerView } from '../load-balancer-view.ts';
import type { AwsParts } from '../parts.ts';

/** What everything that is made for one Service is tagged with. */
export interface TagSpec {
  /** `namespace/name` */
  readonly service: string;
  /** Beside the owner's. */
  readonly tags: Tags;
}

interface Tagged {
  readonly arn: string;
  readonly tags: Tags;
}

export type TagMarks = ReturnType<typeof createTagMarks>;

const ofOwner = [ownerTags.service, ownerTags.serviceName];

/** Tags of load balancers, listeners and target groups. */
export function createTagMarks(parts: Pick<AwsParts, 'elbv2'>, view: Pick<LoadBalancerView, 'marks'>) {
  /** All that one of ours carries. */
  const of = (owner: Owner, { service, tags }: TagSpec) => tagsFor({ owner, service }, view.marks!.tags, tags);

  async function add(arn: string, tags: Tags, { permit, signal }: WriteIo): Promise<void> {
    await parts.elbv2().change(new AddTagsCommand({ ResourceArns: [arn], Tags: sdkTags(tags) }), { permit, signal });
  }

  return {
    of,
    add,
    /** What is missing of one of ours; of one that is not marked yet, nothing. */
    changes({ owner, body }: Found<Tagged>, spec: TagSpec, name: string): readonly Change[] {
      if (owner === undefined || view.marks === undefined) return [];
      const missing = Object.entries(of(owner, spec)).filter(([key, value]) => body.tags[key] !== value);
      if (missing.length === 0) return [];
      const summary = `tags of ${name}: ${missing.map(([key, value]) => `${key}=${value}`).join(', ')}`;
      return [{ what: 'tags', phase: 'set', summary, body: Object.fromEntries(missing) }];
    },
    /** As it is then. */
    async mark<Body extends Tagged>(
      { within, body }: Found<Body>,
      as: 'ours' | 'retained',
      want: Want<TagSpec | undefined> | undefined,
      io: WriteIo,
    ): Promise<Body> {
      const { arn, tags } = body;
      if (as === 'ours') {
        // One that stays as it stands has no spec.
        const spec = want?.spec;
        const added = spec === undefined ? ownerTagsOf(io.owner, view.marks!.tags, tags) : of(io.owner, spec);
        await add(arn, added, io);
        return { ...body, tags: { ...tags, ...added } };
      }
      // The load balancer says that it was kept before its owner's tags go: until then it is found by them.
      if (within === undefined && arn.includes(':loadbalancer/') && tags[ownerTags.retained] === undefined) {
        const kept = { [ownerTags.cluster]: io.owner.cluster, [ownerTags.retained]: tags[ownerTags.serviceName] ?? '' };
        await add(arn, kept, io);
        return { ...body, tags: { ...tags, ...kept } };
      }
      const command = new RemoveTagsCommand({ ResourceArns: [arn], TagKeys: ofOwner });
      const { permit, signal } = io;
      if (ofOwner.some((key) => tags[key] !== undefined)) await parts.elbv2().change(command, { permit, signal });
      const left = Object.entries(tags).filter(([key]) => !ofOwner.some((one) => one === key));
      return { ...body, tags: Object.fromEntries(left) };
    },
  };
}
