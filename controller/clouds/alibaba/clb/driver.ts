import ipaddr from 'ipaddr.js';
import type { Found, Kind } from '../../../engine/resource.ts';
import { canonical } from '../../ip-address.ts';
import type { AdoptionInput, LoadBalancerDriver, ShownLoadBalancer } from '../../load-balancer-driver.ts';
import { type ObservedMember, ownerTags } from '../../load-balancers.ts';
import { annotations, legacyPrefix, prefix } from '../annotations.ts';
import type { AlibabaClient } from '../client.ts';
import type { AlibabaConfig } from '../config.ts';
import type { Place } from '../place.ts';
import { listKind } from './access-lists.ts';
import { balancerKind } from './balancers.ts';
import { desireOf, hostnameTag } from './desire.ts';
import { type Balancer, classicTags, type Group, kindNames, type Listener } from './found.ts';
import { groupKind } from './groups.ts';
import { listenerKind } from './listeners.ts';
import { createBalancerReader, createListReader } from './reader.ts';
import { nodeLabelsOf } from './settings.ts';

export interface LoadBalancerOptions {
  readonly client: AlibabaClient;
  readonly place: Place;
  readonly config: Pick<AlibabaConfig, 'clusterId' | 'isPublicRefused' | 'resourceGroup'>;
}

/** The Classic Load Balancers of one region. */
export function createLoadBalancerDriver({ client, place, config }: LoadBalancerOptions): LoadBalancerDriver {
  return {
    main: kindNames.balancer,
    kinds: [balancerKind(client, place), groupKind(client), listenerKind(client), listKind(client)] as readonly Kind[],
    readers: [createBalancerReader(client, config.clusterId), createListReader(client)],
    documents: [],
    desire: (input) => desireOf(input, config),
    // Every call has its effect before it is answered.
    poll: async () => new Map(),
    ...{ annotations, annotationPrefixes: [prefix, legacyPrefix], adopts, show, members },
    nodeLabels: nodeLabelsOf,
    maxMembers: undefined,
    drains: true,
    slots: () => [],
  };
}

/** By the tag or the name that the classic controller gives, and by an address that the Service shows. */
function adopts({ kind, body }: Found, { owner, proof }: AdoptionInput): string | undefined {
  if (kind !== kindNames.balancer) return undefined;
  const { name, tags, address } = body as Balancer;
  const usual = `a${owner.service.replaceAll('-', '')}`.slice(0, 32);
  // People made it: it would go with its Service.
  if (tags[classicTags.reused] !== undefined || (tags[classicTags.name] ?? name) !== usual) return undefined;
  const shown = new Set(proof.addresses.map(canonical));
  const isNamed = shown.size > 0 && ![...shown].some(ipaddr.isValid);
  return shown.has(address) || isNamed ? 'main' : undefined;
}

function show({ body }: Found, parts: readonly Found[]): ShownLoadBalancer {
  const { name, tags, address: ip, createdAtMs } = body as Balancer;
  const listeners = parts.filter(({ kind }) => kind === kindNames.listener) as readonly Found<Listener>[];
  const isProxy = listeners.some((one) => {
    return one.body.protocol.startsWith('http') || String(one.body.wire['ProxyProtocolV2Enabled']) === 'true';
  });
  const hostname = tags[hostnameTag];
  if (ip === '') return { name, ingress: [], createdAtMs, service: tags[ownerTags.serviceName] };
  const ingress = hostname ? [{ hostname }] : [{ ip, ipMode: isProxy ? ('Proxy' as const) : ('VIP' as const) }];
  return { name, ingress, createdAtMs, service: tags[ownerTags.serviceName] };
}

/** All groups have the same nodes, but for those that were changed since. */
function members(parts: readonly Found[]): readonly ObservedMember[] {
  const groups = parts.filter(({ kind }) => kind === kindNames.group) as readonly Found<Group>[];
  const seen = new Map<string, ObservedMember>();
  for (const { body } of groups)
    for (const member of body.members) {
      const before = seen.get(member.providerID);
      if (before === undefined || before.draining) seen.set(member.providerID, member);
    }
  return [...seen.values()];
}
