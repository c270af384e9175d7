import type { Found, WriteIo } from '../../../engine/resource.ts';
import { isClassicControllers, serviceNameTag } from '../load-balancer-tags.ts';
import type { LoadBalancerView } from '../load-balancer-view.ts';
import { tagFront } from '../security-groups/group-kinds.ts';
import type { SecurityGroupCalls } from '../security-groups/security-group-calls.ts';
import { targetGroupOf } from './answers.ts';
import type { TagMarks } from './marks.ts';
import type { Listener, NetworkLoadBalancer } from './network-load-balancer.ts';
import type { NlbQueries } from './queries.ts';
import { showTargetGroup } from './resources.ts';

export interface PartsContext {
  readonly queries: Pick<NlbQueries, 'targetGroups' | 'tagsOf'>;
  readonly marks: Pick<TagMarks, 'of' | 'add'>;
  readonly groups: Pick<SecurityGroupCalls, 'tag'>;
  readonly view: LoadBalancerView;
}

/**
 * Our tags for the parts of an adopted load balancer that outlive it: that goes first, and alone tells whose they are,
 * which AWS keeps in use for a while. Answers them as they are then.
 */
export async function tagParts(
  balancer: Found<NetworkLoadBalancer>,
  listeners: readonly Listener[],
  { queries, marks, groups, view }: PartsContext,
  io: WriteIo,
): Promise<readonly Found[]> {
  const service = balancer.body.tags[serviceNameTag] ?? '';
  const options = { urgency: 'change', signal: io.signal } as const;
  const arns = [...new Set(listeners.flatMap(({ group }) => group ?? []))];
  const added = marks.of(io.owner, { service, tags: {} });
  const tagged: Found[] = [];
  const tags = await queries.tagsOf(arns, options);
  for (const answer of arns.length === 0 ? [] : await queries.targetGroups({ TargetGroupArns: arns }, options)) {
    const group = targetGroupOf(answer, tags.get(answer.TargetGroupArn ?? '') ?? {});
    if (!isClassicControllers(group.tags, service, view.marks!.tags)) continue;
    await marks.add(group.arn, added, io);
    tagged.push(showTargetGroup({ ...group, tags: { ...group.tags, ...added } }, view));
  }
  return [...tagged, ...(await tagFront(balancer, { groups, view }, io))];
}
