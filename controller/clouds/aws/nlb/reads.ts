import { DescribeLoadBalancersCommand, DescribeTargetGroupsCommand } from '@aws-sdk/client-elastic-load-balancing-v2';
import { type LoadBalancerRef, type Owner, ownerTags } from '../../load-balancers.ts';
import type { ClusterTags } from '../cluster-tags.ts';
import { ownedBy, ownerIn, type Tags } from '../load-balancer-tags.ts';
import type { AwsParts } from '../parts.ts';
import type { UsersOfGroups } from '../security-groups/group-users.ts';
import type { NetworkReads } from '../security-groups/network-reads.ts';
import type { ReadOptions } from '../service-calls.ts';
import { loadBalancerOf, targetGroupOf } from './answers.ts';
import { createDeepReads } from './deep-reads.ts';
import { createKept, type Kept } from './kept.ts';
import { leftGroups } from './left.ts';
import { partNameForm, targetGroupPrefix } from './names.ts';
import {
  assemble,
  isLeftToOthers,
  type LoadBalancer,
  type NlbObserved,
  type Subject,
  type TargetGroup,
} from './observed.ts';
import { createNlbQueries } from './queries.ts';

/** As this controller and the classic one name load balancers of Services. */
const nameForm = /^a[0-9a-f]{31}$/;

export interface NlbReads {
  observe(ref: LoadBalancerRef, signal?: AbortSignal): Promise<NlbObserved | undefined>;
  observeAll(
    cluster: string,
    signal?: AbortSignal,
    adoptable?: readonly LoadBalancerRef[],
  ): Promise<readonly NlbObserved[]>;
  /** One by its name; undefined = there is none. */
  named(name: string, options?: ReadOptions): Promise<LoadBalancer | undefined>;
  /** One target group by its name, complete; undefined = there is none. */
  groupNamed(name: string, options?: ReadOptions): Promise<TargetGroup | undefined>;
  /** The listeners of one load balancer, with their tags; those that are known keep theirs. */
  listeners(arn: string, options?: ReadOptions, known?: LoadBalancer['listeners']): Promise<LoadBalancer['listeners']>;
  /** Its last user has ended a load balancer that was left to it. */
  noteEnded(by: Owner, arn: string): void;
  /** Undefined when it is gone. */
  tags(arn: string, options?: ReadOptions): Promise<Tags | undefined>;
  /** What a look at everything need not ask for again. */
  readonly kept: Kept;
  /** The cluster as the tags know it, once it was found out. */
  cluster(): ClusterTags | undefined;
  awaitCluster(signal?: AbortSignal): Promise<ClusterTags>;
  /** One page of each kind, to prove that they may be read. */
  probe(options?: ReadOptions): Promise<void>;
}

export function createNlbReads(parts: AwsParts, network: NetworkReads, users: UsersOfGroups): NlbReads {
  const { region } = parts;
  const arnForm = new RegExp(
    `^arn:[\\w-]+:elasticloadbalancing:${region}:\\d{12}:loadbalancer/(net|app|gwy)/[\\w-]+/\\w+$`,
  );
  const kept = createKept(parts.context.clock, parts.context.random);
  const queries = createNlbQueries(parts, network);
  const deep = createDeepReads({ queries, network, users, kept });
  let known: ClusterTags | undefined;
  /** By UID of the Service: what it ended that had been left to it, as long as security groups of that may be there. */
  const endings = new Map<string, readonly string[]>();

  async function awaitCluster(signal?: AbortSignal): Promise<ClusterTags> {
    known = await parts.cluster(signal);
    return known;
  }

  return {
    kept,
    cluster: () => known,
    awaitCluster,
    listeners: (arn, options = {}, known = []) => queries.listeners(arn, options, known),
    noteEnded: ({ service }, arn) => void endings.set(service, [...(endings.get(service) ?? []), arn]),
    tags: async (arn, options = {}) => (await queries.tagsOf([arn], options)).get(arn),

    async observe(ref, signal) {
      const options: ReadOptions = { signal };
      const { owner, name, service, id, attachTo } = ref;
      const arns = [...new Set([id, attachTo])].filter((arn) => arn !== undefined && arnForm.test(arn)) as string[];
      const [cluster, byArn, listed, early] = await Promise.all([
        awaitCluster(signal),
        Promise.all(arns.map((arn) => queries.loadBalancers({ LoadBalancerArns: [arn] }, options))),
        queries.targetGroups({}, options),
        network.facts([], options),
      ]);
      // A name is given once.
      const isNamed = byArn.flat().some(({ LoadBalancerName }) => LoadBalancerName === name);
      const byName = isNamed ? [] : await queries.loadBalancers({ Names: [name] }, options);
      if (!isNamed && byName.length === 0) users.left(name);
      const answers = new Map([...byArn.flat(), ...byName].map((answer) => [answer.LoadBalancerArn ?? '', answer]));
      const prefix = targetGroupPrefix(service);
      const candidates = listed.filter(({ TargetGroupName }) => TargetGroupName?.startsWith(prefix));
      const groupTags = await queries.tagsOf(
        [...candidates.map(({ TargetGroupArn = '' }) => TargetGroupArn), ...answers.keys()],
        options,
      );
      const groups = candidates.flatMap((answer) => {
        const tags = groupTags.get(answer.TargetGroupArn ?? '');
        return tags ? [targetGroupOf(answer, tags)] : [];
      });
      // Ours on a load balancer that nobody names any more.
      const elsewhere = groups
        .filter(({ tags }) => ownedBy(tags, owner))
        .flatMap(({ loadBalancers: its }) => its)
        .filter((arn) => !answers.has(arn));
      const more = (
        await Promise.all(
          [...new Set(elsewhere)].map((arn) => queries.loadBalancers({ LoadBalancerArns: [arn] }, options)),
        )
      ).flat();
      const moreTags = await queries.tagsOf(
        more.map(({ LoadBalancerArn = '' }) => LoadBalancerArn),
        options,
      );
      for (const answer of more) answers.set(answer.LoadBalancerArn ?? '', answer);
      const all = [...answers].flatMap(([arn, answer]) => {
        const tags = groupTags.get(arn) ?? moreTags.get(arn);
        return tags ? [loadBalancerOf(answer, tags)] : [];
      });
      const subject: Subject = { owner, name, service, attachTo };
      const wanted = { subject, adopt: ref.adopt, asked: arns, ended: endings.get(owner.service) };
      const [observed] = await deep.deepen([wanted], { all, groups, cluster, options, early });
      if (leftGroups(early, owner.cluster, wanted.ended ?? []).length === 0) endings.delete(owner.service);
      return observed;
    },

    async observeAll(cluster, signal, adoptable = []) {
      const options: ReadOptions = { urgency: 'refresh', signal };
      const [clusterTags, balancers, listed, early] = await Promise.all([
        awaitCluster(signal),
        queries.loadBalancers({}, options),
        queries.targetGroups({}, options),
        network.facts([], options),
      ]);
      users.listed(
        'nlb',
        balancers.map(({ LoadBalancerName: name = '', SecurityGroups: groups = [] }) => ({ name, groups })),
      );
      const refs = new Map(adoptable.map((ref) => [ref.name, ref]));
      const candidates = balancers.filter(
        ({ Type, LoadBalancerName = '' }) =>
          Type === 'network' && (nameForm.test(LoadBalancerName) || refs.has(LoadBalancerName)),
      );
      const candidateGroups = listed.filter(({ TargetGroupName = '' }) => partNameForm.test(TargetGroupName));
      const tags = await queries.tagsOf(
        [
          ...candidates.map(({ LoadBalancerArn = '' }) => LoadBalancerArn),
          ...candidateGroups.map(({ TargetGroupArn = '' }) => TargetGroupArn),
        ],
        options,
      );
      const groups = candidateGroups.flatMap((answer) => {
        const its = tags.get(answer.TargetGroupArn ?? '');
        return its ? [targetGroupOf(answer, its)] : [];
      });
      const bound = new Set(
        groups.filter((group) => ownerIn(group.tags, cluster)).flatMap(({ loadBalancers: arns }) => arns),
      );
      const others = balancers.filter(
        ({ LoadBalancerArn = '' }) => bound.has(LoadBalancerArn) && !tags.has(LoadBalancerArn),
      );
      const otherTags = await queries.tagsOf(
        others.map(({ LoadBalancerArn = '' }) => LoadBalancerArn),
        options,
      );
      const all = [...candidates, ...others].flatMap((answer) => {
        const arn = answer.LoadBalancerArn ?? '';
        const its = tags.get(arn) ?? otherTags.get(arn);
        return its ? [loadBalancerOf(answer, its)] : [];
      });
      const owners = new Map<string, Owner>();
      const services = new Map<string, string>();
      const note = (its: Tags) => {
        const owner = ownerIn(its, cluster);
        if (!owner) return;
        owners.set(owner.service, owner);
        const service = its[ownerTags.serviceName];
        if (service !== undefined) services.set(owner.service, service);
      };
      for (const { tags: its } of [...all, ...groups]) note(its);
      for (const { name, tags: its } of early.groups.values()) if (partNameForm.test(name)) note(its);
      const subjects = [...owners.values()].map((owner) => {
        const adoptRef = adoptable.find((ref) => ref.owner.service === owner.service);
        const own = all.find(({ tags: its }) => ownedBy(its, owner));
        const name = adoptRef?.name ?? own?.name ?? defaultName(owner);
        const service = services.get(owner.service) ?? adoptRef?.service ?? '';
        return {
          subject: { owner, name, service, attachTo: undefined },
          adopt: adoptRef?.adopt,
          ended: endings.get(owner.service),
        };
      });
      const adopted = adoptable
        .filter(({ owner, adopt }) => adopt !== undefined && !owners.has(owner.service))
        .map(({ owner, name, service, attachTo, adopt }) => ({ subject: { owner, name, service, attachTo }, adopt }));
      const observed = await deep.deepen([...subjects, ...adopted], {
        all,
        groups,
        cluster: clusterTags,
        options,
        early,
      });
      kept.retain(new Set([...balancers.map((one) => one.LoadBalancerArn ?? ''), ...groups.map(({ arn }) => arn)]));
      const ofNobody = (one: LoadBalancer) =>
        assemble({
          ...{ subject: undefined, own: undefined, hosts: [], foreign: one, groups: [], ended: [] },
          ...{ network: early, subnets: [], adopted: false, cluster: clusterTags },
        });
      const retained = all
        .filter(({ tags: its }) => its[ownerTags.cluster] === cluster && its[ownerTags.service] === undefined)
        .map(ofNobody);
      return [
        ...observed.map((one) => (one && isLeftToOthers(one) ? ofNobody(one.pieces.own!) : one)),
        ...retained,
      ].filter((one) => one !== undefined && (one.owner !== undefined || one.retained)) as NlbObserved[];
    },

    async named(name, options = {}) {
      const [answer] = await queries.loadBalancers({ Names: [name] }, options);
      if (!answer) return undefined;
      const tags = await queries.tagsOf([answer.LoadBalancerArn ?? ''], options);
      const its = tags.get(answer.LoadBalancerArn ?? '');
      return its && deep.complete(loadBalancerOf(answer, its), { ours: true, groups: [], options });
    },

    async groupNamed(name, options = {}) {
      const [answer] = await queries.targetGroups({ Names: [name] }, options);
      if (!answer) return undefined;
      const its = (await queries.tagsOf([answer.TargetGroupArn ?? ''], options)).get(answer.TargetGroupArn ?? '');
      return its && deep.completeGroup(targetGroupOf(answer, its), options);
    },

    async probe(options = {}) {
      const elbv2 = parts.elbv2();
      await elbv2.read('DescribeLoadBalancers', new DescribeLoadBalancersCommand({ PageSize: 1 }), options);
      await elbv2.read('DescribeTargetGroups', new DescribeTargetGroupsCommand({ PageSize: 1 }), options);
    },
  };
}

function defaultName({ service }: Owner): string {
  return `a${service.replaceAll('-', '')}`.slice(0, 32);
}
