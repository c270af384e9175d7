import { annotations as annotationKeys } from '../../common/well-known.ts';
import type { CloudRecord } from '../clouds/load-balancer-step.ts';
import {
  type DesiredLoadBalancer,
  type DesiredMember,
  type IpFamily,
  type LoadBalancerRef,
  type Owner,
  portPlace,
} from '../clouds/load-balancers.ts';
import { allowsAddressChange, attachTo, cleanupFinalizers, type ServiceView } from '../model/service-view.ts';
import { excessOf } from './excess.ts';
import { type DesirePolicy, mayAttach, mayKeepAddress } from './operator-policy.ts';
import { parseRecord } from './record.ts';
import { chooseCloud, type ServingCloud } from './serving-cloud.ts';
import { sourceRangesOf } from './source-ranges.ts';

export interface ClusterIdentity {
  /** UID of the namespace kube-system. */
  readonly uid: string;
  /** `--cluster-name`. */
  readonly name: string;
}

/** Where kube-proxy reports its health; every member answers there. */
const kubeProxyHealth = { port: 10_256, path: '/healthz' };
/** The API server's own default. */
const defaultAffinitySeconds = 10_800;

export function ownerOf(cluster: ClusterIdentity, service: Pick<ServiceView, 'uid'>): Owner {
  return { cluster: cluster.uid, service: service.uid };
}

/** Upstream's default name. */
export function defaultName(uid: string): string {
  return `a${uid.replaceAll('-', '')}`.slice(0, 32);
}

/** @param adopts `--adopt` */
export function refOf(cluster: ClusterIdentity, service: ServiceView, adopts: boolean): LoadBalancerRef {
  return {
    owner: ownerOf(cluster, service),
    name: defaultName(service.uid),
    service: service.key,
    ...recordOf(service),
    attachTo: attachTo(service),
    address: service.loadBalancerIP || undefined,
    adopt: adoptionOf(cluster, service, adopts),
    says: saysOf(service),
  };
}

function saysOf({ annotations, loadBalancerClass }: ServiceView): NonNullable<LoadBalancerRef['says']> {
  return { annotations, ...(loadBalancerClass !== '' && { loadBalancerClass }) };
}

/** The record of the cloud resources on the Service. */
function recordOf(service: ServiceView): CloudRecord {
  const { id, notes } = parseRecord(service.annotations[annotationKeys.loadBalancer]) ?? {};
  return { id, notes };
}

/**
 * Undefined where nothing may be adopted. An adopted load balancer is found by the same proof after the flag was
 * removed: otherwise its Service would lose it before it carries our tags.
 */
function adoptionOf({ name: clusterName }: ClusterIdentity, service: ServiceView, adopts: boolean) {
  const record = parseRecord(service.annotations[annotationKeys.loadBalancer]);
  const shown = addressesOf(service);
  const { annotations } = service;
  // A status may be wiped, and is when the Service gets another type.
  if (record?.adopted !== undefined)
    return { clusterName, addresses: shown.length > 0 ? shown : record.adopted, annotations };
  // A Service with a load balancer that was created for it takes over no other one, even after that is gone.
  const hasOwn = record?.id !== undefined;
  const served = record !== undefined || cleanupFinalizers(service).length > 0;
  return adopts && served && !hasOwn && attachTo(service) === undefined && shown.length > 0
    ? { clusterName, addresses: shown, annotations }
    : undefined;
}

/** Addresses in the status. */
export function addressesOf({ ingress }: ServiceView): string[] {
  return ingress.flatMap(({ ip = '', hostname = '' }) => [ip, hostname]).filter((text) => text !== '');
}

/** Services of one scope whose load balancers may be adopted. */
export function adoptableOf(
  cluster: ClusterIdentity,
  services: Iterable<ServiceView>,
  clouds: readonly ServingCloud[],
  scope: string,
  adopts: boolean,
): LoadBalancerRef[] {
  const refs: LoadBalancerRef[] = [];
  for (const service of services) {
    const ref = refOf(cluster, service, adopts);
    if (ref.adopt === undefined) continue;
    const choice = chooseCloud(service, clouds);
    if ('cloud' in choice && choice.cloud.scope === scope) refs.push(ref);
  }
  return refs;
}

export type Desired =
  | { readonly ok: true; readonly desired: DesiredLoadBalancer }
  | {
      readonly ok: false;
      readonly reason: 'InvalidSourceRanges' | 'InvalidSpec';
      readonly message: string;
      /** Without source ranges that cannot be read. */
      readonly desired: DesiredLoadBalancer;
    };

/**
 * The desired load balancer of a Service, or which field is invalid. `externalIPs` are for kube-proxy and are ignored.
 * Pure.
 *
 * @param retain the load balancer stays when the Service is deleted
 */
export function desiredOf(
  service: ServiceView,
  parts: {
    readonly cluster: ClusterIdentity;
    readonly cloud: ServingCloud;
    readonly members: readonly DesiredMember[];
    readonly ofPods?: boolean;
    readonly policy: DesirePolicy;
    readonly retain: boolean;
  },
): Desired {
  const { cluster, cloud, members, ofPods = false, policy, retain } = parts;
  const ranges = sourceRangesOf(service);
  const attach = attachTo(service);
  const local = service.externalTrafficPolicy === 'Local';
  const desired: DesiredLoadBalancer = {
    owner: ownerOf(cluster, service),
    service: service.key,
    clusterName: cluster.name,
    name: defaultName(service.uid),
    ports: service.ports.map(({ name, protocol, port, targetPort, nodePort, appProtocol }) => ({
      name,
      protocol,
      port,
      nodePort,
      appProtocol,
      ...(ofPods && { targetPort }),
    })),
    families: service.ipFamilies.length > 0 ? service.ipFamilies : (['IPv4'] satisfies IpFamily[]),
    sourceRanges: ranges.ok ? ranges.ranges : [],
    ...(ranges.ok && ranges.asksForEverybody && { asksForEverybody: true }),
    sessionAffinity:
      service.sessionAffinity === 'ClientIP'
        ? { timeoutSeconds: service.affinityTimeout ?? defaultAffinitySeconds }
        : undefined,
    trafficPolicy: local ? 'Local' : 'Cluster',
    healthCheck:
      local && service.healthCheckNodePort !== 0
        ? { port: service.healthCheckNodePort, path: '/healthz' }
        : kubeProxyHealth,
    address: service.loadBalancerIP || undefined,
    ...(service.loadBalancerClass !== '' && { loadBalancerClass: service.loadBalancerClass }),
    annotations: annotationsFor(service, cloud),
    members,
    ...(ofPods && { ofPods }),
    attach: attach === undefined ? undefined : { id: attach, allowed: mayAttach(policy, attach, service.key) },
    clusterWideConsent: policy.clusterWideAttach,
    mayChangeAddress: allowsAddressChange(service),
    mayKeepAddress: mayKeepAddress(policy, service),
    retain,
    record: recordOf(service),
  };
  if (!ranges.ok) return { ok: false, reason: 'InvalidSourceRanges', message: ranges.message, desired };
  if (service.ports.length === 0)
    return { ok: false, reason: 'InvalidSpec', message: 'spec.ports: empty, expected at least one port', desired };
  const excess = excessOf(desired);
  return excess === undefined ? { ok: true, desired } : { ok: false, ...excess, desired };
}

/** Annotations with a prefix of the cloud that the cloud does not define: mistyped, or of another controller. */
export function unknownAnnotations(service: ServiceView, { loadBalancers }: ServingCloud): readonly string[] {
  const { annotations, annotationPrefixes } = loadBalancers;
  const defined = new Set(annotations.flatMap(({ key }) => keysFor(service, key)));
  return Object.keys(service.annotations)
    .filter((key) => annotationPrefixes.some((prefix) => key.startsWith(prefix)) && !defined.has(key))
    .sort();
}

/** One of each port of the Service, where the key has the place of a port. */
function keysFor({ ports }: ServiceView, key: string): readonly string[] {
  return key.includes(portPlace) ? ports.map(({ port }) => key.replace(portPlace, String(port))) : [key];
}

/** The annotations of a Service that its cloud reads. */
export function annotationsFor(service: ServiceView, cloud: ServingCloud): Record<string, string> {
  const read: Record<string, string> = {};
  for (const key of cloud.loadBalancers.annotations.flatMap(({ key }) => keysFor(service, key))) {
    const value = service.annotations[key];
    if (value !== undefined) read[key] = value;
  }
  return read;
}
