import ipaddr from 'ipaddr.js';
import type { Found, Kind } from '../../../engine/resource.ts';
import { classicName, shownAddresses } from '../../adoption.ts';
import type { AdoptionInput, LoadBalancerDriver, ShownLoadBalancer } from '../../load-balancer-driver.ts';
import { type ObservedMember, ownerTags } from '../../load-balancers.ts';
import { ingressOf, unionOfMembers } from '../../shown-load-balancer.ts';
import { annotations, legacyPrefix, prefix } from '../annotations.ts';
import type { AlibabaClient } from '../client.ts';
import type { AlibabaConfig } from '../config.ts';
import { createInterfaces } from '../interfaces.ts';
import { networkBalancerKind } from '../nlb/balancers.ts';
import { pollJobs } from '../nlb/calls.ts';
import { desireNetwork } from '../nlb/desire.ts';
import { isClassicGroup, isNetwork, type NetworkGroup, networkGroupKey, networkSlots } from '../nlb/found.ts';
import { networkGroupKind, serversKind } from '../nlb/groups.ts';
import { networkListenerKind } from '../nlb/listeners.ts';
import { createNetworkReads } from '../nlb/reads.ts';
import type { Place } from '../place.ts';
import { listKind } from './access-lists.ts';
import { balancerKind } from './balancers.ts';
import { desireOf, hostnameTag } from './desire.ts';
import { type Balancer, classicTags, kindNames, type Listener, type Servers } from './found.ts';
import { groupKind } from './groups.ts';
import { listenerKind } from './listeners.ts';
import { createBalancerReader, createListReader } from './reader.ts';
import { isNetworkClass, nodeLabelsOf, takesPods } from './settings.ts';
import { untilMoved } from './type-change.ts';

/** The load balancers of one region: network ones for Services of their class, classic ones for others. */
export function createLoadBalancerDriver(
  client: AlibabaClient,
  place: Place,
  config: Pick<AlibabaConfig, 'clusterId' | 'isPublicRefused' | 'resourceGroup' | 'servesPods'>,
): LoadBalancerDriver {
  const interfaces = createInterfaces(client, place);
  const lookups = { client, interfaces };
  return {
    main: kindNames.balancer,
    kinds: [
      eitherBalancer(balancerKind(client, place, config.clusterId) as Kind, networkBalancerKind(client, place) as Kind),
      ...([groupKind(lookups), listenerKind(client), listKind(client)] as readonly Kind[]),
      ...([networkGroupKind(client, place, config.clusterId), serversKind(lookups)] as readonly Kind[]),
      networkListenerKind(client) as Kind,
    ],
    readers: [
      createBalancerReader(client, createNetworkReads(client, config.clusterId), config.clusterId),
      createListReader(client),
    ],
    desire(input) {
      const toNetwork = isNetworkClass(input.desired);
      return untilMoved((toNetwork ? desireNetwork : desireOf)(input, config), input, toNetwork);
    },
    poll: (jobs, io) => pollJobs(client, jobs, io),
    annotations,
    annotationPrefixes: [prefix, legacyPrefix],
    adopts,
    show,
    members,
    // Of Classic and of Network Load Balancers.
    classicFinalizers: ['service.k8s.alibaba/resources', 'service.k8s.alibaba/nlb'],
    nodeLabels: nodeLabelsOf,
    takesPods: (annotations) => takesPods(annotations, config.servesPods),
    podIds: (addresses, { signal }) => interfaces.of(addresses, signal),
    maxMembers: undefined,
    drains: true,
    slots: ({ says }) => (says !== undefined && isNetworkClass(says) ? [networkSlots] : []),
  };
}

/** One kind for both types: a Service has one load balancer, and a change of its type is a replacement. */
function eitherBalancer(classic: Kind, network: Kind): Kind {
  const isOfNetwork = (spec: unknown) => typeof spec === 'object' && spec !== null && 'zones' in spec;
  const of = ({ id }: Found) => (isNetwork(id) ? network : classic);
  return {
    ...classic,
    compare(found, spec, pointsAt) {
      // What is not made yet has no id.
      if (found.id === '') return (isOfNetwork(spec) ? network : classic).compare(found, spec, pointsAt);
      if (isOfNetwork(spec) === isNetwork(found.id)) return of(found).compare(found, spec, pointsAt);
      return { replace: `it is a ${isNetwork(found.id) ? 'network' : 'classic'} one`, order: 'createFirst' };
    },
    fresh: (want) => (isOfNetwork(want.spec) ? network : classic).fresh!(want),
    create: (want, inside, io) => (isOfNetwork(want.spec) ? network : classic).create!(want, inside, io),
    update: (found, change, io) => of(found).update!(found, change, io),
    remove: (found, io) => of(found).remove!(found, io),
    mark: (found, as, want, io) => of(found).mark!(found, as, want, io),
  };
}

/** By the tag or the name that the classic controller gives, and by an address that the Service shows. */
function adopts({ kind, id, body }: Found, input: AdoptionInput): string | undefined {
  const { owner, proof, found } = input;
  const usual = classicName(owner.service);
  if (kind === kindNames.networkGroup) {
    const isServed = () => found(kindNames.balancer).some((one) => isNetwork(one.id) && adopts(one, input) === 'main');
    const group = body as NetworkGroup;
    return isClassicGroup(group, usual) && isServed() ? networkGroupKey(group.name) : undefined;
  }
  if (kind !== kindNames.balancer) return undefined;
  const { name, tags, address } = body as Balancer;
  // People made it: it would go with its Service.
  if (tags[classicTags.reused] !== undefined || (tags[classicTags.name] ?? name) !== usual) return undefined;
  const shown = shownAddresses(proof);
  return shown.has(address) || (!isNetwork(id) && shown.isNamed) ? 'main' : undefined;
}

function show({ body }: Found, parts: readonly Found[]): ShownLoadBalancer {
  const { name, tags, address: ip, createdAtMs } = body as Balancer;
  const listeners = parts.filter(({ kind }) => kind === kindNames.listener) as readonly Found<Listener>[];
  const isProxy = listeners.some((one) => {
    return one.body.protocol.startsWith('http') || String(one.body.wire['ProxyProtocolV2Enabled']) === 'true';
  });
  const hostname = tags[hostnameTag] || (ipaddr.isValid(ip) ? undefined : ip);
  const ingress = ingressOf([ip || undefined], { hostname, isProxy });
  return { name, ingress, createdAtMs, service: tags[ownerTags.serviceName] };
}

function members(parts: readonly Found[]): readonly ObservedMember[] {
  const groups = parts.filter(({ kind }) =>
    [kindNames.group, kindNames.servers].some((one) => one === kind),
  ) as readonly Found<Servers>[];
  return unionOfMembers(groups.map(({ body }) => body.members));
}
