import { aws } from '../../../../common/provider-id/aws.ts';
import type { Found } from '../../../engine/resource.ts';
import type { Adopting, LoadBalancerDriver } from '../../load-balancer-driver.ts';
import { type ObservedMember, ownerTags } from '../../load-balancers.ts';
import { annotationDefinitions } from '../load-balancer-annotations.ts';
import { isClassicControllers } from '../load-balancer-tags.ts';
import type { AwsParts } from '../parts.ts';
import { createGroupKinds, type GroupKindsParts } from '../security-groups/group-kinds.ts';
import { type FrontBody, frontName, type NodeRule } from '../security-groups/group-resources.ts';
import { createNodeRuleKind } from '../security-groups/node-rule-kind.ts';
import type { SharedNetwork } from '../security-groups/shared-network.ts';
import { createBalancerKinds } from './balancer-kinds.ts';
import type { ClassicLoadBalancer } from './classic-load-balancer.ts';
import { desireClassic } from './desire.ts';
import { createClassicReader } from './reader.ts';
import { type ClassicView, classicKinds, createClassicView, defaultName, slotOf } from './resources.ts';

export type ClassicParts = Pick<AwsParts, 'config' | 'region' | 'allowedGroups' | 'elb' | 'cluster'>;

/** AWS's quota; an account may have more. */
const maxMembers = 1000;

/** The classic load balancers of one account and region, as resources. */
export function createClassicDriver(parts: ClassicParts, network: SharedNetwork): LoadBalancerDriver {
  const { config, allowedGroups } = parts;
  const { reads, users } = network;
  const view = createClassicView(reads);
  const reader = createClassicReader(parts, network, view);
  const carriersOf = (group: string) => users.known() && (users.known()?.get(group) ?? []);
  const userOf = (name: string) => view.ownerOf(name)?.service ?? name;
  const groups: GroupKindsParts = {
    ...{ reads, calls: network.groups, inTurn: createTurns(), view: () => view, carriersOf, userOf },
    nameOf: view.nameOf,
  };
  /** By which providerIDs instances became members, for those that EC2 does not show any more. */
  const providerIds = new Map<string, string>();
  const desireParts = {
    ...{ config, allowedGroups, view, lastSubnets: reads.lastSubnets },
    idOf(providerID: string) {
      const id = instanceIn(parts.region, providerID);
      if (id !== undefined) providerIds.set(id, providerID);
      return id;
    },
  };
  const members = createMemberLists((id) => {
    const zone = reads.knownInstances([id]).get(id)?.zone;
    // What accepts providerIDs takes a bare id, too.
    return zone ? `aws:///${zone}/${id}` : (providerIds.get(id) ?? id);
  });
  return {
    annotations: annotationDefinitions,
    maxMembers,
    // A member that leaves is deregistered at once; AWS lets its connections end where the annotation asks for it.
    drains: false,
    main: classicKinds.balancer,
    kinds: [
      ...createBalancerKinds({ parts, network, reader, view }),
      ...createGroupKinds(groups),
      createNodeRuleKind(groups),
    ] as LoadBalancerDriver['kinds'],
    readers: [reader],
    documents: [],
    desire: (asked) => desireClassic(asked, desireParts),
    poll: async () => new Map(),
    slots: ({ name }) => [slotOf(name)],
    show({ body, address }) {
      const { name, tags, createdAtMs } = body as ClassicLoadBalancer;
      const service = tags[ownerTags.serviceName] ?? tags[ownerTags.retained];
      return { name, ingress: address === undefined ? [] : [{ hostname: address }], createdAtMs, service };
    },
    members(found) {
      const balancer = found.find(({ kind }) => kind === classicKinds.balancer);
      return balancer === undefined ? [] : members((balancer.body as ClassicLoadBalancer).instances);
    },
    adopts: (found, adopting) => adoptedKey(found, adopting, view),
  };
}

/** The instance of a providerID, when this region could hold it. */
function instanceIn(region: string, providerID: string): string | undefined {
  const known = aws.parse(providerID);
  const isHere = known !== undefined && (known.zone === undefined || known.zone.startsWith(region));
  return isHere ? known.instanceId : undefined;
}

/** Name, tags and address have to agree; what belongs to the load balancer shows its address. */
function adoptedKey(found: Found, { owner, service, proof }: Adopting, view: ClassicView): string | undefined {
  const isAddress = (hostname: string | undefined) => hostname !== undefined && proof.addresses.includes(hostname);
  const name = defaultName(owner.service);
  const { marks } = view;
  if (marks === undefined) return undefined;
  const isTheirs = () => {
    const balancer = view.balancer(name);
    return balancer !== undefined && isClassicControllers(balancer.tags, service, marks.tags);
  };
  switch (found.kind) {
    case classicKinds.balancer: {
      const balancer = found.body as ClassicLoadBalancer;
      const isIt = balancer.name === name && isAddress(balancer.hostname);
      return isIt && isClassicControllers(balancer.tags, service, marks.tags) ? 'main' : undefined;
    }
    case classicKinds.front: {
      const { carrier, tags, ...group } = found.body as FrontBody;
      const isIt = group.name === frontName(name) && isAddress(carrier) && view.isCluster(tags);
      return isIt && isTheirs() ? 'main' : undefined;
    }
    case classicKinds.rule:
      return isAddress((found.body as NodeRule).carrier) && isTheirs() ? found.key : undefined;
    default:
      return undefined;
  }
}

/** Runs what is about the same thing one after the other. */
function createTurns(): GroupKindsParts['inTurn'] {
  const last = new Map<string, Promise<unknown>>();
  return (thing, work) => {
    const mine = (last.get(thing) ?? Promise.resolve()).then(work, work);
    const ended = mine.catch(() => undefined);
    last.set(thing, ended);
    void ended.then(() => last.get(thing) === ended && last.delete(thing));
    return mine;
  };
}

/** Hundreds of Services have equal sets of thousands of members: one array for all of them. */
function createMemberLists(
  providerIdOf: (id: string) => string,
): (instances: readonly string[]) => readonly ObservedMember[] {
  const lists = new WeakMap<readonly string[], readonly ObservedMember[]>();
  return (instances) => {
    const held = lists.get(instances);
    if (held !== undefined) return held;
    const members = instances.map((id) => ({ providerID: providerIdOf(id), draining: false, healthy: undefined }));
    lists.set(instances, members);
    return members;
  };
}
