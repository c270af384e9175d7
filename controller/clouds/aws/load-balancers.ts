import { aws } from '../../../common/provider-id/aws.ts';
import type { Comparison, Desire, Found, Kind, Refusal } from '../../engine/resource.ts';
import type { AdoptionInput, DesireInput, LoadBalancerDriver } from '../load-balancer-driver.ts';
import { type DesiredLoadBalancer, type ObservedMember, ownerTags } from '../load-balancers.ts';
import { createClassicKinds } from './classic/balancer-kinds.ts';
import type { ClassicLoadBalancer } from './classic/classic-load-balancer.ts';
import { desireClassic } from './classic/desire.ts';
import { createClassicQueries } from './classic/queries.ts';
import { classicKinds, isClassic } from './classic/resources.ts';
import { annotationDefinitions, annotationPrefix, keys } from './load-balancer-annotations.ts';
import { createLoadBalancerReader, type ToRead } from './load-balancer-reader.ts';
import { isClassicControllers } from './load-balancer-tags.ts';
import { createLoadBalancerView, defaultName, type LoadBalancerView, slotOf } from './load-balancer-view.ts';
import { createNetworkBalancerKinds } from './nlb/balancer-kinds.ts';
import { desireNetwork } from './nlb/desire.ts';
import { guestsRefusal } from './nlb/desire-spec.ts';
import { createListenerKind } from './nlb/listener-kind.ts';
import { createTagMarks } from './nlb/marks.ts';
import { isNetwork, type NetworkLoadBalancer, type TargetGroup, type TargetList } from './nlb/network-load-balancer.ts';
import { createNlbQueries } from './nlb/queries.ts';
import { networkKinds } from './nlb/resources.ts';
import { createTargetGroupKinds } from './nlb/target-group-kinds.ts';
import { memberChoice, readNodeLabels } from './node-labels.ts';
import type { AwsParts } from './parts.ts';
import { type BalancerType, createCarriers, typeOfId } from './security-groups/carriers.ts';
import { createGroupKinds, type GroupKindsParts } from './security-groups/group-kinds.ts';
import {
  type FrontBody,
  frontKeys,
  frontName,
  isClassicFront,
  type NodeRule,
} from './security-groups/group-resources.ts';
import { createNetworkReads } from './security-groups/network-reads.ts';
import { createNodeRuleKind } from './security-groups/node-rule-kind.ts';
import { createSecurityGroupCalls } from './security-groups/security-group-calls.ts';
import { type DesireParts, keepAll, ownOf } from './standing.ts';

/**
 * Load balancers of AWS as resources: network ones for Services whose annotation asks for them, classic ones for
 * others. Both share the rules on the nodes' security groups.
 */
export function createLoadBalancers(parts: AwsParts) {
  const { config, allowedGroups } = parts;
  const reads = createNetworkReads(parts);
  const [classicQueries, queries] = [createClassicQueries(parts), createNlbQueries(parts, reads)];
  const carriers = createCarriers(parts.context.clock, [classicQueries, queries]);
  const view = createLoadBalancerView(reads, carriers);
  const calls = createSecurityGroupCalls(parts, reads, carriers);
  const marks = createTagMarks(parts, view);
  const common = { parts, reads, carriers, groups: calls, view };
  const classic = createClassicKinds({ ...common, queries: classicQueries });
  const network = createNetworkBalancerKinds({ ...common, queries, marks });
  const groups: GroupKindsParts = { reads, calls, view, carriersOf: carriers.of };
  /** By which providerIDs instances became members, for those that EC2 does not show any more. */
  const providerIds = new Map<string, string>();
  const toRead: ToRead = { hosts: new Set(), types: new Map() };
  const desireParts: DesireParts = {
    config,
    allowedGroups,
    view,
    lastSubnets: reads.lastSubnets,
    idOf(providerID) {
      const id = instanceIn(parts.region, providerID);
      if (id !== undefined) providerIds.set(id, providerID);
      return id;
    },
  };
  const providerIdOf = (id: string) => {
    const zone = reads.knownInstances([id]).get(id)?.zone;
    // What accepts providerIDs takes a bare id, too.
    return zone ? `aws:///${zone}/${id}` : (providerIds.get(id) ?? id);
  };
  const members = createMemberLists(providerIdOf);
  const driver: LoadBalancerDriver = {
    annotations: annotationDefinitions,
    annotationPrefixes: [annotationPrefix],
    ...memberChoice,
    // A member that leaves is deregistered at once; AWS lets its connections end.
    drains: false,
    main: classicKinds.balancer,
    kinds: [
      eitherBalancer(classic.balancer as Kind, network.balancer as Kind),
      classic.attributes,
      network.attributes,
      createListenerKind(parts, marks, view) as Kind,
      ...createTargetGroupKinds({ parts, reads, queries, marks, view }),
      ...createGroupKinds(groups),
      createNodeRuleKind(groups) as Kind,
    ],
    readers: [createLoadBalancerReader({ ...common, classic: classicQueries, network: queries, providerIdOf, toRead })],
    desire(input) {
      const { attach, owner } = input.desired;
      if (attach !== undefined) toRead.hosts.add(attach.id);
      const types = toRead.types.get(owner.service) ?? new Set();
      toRead.types.set(owner.service, types.add(typeOf(input.desired)));
      return desireOf(input, desireParts);
    },
    poll: async () => new Map(),
    slots: ({ name }) => [slotOf(name)],
    show({ body, address }) {
      const { name, tags, createdAtMs, hostname } = body as ClassicLoadBalancer | NetworkLoadBalancer;
      const service = tags[ownerTags.serviceName] ?? tags[ownerTags.retained];
      const ingress = address === undefined || hostname === '' ? [] : [{ hostname: address }];
      return { name, ingress, createdAtMs, service };
    },
    members,
    adopts: (found, input) => adoptedKey(found, input, view),
  };
  return { driver, reads };
}

/** The instance of a providerID, when this region could hold it. */
function instanceIn(region: string, providerID: string): string | undefined {
  const known = aws.parse(providerID);
  const isHere = known !== undefined && (known.zone === undefined || known.zone.startsWith(region));
  return isHere ? known.instanceId : undefined;
}

/** One kind for both types: a Service has one load balancer, and a change of its type is a replacement. */
function eitherBalancer(classic: Kind, network: Kind): Kind {
  const of = (one: unknown) => (isNetwork(one) || isNetworkSpec(one) ? network : classic);
  return {
    kind: classic.kind,
    retryCreate: 'atOnce',
    compare(found, spec, pointsAt): Comparison {
      if (spec === undefined) return { same: true };
      if (isNetwork(found.body) === isNetworkSpec(spec)) return of(spec).compare(found, spec, pointsAt);
      const type = isNetwork(found.body) ? 'network' : 'classic';
      // Names are unique over both types.
      return { replace: `it is a ${type} one`, order: 'deleteFirst' };
    },
    fresh: (want) => of(want.spec).fresh!(want),
    create: (want, inside, io) => of(want.spec).create!(want, inside, io),
    update: (found, change, io) => of(found.body).update!(found, change, io),
    remove: (found, io) => of(found.body).remove!(found, io),
    mark: (found, as, want, io) => of(found.body).mark!(found, as, want, io),
  };
}

function isNetworkSpec(spec: unknown): boolean {
  return typeof spec === 'object' && spec !== null && 'addressType' in spec && !('listeners' in spec);
}

function typeOf({ attach, annotations }: DesiredLoadBalancer): BalancerType {
  if (attach !== undefined) return typeOfId(attach.id);
  return annotations[keys.type]?.trim() === 'nlb' ? 'network' : 'classic';
}

/** Pure. */
function desireOf(given: DesireInput, parts: DesireParts): Desire {
  const { desired } = given;
  const type = desired.annotations[keys.type]?.trim() ?? '';
  const refusals: Refusal[] = [];
  const refuse = (message: string) => void refusals.push({ reason: 'Unsupported', message });
  const balancers = ownOf<unknown>(given, classicKinds.balancer);
  const has: Readonly<Record<BalancerType, boolean>> = {
    classic: balancers.some(({ body }) => isClassic(body)),
    network: balancers.some(({ body }) => isNetwork(body)) || ownOf(given, networkKinds.listener).length > 0,
  };
  if (type === 'nlb-ip' || type === 'external') {
    const of = 'is of the AWS load balancer controller, which has to serve it';
    refuse(`${keys.type}: ${JSON.stringify(type)} ${of}; expected nlb, or nothing for a classic one`);
    return { wants: keepAll(given), refusals };
  }
  if (readNodeLabels(desired.annotations) === undefined) {
    const value = JSON.stringify(desired.annotations[keys.targetNodeLabels]);
    const expected = 'expected key=value pairs, separated by commas; an empty value = any';
    refuse(`${keys.targetNodeLabels}: ${value}, ${expected}`);
    if (!has.classic && !has.network) return { wants: keepAll(given), refusals };
  }
  const input = refusals.length === 0 ? given : { ...given, desired: { ...desired, members: remaining(given, parts) } };
  const kind = typeOf(desired);
  const other = kind === 'network' ? 'classic' : 'network';
  const desire = { classic: desireClassic, network: desireNetwork };
  const planned = desire[kind](input, parts);
  const told = [...refusals, ...planned.refusals];
  if (has[kind] || !has[other]) return { ...planned, refusals: told };
  // Nothing is deleted before it is certain that something comes in its place.
  const isCertain = planned.wants.some(({ kind: of, spec, use }) => of === classicKinds.balancer && (spec ?? use));
  const inTheWay = kind === 'classic' ? guestsRefusal(input) : undefined;
  if (desired.mayChangeAddress && isCertain && inTheWay === undefined) return { ...planned, refusals: told };
  const names = { network: 'a network', classic: 'a classic' };
  const current = `${desired.service} has ${names[other]} load balancer`;
  const message = `${keys.type}: ${current}; ${names[kind]} one has another address`;
  const instead = desire[other](input, parts);
  const why: readonly Refusal[] = desired.mayChangeAddress
    ? [...told, ...(inTheWay === undefined ? [] : [inTheWay])]
    : [...refusals, { reason: 'AddressWouldChange', message }];
  return { ...instead, refusals: [...why, ...instead.refusals] };
}

/** Where it cannot be told which Nodes are meant, none joins; what is no member any more goes all the same. */
function remaining(input: DesireInput, { idOf }: DesireParts) {
  const instances = ownOf<ClassicLoadBalancer>(input, classicKinds.balancer).flatMap(
    ({ body }) => body.instances ?? [],
  );
  const targets = ownOf<TargetList>(input, networkKinds.targets).flatMap(({ body }) => body.targets);
  const held = new Set([...instances, ...targets.map(({ providerID }) => idOf(providerID) ?? providerID)]);
  return input.desired.members
    .filter(({ providerID }) => held.has(idOf(providerID) ?? ''))
    .map((member) => ({ ...member, addresses: [] }));
}

/** Name, tags and address have to agree; what belongs to the load balancer shows its address. */
function adoptedKey(found: Found, input: AdoptionInput, view: LoadBalancerView) {
  const { owner, service, proof } = input;
  const { marks } = view;
  if (marks === undefined) return undefined;
  const name = defaultName(owner.service);
  const carrier = view.carrier(name);
  const isAddress = (hostname: string | undefined) => hostname !== undefined && proof.addresses.includes(hostname);
  const isTheirs =
    isAddress(carrier?.hostname) &&
    carrier!.tags !== undefined &&
    isClassicControllers(carrier!.tags, service, marks.tags);
  switch (found.kind) {
    case classicKinds.balancer: {
      const balancer = found.body as ClassicLoadBalancer | NetworkLoadBalancer;
      const isIt = balancer.name === name && isAddress(balancer.hostname);
      return isIt && isClassicControllers(balancer.tags, service, marks.tags) ? 'main' : undefined;
    }
    case networkKinds.targetGroup: {
      const { loadBalancers, tags, name: its } = found.body as TargetGroup;
      const isIt = isTheirs && loadBalancers.includes(carrier!.id);
      // Until the load balancer itself is marked.
      const isLeft = input
        .found(classicKinds.balancer)
        .some(({ id, owner: of }) => id === carrier?.id && of === undefined);
      return isIt && isLeft && isClassicControllers(tags, service, marks.tags) ? its : undefined;
    }
    case classicKinds.front: {
      const front = found.body as FrontBody;
      if (front.carrier?.id !== carrier?.id || !isTheirs || !isClassicFront(front, service, view)) return undefined;
      return front.name === frontName(name) ? frontKeys.classic : frontKeys.network;
    }
    case classicKinds.rule: {
      const its = (found.body as NodeRule).carrier;
      return its !== undefined && its.id === carrier?.id && isTheirs ? found.key : undefined;
    }
    default:
      return undefined;
  }
}

/** Hundreds of Services have equal sets of thousands of members: one array for all of them. */
function createMemberLists(providerIdOf: (id: string) => string): LoadBalancerDriver['members'] {
  const lists = new WeakMap<readonly unknown[], readonly ObservedMember[]>();
  const listed = (list: readonly unknown[], make: () => readonly ObservedMember[]) => {
    const held = lists.get(list) ?? make();
    lists.set(list, held);
    return held;
  };
  return (found) => {
    const groups = found.flatMap((one) =>
      one.kind === networkKinds.targets ? [(one.body as TargetList).targets] : [],
    );
    const [first] = groups;
    if (first !== undefined && groups.every((targets) => targets === first))
      return listed(first, () => merged([first]));
    if (first !== undefined) return merged(groups);
    const classic = found.find(({ kind, body }) => kind === classicKinds.balancer && isClassic(body));
    if (classic === undefined) return [];
    const { instances } = classic.body as ClassicLoadBalancer;
    return listed(instances, () =>
      instances.map((id) => ({ providerID: providerIdOf(id), draining: false, healthy: undefined })),
    );
  };
}

/** One that is healthy on all ports is healthy. */
function merged(groups: readonly TargetList['targets'][]): readonly ObservedMember[] {
  const members = new Map<string, boolean | undefined>();
  for (const { providerID, healthy } of groups.flat()) {
    const before = members.has(providerID) ? members.get(providerID) : true;
    members.set(providerID, before === false || healthy === false ? false : before && healthy);
  }
  return [...members].map(([providerID, healthy]) => ({ providerID, draining: false, healthy }));
}
