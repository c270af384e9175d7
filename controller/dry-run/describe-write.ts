import type { KubeCall } from '../kube/api.ts';
import type { SelectorTerm } from '../volumes/node-affinity.ts';
import type { PlannedChange } from './planned-change.ts';

interface Body {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, unknown>>;
    readonly annotations?: Readonly<Record<string, unknown>>;
    readonly finalizers?: readonly string[];
    readonly '$deleteFromPrimitiveList/finalizers'?: readonly string[];
  };
  readonly data?: Readonly<Record<string, unknown>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: {
    readonly addresses?: readonly { readonly type?: string; readonly address?: string }[];
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly $patch?: string;
    }[];
    readonly loadBalancer?: {
      readonly ingress: readonly { readonly ip?: string; readonly hostname?: string }[] | null;
    };
  };
}

interface NodeAffinity {
  readonly required: { readonly nodeSelectorTerms: readonly SelectorTerm[] };
}

/** Describes a write to the Kubernetes API in one line for people. The write is our own, so its body is a patch. */
export function describeWrite({ verb, path, body }: KubeCall): PlannedChange {
  const object = objectOf(path);
  if (verb === 'delete') return { of: 'kubernetes', object, action: 'delete', what: 'delete the object' };
  return {
    of: 'kubernetes',
    object,
    action: verb === 'create' ? 'create' : 'update',
    what: parts(body as Body).join('; ') || 'write it as it is',
  };
}

function parts({ metadata = {}, spec = {}, status = {}, data = {} }: Body): string[] {
  const lines: string[] = [];
  const addresses = status.addresses?.flatMap(({ type, address }) => (type && address ? [`${type} ${address}`] : []));
  if (addresses) lines.push(`addresses: ${addresses.join(', ') || 'none'}`);
  for (const { type, status: value, reason, $patch } of status.conditions ?? [])
    lines.push($patch === 'delete' ? `condition ${type}: removed` : `condition ${type}=${value} (${reason})`);
  if (status.loadBalancer) {
    const ingress = (status.loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname);
    lines.push(`status: ${ingress.join(', ') || 'no address'}`);
  }
  for (const finalizer of metadata['$deleteFromPrimitiveList/finalizers'] ?? [])
    lines.push(`finalizer ${finalizer}: removed`);
  if (metadata.finalizers) lines.push(`finalizers: ${metadata.finalizers.join(', ') || 'none'}`);
  for (const [kind, values] of [
    ['label', metadata.labels],
    ['annotation', metadata.annotations],
    ['spec', spec],
    ['data', data],
  ] as const) {
    for (const [key, value] of Object.entries(values ?? {})) lines.push(`${kind} ${key}: ${shown(key, value)}`);
  }
  return lines;
}

function shown(key: string, value: unknown): string {
  if (value === null) return 'removed';
  if (key === 'nodeAffinity') return termsOf(value as NodeAffinity);
  if (key !== 'taints' || !Array.isArray(value)) return typeof value === 'string' ? value : JSON.stringify(value);
  return value.map(({ key: name, effect }) => `${name}:${effect}`).join(', ') || 'none';
}

function termsOf({ required }: NodeAffinity): string {
  const terms = required.nodeSelectorTerms.map(({ matchExpressions = [] }) =>
    matchExpressions.map(({ key, operator, values = [] }) => `${key} ${operator} ${values.join(', ')}`).join(' and '),
  );
  return terms.join(' or ');
}

/** `/api/v1/nodes/a/status` is `node a`; `/api/v1/namespaces/default/services/web` is `service default/web`. */
function objectOf(path: string): string {
  const parts = path.split('/').map(decodeURIComponent);
  const at = parts[1] === 'api' ? 3 : 4;
  const [namespace, resource, name] =
    parts[at] === 'namespaces' && parts.length > at + 2
      ? [parts[at + 1], parts[at + 2], parts[at + 3]]
      : [undefined, parts[at], parts[at + 1]];
  const kind = (resource ?? '').replace(/s$/, '');
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name ?? ''}`;
}
