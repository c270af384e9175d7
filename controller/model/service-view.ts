import {
  annotations as annotationKeys,
  conditions as conditionTypes,
  finalizers as finalizerNames,
  isPauseValue,
} from '../../common/well-known.ts';
import type { IpFamily, Protocol } from '../clouds/load-balancers.ts';
import type { EventTarget } from '../kube/event-sink.ts';
import type { ConditionView } from './node-view.ts';

export interface ServicePort {
  /** Empty when unset. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** A number or a name, as text. */
  readonly targetPort: string;
  /** 0 when unset. */
  readonly nodePort: number;
  readonly appProtocol: string | undefined;
}

export interface PortStatus {
  readonly port: number;
  readonly protocol: string;
  readonly error?: string;
}

/** One entry of `status.loadBalancer.ingress`, as the API server stores it. */
export interface IngressView {
  readonly ip?: string;
  readonly hostname?: string;
  readonly ipMode?: string;
  readonly ports?: readonly PortStatus[];
}

/** The fields of a Service that decisions need: a trimmed copy that shares nothing with the raw object. */
export interface ServiceView {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deleting: boolean;
  readonly finalizers: readonly string[];
  /** Those of `finalizers` that are of the classic controller of a configured cloud. */
  readonly classicFinalizers: readonly string[];
  readonly type: string;
  /** Empty when unset. */
  readonly loadBalancerClass: string;
  readonly ports: readonly ServicePort[];
  /** `spec.loadBalancerSourceRanges`, as written. */
  readonly sourceRanges: readonly string[];
  readonly sessionAffinity: string;
  /** Seconds; undefined when unset. */
  readonly affinityTimeout: number | undefined;
  readonly externalTrafficPolicy: string;
  /** 0 when unset. */
  readonly healthCheckNodePort: number;
  readonly ipFamilies: readonly IpFamily[];
  readonly ipFamilyPolicy: string;
  /** Empty when unset. */
  readonly loadBalancerIP: string;
  readonly allocateNodePorts: boolean;
  /** Only those that the controller or a configured cloud reads. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly ingress: readonly IngressView[];
  /** Our own condition; undefined when it is not set. */
  readonly condition: ConditionView | undefined;
}

interface RawService {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: {
    readonly type?: string;
    readonly loadBalancerClass?: string;
    readonly ports?: readonly {
      readonly name?: string;
      readonly protocol?: Protocol;
      readonly port: number;
      readonly targetPort?: number | string;
      readonly nodePort?: number;
      readonly appProtocol?: string;
    }[];
    readonly loadBalancerSourceRanges?: readonly string[];
    readonly sessionAffinity?: string;
    readonly sessionAffinityConfig?: { readonly clientIP?: { readonly timeoutSeconds?: number } };
    readonly externalTrafficPolicy?: string;
    readonly healthCheckNodePort?: number;
    readonly ipFamilies?: readonly IpFamily[];
    readonly ipFamilyPolicy?: string;
    readonly loadBalancerIP?: string;
    readonly allocateLoadBalancerNodePorts?: boolean;
  };
  readonly status?: {
    readonly loadBalancer?: { readonly ingress?: readonly IngressView[] };
    readonly conditions?: readonly (Partial<ConditionView> & { readonly type?: string })[];
  };
}

/** Arrays of a Service that `viewService` does not read. */
export const unreadOfService = ['managedFields'];

/** Annotations on Services that the controller itself reads or writes. */
export const ownServiceAnnotations: ReadonlySet<string> = new Set([
  annotationKeys.paused,
  annotationKeys.sourceRanges,
  annotationKeys.loadBalancer,
  annotationKeys.loadBalancerId,
  annotationKeys.loadBalancerRetain,
  annotationKeys.allowAddressChange,
  annotationKeys.cloud,
]);

/**
 * Copies the needed fields out of a Service as the API server sends it.
 *
 * @param isRead whether a configured cloud reads this annotation; our own are kept in any case
 * @param classic `classicFinalizers` of the configured clouds
 */
export function viewService(
  raw: unknown,
  isRead: (key: string) => boolean,
  classic: readonly string[] = [],
): ServiceView {
  const { metadata, spec = {}, status = {} } = raw as RawService;
  const namespace = metadata.namespace ?? '';
  const finalizers = [...(metadata.finalizers ?? [])];
  const annotations: Record<string, string> = {};
  for (const [key, value] of Object.entries(metadata.annotations ?? {})) {
    if (ownServiceAnnotations.has(key) || isRead(key)) annotations[key] = value;
  }
  const condition = status.conditions?.find(({ type }) => type === conditionTypes.loadBalancer);
  return {
    key: `${namespace}/${metadata.name}`,
    namespace,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    deleting: metadata.deletionTimestamp !== undefined,
    finalizers,
    classicFinalizers: finalizers.filter((name) => classic.includes(name)),
    type: spec.type ?? 'ClusterIP',
    loadBalancerClass: spec.loadBalancerClass ?? '',
    ports: (spec.ports ?? []).map(viewPort),
    sourceRanges: [...(spec.loadBalancerSourceRanges ?? [])],
    sessionAffinity: spec.sessionAffinity ?? 'None',
    affinityTimeout: spec.sessionAffinityConfig?.clientIP?.timeoutSeconds,
    externalTrafficPolicy: spec.externalTrafficPolicy ?? 'Cluster',
    healthCheckNodePort: spec.healthCheckNodePort ?? 0,
    ipFamilies: [...(spec.ipFamilies ?? [])],
    ipFamilyPolicy: spec.ipFamilyPolicy ?? '',
    loadBalancerIP: spec.loadBalancerIP ?? '',
    allocateNodePorts: spec.allocateLoadBalancerNodePorts ?? true,
    annotations,
    ingress: (status.loadBalancer?.ingress ?? []).map((one) => structuredClone(one)),
    condition: condition && {
      type: conditionTypes.loadBalancer,
      status: condition.status ?? '',
      reason: condition.reason ?? '',
      message: condition.message ?? '',
      ...(condition.lastTransitionTime === undefined ? {} : { lastTransitionTime: condition.lastTransitionTime }),
    },
  };
}

type RawPort = NonNullable<NonNullable<RawService['spec']>['ports']>[number];

function viewPort({ name, protocol, port, targetPort, nodePort, appProtocol }: RawPort): ServicePort {
  return {
    name: name ?? '',
    protocol: protocol ?? 'TCP',
    port,
    targetPort: String(targetPort ?? port),
    nodePort: nodePort ?? 0,
    appProtocol,
  };
}

export function isPaused(service: ServiceView): boolean {
  return isPauseValue(service.annotations[annotationKeys.paused]);
}

/** Whether it has the finalizer of the framework, which is ours and that of most classic controllers. */
export function hasFinalizer(service: ServiceView): boolean {
  return service.finalizers.includes(finalizerNames.loadBalancerCleanup);
}

/** Finalizers with which a load balancer may exist, ours or another controller's. */
export function cleanupFinalizers(service: ServiceView): readonly string[] {
  return [...(hasFinalizer(service) ? [finalizerNames.loadBalancerCleanup] : []), ...service.classicFinalizers];
}

/** Whether it shows a load balancer, ours or another controller's. */
export function isServed(service: ServiceView): boolean {
  return cleanupFinalizers(service).length > 0 || service.ingress.length > 0;
}

/** A person's `mooring.dev/load-balancer-retain`. */
export function isRetained(service: ServiceView): boolean {
  // Every value that means yes: keeping a load balancer too long can be corrected, deleting it cannot.
  return isPauseValue(service.annotations[annotationKeys.loadBalancerRetain]);
}

/** A person's `mooring.dev/allow-address-change`. */
export function allowsAddressChange(service: ServiceView): boolean {
  return service.annotations[annotationKeys.allowAddressChange]?.trim().toLowerCase() === 'true';
}

/** A person's `mooring.dev/load-balancer-id`; undefined when unset or empty. */
export function attachTo(service: ServiceView): string | undefined {
  return service.annotations[annotationKeys.loadBalancerId]?.trim() || undefined;
}

/**
 * The cloud resources that a Service refers to by id or address, which a search by our tags does not find; undefined
 * when it refers to none.
 */
export function externalReferencesOf(service: ServiceView): string | undefined {
  const references = `${attachTo(service) ?? ''} ${service.loadBalancerIP}`;
  return references === ' ' ? undefined : references;
}

export function serviceTarget(service: ServiceView): EventTarget {
  const { name, namespace, uid } = service;
  return { apiVersion: 'v1', kind: 'Service', name, namespace, uid };
}

export function servicePath(service: Pick<ServiceView, 'namespace' | 'name'>): string {
  return `/api/v1/namespaces/${encodeURIComponent(service.namespace)}/services/${encodeURIComponent(service.name)}`;
}
