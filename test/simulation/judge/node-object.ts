import { annotations, conditions, taints as taintKeys } from '../../../common/well-known.ts';
import type { JsonObject } from '../../kit/kube-api/json.ts';

/** A Node as it stands in the API server, read by the judges' own eyes. */
export interface NodeObject {
  readonly name: string;
  readonly uid: string;
  readonly createdAtMs: number;
  readonly deleting: boolean;
  readonly providerID: string;
  /** Scope of the record mooring.dev/instance; empty when there is none. */
  readonly scope: string;
  readonly incarnation: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly addresses: readonly { readonly type: string; readonly address: string }[];
  readonly taints: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  readonly uninitialized: boolean;
  readonly shutdown: boolean;
  readonly outOfService: boolean;
  readonly ready: string;
  readonly systemUuid: string;
  readonly podCIDR: string;
  readonly conditions: ReadonlyMap<string, Condition>;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

interface Raw {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
  };
  readonly spec?: { readonly providerID?: string; readonly podCIDR?: string; readonly taints?: NodeObject['taints'] };
  readonly status?: {
    readonly addresses?: NodeObject['addresses'];
    readonly conditions?: readonly Condition[];
    readonly nodeInfo?: { readonly systemUUID?: string };
  };
}

export function nodeOf(value: JsonObject): NodeObject;
export function nodeOf(value: JsonObject | undefined): NodeObject | undefined;
export function nodeOf(value: JsonObject | undefined): NodeObject | undefined {
  if (value === undefined) return undefined;
  const { metadata, spec, status } = value as unknown as Raw;
  const taints = spec?.taints ?? [];
  const [scope = '', incarnation = ''] = (metadata.annotations?.[annotations.instance] ?? '').split(' ');
  const shown = new Map((status?.conditions ?? []).map((condition) => [condition.type, condition]));
  return {
    name: metadata.name,
    uid: metadata.uid,
    createdAtMs: Date.parse(metadata.creationTimestamp),
    deleting: metadata.deletionTimestamp !== undefined,
    providerID: spec?.providerID ?? '',
    scope,
    incarnation,
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    addresses: status?.addresses ?? [],
    taints,
    uninitialized: taints.some(({ key }) => key === taintKeys.uninitialized),
    shutdown: taints.some(({ key }) => key === taintKeys.shutdown),
    outOfService: taints.some(({ key, value: text }) => key === taintKeys.outOfService && text === 'mooring'),
    ready: shown.get('Ready')?.status ?? '',
    podCIDR: spec?.podCIDR ?? '',
    systemUuid: status?.nodeInfo?.systemUUID ?? '',
    conditions: shown,
  };
}

export function conditionOf(node: NodeObject, type: keyof typeof conditions): Condition | undefined {
  return node.conditions.get(conditions[type]);
}
