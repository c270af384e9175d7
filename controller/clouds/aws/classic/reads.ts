import {
  DescribeLoadBalancerAttributesCommand,
  DescribeLoadBalancersCommand,
  DescribeTagsCommand,
  type LoadBalancerDescription,
} from '@aws-sdk/client-elastic-load-balancing';
import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import { type LoadBalancerRef, ownerTags } from '../../load-balancers.ts';
import { chunks, inParallel } from '../../parallel.ts';
import { tagMap } from '../cluster-tags.ts';
import { isClassicControllers, ownerIn, type Tags } from '../load-balancer-tags.ts';
import { everyPage } from '../pages.ts';
import type { AwsParts } from '../parts.ts';
import type { UsersOfGroups } from '../security-groups/group-users.ts';
import type { NetworkFacts } from '../security-groups/network-facts.ts';
import type { NetworkReads } from '../security-groups/network-reads.ts';
import type { SecurityGroupCalls } from '../security-groups/security-group-calls.ts';
import { trafficGroupOf } from '../security-groups/traffic-group.ts';
import type { ReadOptions } from '../service-calls.ts';
import {
  type Attributes,
  type ClassicLoadBalancer,
  readAttributes,
  readLoadBalancer,
} from './classic-load-balancer.ts';
import { assemble, type ClassicObserved, isOwn, ownGroupName, type Subject } from './observed.ts';

/** What network and classic load balancers share. */
export interface SharedNetwork {
  readonly reads: NetworkReads;
  readonly users: UsersOfGroups;
  readonly groups: SecurityGroupCalls;
}

export interface ClassicReads {
  observeAll(
    cluster: string,
    signal?: AbortSignal,
    adoptable?: readonly LoadBalancerRef[],
  ): Promise<readonly ClassicObserved[]>;
  observe(ref: LoadBalancerRef, signal?: AbortSignal): Promise<ClassicObserved | undefined>;
  /** One by its name, with its tags; undefined when it is not there. */
  get(name: string, options: ReadOptions): Promise<ClassicLoadBalancer | undefined>;
  /** What its attributes are now; undefined = they are about to change, and are read anew by the next look unless that is told, too. */
  noteAttributes(hostname: string, attributes: Attributes | undefined): void;
  /** By which providerIDs instances were registered. */
  readonly providerIds: Map<string, string>;
}

/** DescribeTags takes so many names. */
const namesPerTagsCall = 20;
/** Each costs a call of its own, and nobody but a person changes them behind us: a look at everything reads anew what is older than this, and so many at the most. */
const attributesFreshMs = 3_600_000;
const attributesAnew = 10;
const callsAtOnce = 4;

/** The service that stands for a traffic group which was left behind, so that it is found and can be removed as an orphan. */
export const leftoverService = 'traffic-group';

export function createClassicReads(
  parts: Pick<AwsParts, 'context' | 'elb' | 'cluster'>,
  network: SharedNetwork,
): ClassicReads {
  const { reads, users, groups } = network;
  const providerIds = new Map<string, string>();
  /** By host name. The oldest first. */
  const attributesSeen = new Map<string, { readonly attributes: Attributes; readonly atMs: number }>();
  const { clock } = parts.context;

  async function tagsOf(names: readonly string[], options: ReadOptions): Promise<ReadonlyMap<string, Tags>> {
    const found = new Map<string, Tags>();
    await inParallel(callsAtOnce, chunks(names, namesPerTagsCall), async (some) => {
      for (const [name, tags] of await tagsOfSome(some, options)) found.set(name, tags);
    });
    return found;
  }

  /** One that has gone since it was listed is left out, and does not spoil the others. What is said to have gone and is there makes the whole answer worth nothing. */
  async function tagsOfSome(
    names: readonly string[],
    options: ReadOptions,
  ): Promise<readonly (readonly [string, Tags])[]> {
    const command = new DescribeTagsCommand({ LoadBalancerNames: [...names] });
    try {
      const { TagDescriptions } = await parts.elb().read('DescribeTags', command, options);
      const found = new Map(
        (TagDescriptions ?? []).map(({ LoadBalancerName = '', Tags: tags }) => [LoadBalancerName, tagMap(tags)]),
      );
      const missing = names.find((name) => !found.has(name));
      if (missing !== undefined) throw incomplete(missing);
      return [...found];
    } catch (error) {
      if (!isCloudError(error) || error.kind !== 'NotFound') throw error;
      const [name = ''] = names;
      if (names.length === 1) {
        if ((await describe(name, options)) !== undefined) throw incomplete(name);
        return [];
      }
      const each = await inParallel(callsAtOnce, names, (one) => tagsOfSome([one], options));
      return each.flat();
    }
  }

  async function attributesOf(name: string, hostname: string, options: ReadOptions): Promise<Attributes | undefined> {
    const command = new DescribeLoadBalancerAttributesCommand({ LoadBalancerName: name });
    try {
      const answer = await parts.elb().read('DescribeLoadBalancerAttributes', command, options);
      const attributes = readAttributes(answer.LoadBalancerAttributes);
      noteAttributes(hostname, attributes);
      return attributes;
    } catch (error) {
      if (isCloudError(error) && error.kind === 'NotFound') return undefined;
      throw error;
    }
  }

  function noteAttributes(hostname: string, attributes: Attributes | undefined): void {
    attributesSeen.delete(hostname);
    if (attributes !== undefined) attributesSeen.set(hostname, { attributes, atMs: clock.monotonic() });
  }

  async function describe(name: string, options: ReadOptions): Promise<LoadBalancerDescription | undefined> {
    const command = new DescribeLoadBalancersCommand({ LoadBalancerNames: [name] });
    try {
      const { LoadBalancerDescriptions } = await parts.elb().read('DescribeLoadBalancers', command, options);
      return LoadBalancerDescriptions?.find(({ LoadBalancerName }) => LoadBalancerName === name);
    } catch (error) {
      if (isCloudError(error) && error.kind === 'NotFound') return undefined;
      throw error;
    }
  }

  async function get(name: string, options: ReadOptions): Promise<ClassicLoadBalancer | undefined> {
    const described = await describe(name, options);
    if (described === undefined) return undefined;
    const balancer = readLoadBalancer(described);
    const [tags, attributes] = await Promise.all([
      tagsOfSome([name], options),
      attributesOf(name, balancer.hostname, options),
    ]);
    const [found] = tags;
    return found === undefined ? undefined : { ...balancer, tags: found[1], attributes };
  }

  async function isAdoptable(
    ref: LoadBalancerRef,
    balancer: ClassicLoadBalancer,
    options: ReadOptions,
  ): Promise<boolean> {
    const { adopt, service, name } = ref;
    if (adopt === undefined || balancer.name !== name || !adopt.addresses.includes(balancer.hostname)) return false;
    return isClassicControllers(balancer.tags, service, await parts.cluster(options.signal));
  }

  async function observe(ref: LoadBalancerRef, signal?: AbortSignal): Promise<ClassicObserved | undefined> {
    const options: ReadOptions = { signal };
    const subject: Subject = { owner: ref.owner, name: ref.name, service: ref.service };
    const [balancer, before] = await Promise.all([get(ref.name, options), reads.facts([], options)]);
    if (balancer === undefined) {
      const facts = groups.left(ref.name, before);
      if (ref.owner.service === leftoverService) return leftover(ref.owner.cluster, facts);
      const common = { subject, facts, subnets: undefined, providerIds };
      return assemble({ ...common, balancer, isOurs: false, adopted: false });
    }
    const own = isOwn(balancer, subject);
    const adopted = !own && (await isAdoptable(ref, balancer, options));
    const [instances, subnets] = await Promise.all([
      reads.instances(balancer.instances, options),
      own || adopted ? reads.subnets(options) : undefined,
    ]);
    const facts: NetworkFacts = { ...before, instances, users: users.known() };
    return assemble({ subject, balancer, isOurs: own || adopted, adopted, facts, subnets, providerIds });
  }

  async function observeAll(
    cluster: string,
    signal?: AbortSignal,
    adoptable: readonly LoadBalancerRef[] = [],
  ): Promise<readonly ClassicObserved[]> {
    const options: ReadOptions = { urgency: 'refresh', signal };
    const [all, before] = await Promise.all([list(options), reads.facts([], options)]);
    users.listed(
      'classic',
      all.map(({ name, securityGroups }) => ({ name, groups: securityGroups })),
    );
    const tags = await tagsOf(
      all.map(({ name }) => name),
      options,
    );
    const found: { readonly subject: Subject; readonly balancer: ClassicLoadBalancer; readonly adopted: boolean }[] =
      [];
    const givenUp: ClassicLoadBalancer[] = [];
    for (const described of all.filter(({ name }) => tags.has(name))) {
      const balancer = { ...described, tags: tags.get(described.name) ?? {}, attributes: undefined };
      const { tags: its, name } = balancer;
      const owner = ownerIn(its, cluster);
      const service = its[ownerTags.serviceName] ?? '';
      if (owner !== undefined) {
        found.push({ subject: { owner, name, service }, balancer, adopted: false });
        continue;
      }
      const ref = adoptable.find((one) => one.name === name);
      if (ref !== undefined && (await isAdoptable(ref, balancer, options))) {
        found.push({ subject: { owner: ref.owner, name, service: ref.service }, balancer, adopted: true });
      } else if (its[ownerTags.cluster] === cluster && its[ownerTags.retained] !== undefined) givenUp.push(balancer);
    }
    const ids = new Set(found.flatMap(({ balancer }) => balancer.instances));
    const [instances, subnets] = await Promise.all([
      reads.instances([...ids], options),
      found.length > 0 ? reads.subnets(options) : undefined,
      readAttributesOf(found.map(({ balancer }) => balancer)),
    ]);
    const facts: NetworkFacts = { ...before, instances, users: users.known() };
    const common = { facts, subnets, providerIds };
    const observed = found.map(({ subject, balancer, adopted }) => {
      const attributes = attributesSeen.get(balancer.hostname)?.attributes;
      return assemble({ ...common, subject, adopted, balancer: { ...balancer, attributes }, isOurs: true });
    });
    const shown = givenUp.map((balancer) => {
      const subject = {
        owner: { cluster, service: '' },
        name: balancer.name,
        service: balancer.tags[ownerTags.retained] ?? '',
      };
      return assemble({ ...common, subject, balancer, isOurs: false, adopted: false });
    });
    const rest = remains(cluster, facts, new Set(found.map(({ subject }) => subject.owner.service)));
    const everything = [...observed, ...shown, ...rest].filter((one) => one !== undefined);
    return withSharedMembers(everything);

    async function readAttributesOf(balancers: readonly ClassicLoadBalancer[]): Promise<void> {
      const hostnames = new Set(balancers.map(({ hostname }) => hostname));
      for (const hostname of attributesSeen.keys()) if (!hostnames.has(hostname)) attributesSeen.delete(hostname);
      const staleMs = clock.monotonic() - attributesFreshMs;
      const stale = [...attributesSeen].filter(([, { atMs }]) => atMs <= staleMs).slice(0, attributesAnew);
      const oldest = new Set(stale.map(([hostname]) => hostname));
      const asked = balancers.filter(({ hostname }) => !attributesSeen.has(hostname) || oldest.has(hostname));
      await inParallel(callsAtOnce, asked, ({ name, hostname }) => attributesOf(name, hostname, options));
    }
  }

  async function list(options: ReadOptions) {
    return everyPage('DescribeLoadBalancers', async (marker) => {
      const command = new DescribeLoadBalancersCommand({ PageSize: 400, Marker: marker });
      const answer = await parts.elb().read('DescribeLoadBalancers', command, options);
      return { items: (answer.LoadBalancerDescriptions ?? []).map(readLoadBalancer), next: answer.NextMarker };
    });
  }

  /** Groups of ours in front of load balancers that are not there, and the traffic group when nobody is left to carry it. */
  function remains(cluster: string, facts: NetworkFacts, seen: ReadonlySet<string>): (ClassicObserved | undefined)[] {
    const owned = [...facts.groups.values()].flatMap((group) => {
      const owner = ownerIn(group.tags, cluster);
      return owner === undefined ? [] : [{ group, owner }];
    });
    const fronts = owned.filter(
      ({ group, owner }) => group.name.startsWith(ownGroupName('')) && !seen.has(owner.service),
    );
    const common = { facts, subnets: undefined, providerIds, balancer: undefined, isOurs: false, adopted: false };
    const observed = fronts.map(({ group, owner }) => {
      const name = group.name.slice(ownGroupName('').length);
      return assemble({ ...common, subject: { owner, name, service: group.tags[ownerTags.serviceName] ?? '' } });
    });
    return owned.length > 0 ? observed : [...observed, leftover(cluster, facts)];
  }

  function leftover(cluster: string, facts: NetworkFacts): ClassicObserved | undefined {
    const traffic = trafficGroupOf(facts, cluster);
    if (traffic === undefined || facts.users === undefined || (facts.users.get(traffic.id) ?? []).length > 0)
      return undefined;
    const subject: Subject = { owner: { cluster, service: leftoverService }, name: traffic.name, service: '' };
    const pieces = {
      ...{ subject, facts, subnets: undefined, providerIds, balancer: undefined },
      ...{ isOurs: false, adopted: false, leftover: traffic.id },
    };
    return assemble(pieces);
  }

  return { observe, observeAll, get, providerIds, noteAttributes };
}

function incomplete(name: string): CloudError {
  const message = `the answer leaves out load balancer ${name}, which is there`;
  return new CloudError({ kind: 'Unavailable', cloud: 'aws', operation: 'DescribeTags', message });
}

/** Hundreds of Services have equal sets of thousands of members: one array for all of them. */
function withSharedMembers(all: readonly ClassicObserved[]): readonly ClassicObserved[] {
  const lists = new Map<string, ClassicObserved['members']>();
  return all.map((one) => {
    const key = one.members.map(({ providerID }) => providerID).join(' ');
    const held = lists.get(key);
    if (held !== undefined) return { ...one, members: held };
    lists.set(key, one.members);
    return one;
  });
}
