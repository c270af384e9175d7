import { annotations, conditions, finalizers } from '../../../common/well-known.ts';
import type { JsonObject } from '../../kit/kube-api/json.ts';
import { rogueNamespace } from '../engine/scenario.ts';

/** A Service as it stands in the API server, read by the judges' own eyes. */
export interface ServiceObject {
  readonly key: string;
  readonly name: string;
  readonly uid: string;
  readonly deleting: boolean;
  readonly finalizer: boolean;
  /** It wants a load balancer, and no other controller is named for it. */
  readonly wants: boolean;
  readonly type: string;
  readonly paused: boolean;
  readonly record: string;
  /** Id of the load balancer that it asks for; empty for one of its own. */
  readonly attachTo: string;
  /** It asks that its load balancer stays, and its namespace may. */
  readonly retain: boolean;
  readonly ports: readonly { readonly protocol: string; readonly port: number; readonly nodePort: number }[];
  readonly sourceRanges: readonly string[];
  readonly ingress: readonly string[];
  readonly reason: string;
  readonly status: string;
}

interface Raw {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly type: string;
    readonly loadBalancerClass?: string;
    readonly loadBalancerSourceRanges?: readonly string[];
    readonly ports?: readonly { readonly protocol: string; readonly port: number; readonly nodePort?: number }[];
  };
  readonly status?: {
    readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] };
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
}

export function serviceOf(value: JsonObject): ServiceObject;
export function serviceOf(value: JsonObject | undefined): ServiceObject | undefined;
export function serviceOf(value: JsonObject | undefined): ServiceObject | undefined {
  if (value === undefined) return undefined;
  const { metadata, spec, status } = value as unknown as Raw;
  const condition = status?.conditions?.find(({ type }) => type === conditions.loadBalancer);
  const deleting = metadata.deletionTimestamp !== undefined;
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    name: metadata.name,
    uid: metadata.uid,
    deleting,
    finalizer: metadata.finalizers?.includes(finalizers.loadBalancerCleanup) === true,
    wants: spec.type === 'LoadBalancer' && spec.loadBalancerClass === undefined && !deleting,
    type: spec.type,
    paused: metadata.annotations?.[annotations.paused] !== undefined,
    attachTo: metadata.annotations?.[annotations.loadBalancerId] ?? '',
    retain: metadata.annotations?.[annotations.loadBalancerRetain] === 'true' && metadata.namespace !== rogueNamespace,
    // What the cloud notes beside it is its own.
    record: metadata.annotations?.[annotations.loadBalancer]?.split(' notes:')[0] ?? '',
    ports: (spec.ports ?? []).map(({ protocol, port, nodePort = 0 }) => ({ protocol, port, nodePort })),
    sourceRanges: spec.loadBalancerSourceRanges ?? [],
    ingress: (status?.loadBalancer?.ingress ?? []).map(({ ip = '' }) => ip),
    reason: condition?.reason ?? '',
    status: condition?.status ?? '',
  };
}
