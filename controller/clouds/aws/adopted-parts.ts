import { type CloudErrorKind, isCloudError } from '../../../common/cloud-error.ts';
import { errorFields } from '../../../common/process/log.ts';
import type { Found, WriteIo } from '../../engine/resource.ts';
import { isClassicControllers, serviceNameTag, type Tags, tagsFor } from './load-balancer-tags.ts';
import type { LoadBalancerView } from './load-balancer-view.ts';
import { targetGroupOf } from './nlb/answers.ts';
import type { TagMarks } from './nlb/marks.ts';
import type { NlbQueries } from './nlb/queries.ts';
import { showTargetGroup } from './nlb/resources.ts';
import type { AwsParts } from './parts.ts';
import { type FrontBody, groupKinds, isClassicFront } from './security-groups/group-resources.ts';
import type { SecurityGroupCalls } from './security-groups/security-group-calls.ts';

/*
 * The load balancer alone tells whose the parts are that the classic controller made for it. They get our tags before
 * that ends: before a listener turns to another target group, and before the load balancer goes, while AWS keeps its
 * parts in use. The tags are a help and no more, so nothing waits for them that another try would not mend.
 */

interface Context {
  readonly parts: Pick<AwsParts, 'context'>;
  readonly view: LoadBalancerView;
}
type Balancer = Found<{ readonly tags: Tags }>;

const isFinal = (kind: CloudErrorKind) => ['NotFound', 'Forbidden', 'Invalid', 'QuotaExceeded'].includes(kind);

/** Whether it was tagged. */
async function tried(part: string, { context }: Context['parts'], tag: Promise<unknown>): Promise<boolean> {
  try {
    await tag;
    return true;
  } catch (error) {
    if (!isCloudError(error) || !isFinal(error.kind)) throw error;
    const fields = { cloud: 'aws', part, ...errorFields(error) };
    // What is gone needs none.
    if (error.kind !== 'NotFound') context.log.warn('an adopted part gets no tags, and may be left behind', fields);
    return false;
  }
}

/** Tags the target groups of a load balancer that is not marked yet. Answers them as they are then. */
export async function tagTargetGroups(
  { id, body }: Balancer,
  {
    parts,
    view,
    queries,
    marks,
  }: Context & {
    readonly queries: Pick<NlbQueries, 'targetGroups' | 'tagsOf'>;
    readonly marks: Pick<TagMarks, 'of' | 'add'>;
  },
  io: WriteIo,
): Promise<readonly Found[]> {
  const service = body.tags[serviceNameTag] ?? '';
  const options = { urgency: 'change', signal: io.signal } as const;
  const answers = await queries.targetGroups({ LoadBalancerArn: id }, options);
  const arns = answers.map(({ TargetGroupArn = '' }) => TargetGroupArn);
  const tags = await queries.tagsOf(arns, options);
  const added = marks.of(io.owner, { service, tags: {} });
  const tagged: Found[] = [];
  for (const answer of answers) {
    const group = targetGroupOf(answer, tags.get(answer.TargetGroupArn ?? '') ?? {});
    if (!isClassicControllers(group.tags, service, view.marks!.tags)) continue;
    if (await tried(group.arn, parts, marks.add(group.arn, added, io)))
      tagged.push(showTargetGroup({ ...group, tags: { ...group.tags, ...added } }, view));
  }
  return tagged;
}

/** Tags the group in front of a load balancer that is not marked yet. Answers it as it is then. */
export async function tagFront(
  { id, body }: Balancer,
  { parts, view, groups }: Context & { readonly groups: Pick<SecurityGroupCalls, 'tag'> },
  io: WriteIo,
): Promise<readonly Found[]> {
  const service = body.tags[serviceNameTag] ?? '';
  const tags = tagsFor({ owner: io.owner, service }, { owned: {} });
  const isIts = ({ kind, owner, body: front }: Found<FrontBody>) =>
    kind === groupKinds.front &&
    owner === undefined &&
    front.carrier?.id === id &&
    isClassicFront(front, service, view);
  const ids = (view.showGroups() as Found<FrontBody>[]).filter(isIts).map((front) => front.id);
  for (const each of ids) await tried(each, parts, groups.tag(each, tags, io));
  return view.showGroups().filter((one) => ids.includes(one.id));
}
