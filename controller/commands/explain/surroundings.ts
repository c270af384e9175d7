import { isPauseValue, names, pausedNodesOf } from '../../../common/well-known.ts';
import { isKubeError, isNotFound, type KubeApi, type KubeObject } from '../../kube/api.ts';
import type { Hidden, Surroundings } from './facts.ts';

export interface FactsOptions {
  readonly nowMs: number;
  readonly namespace: string;
  readonly leaseNamespace: string;
  readonly leaseName: string;
}

interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly renewTime?: string;
    readonly leaseDurationSeconds?: number;
  };
}

interface EventObject {
  readonly involvedObject?: { readonly uid?: string };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
}

/**
 * Reads an object; undefined when it does not exist or may not be read. Throws a KubeError for other failures.
 *
 * @param onDenied called when it may not be read
 */
export async function readOptional<T>(
  api: KubeApi,
  path: string,
  onDenied: () => void,
  query: Readonly<Record<string, string>> = {},
): Promise<T | undefined> {
  try {
    return await api.call<T>({ verb: 'get', path, query });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    if (!isKubeError(error) || error.status !== 403) throw error;
    onDenied();
    return undefined;
  }
}

/** What an explanation reads beside the object and its events. */
export type Around = Omit<Surroundings, 'events'>;

/** Reads the leader and the pause. Throws a KubeError. */
export async function readAround(api: KubeApi, options: FactsOptions): Promise<Around> {
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${options.leaseNamespace}/leases`;
  const hidden: Hidden[] = [];
  const denied = (what: Hidden) => () => void hidden.push(what);
  const [leader, config] = await Promise.all([
    readOptional<Lease>(api, `${leases}/${options.leaseName}`, denied('leader')),
    readOptional<{ readonly data?: Readonly<Record<string, string>> }>(
      api,
      `/api/v1/namespaces/${options.namespace}/configmaps/${names.certificates}`,
      denied('pause'),
    ),
  ]);
  return {
    leader: leader && {
      identity: leader.spec?.holderIdentity ?? '',
      renewTime: leader.spec?.renewTime ?? '',
      durationSeconds: leader.spec?.leaseDurationSeconds,
      annotations: leader.metadata.annotations ?? {},
    },
    pausedForAll: isPauseValue(config?.data?.[names.pausedKey]),
    pausedNodes: pausedNodesOf(config?.data?.[names.pausedNodesKey]),
    hidden,
    namespace: options.namespace,
    nowMs: options.nowMs,
  };
}

/**
 * Reads the leader, the pause and the last events of an object. Throws a KubeError.
 *
 * @param involved without `uid`: the events of all objects that had its name one after the other
 */
export async function readSurroundings(
  api: KubeApi,
  involved: {
    readonly kind: string;
    readonly name: string;
    readonly uid?: string;
    readonly eventNamespace: string;
  },
  options: FactsOptions,
): Promise<Surroundings> {
  const denied: Hidden[] = [];
  const [around, events] = await Promise.all([
    readAround(api, options),
    readOptional<{ readonly items: readonly EventObject[] }>(
      api,
      `/api/v1/namespaces/${encodeURIComponent(involved.eventNamespace)}/events`,
      () => void denied.push('events'),
      { fieldSelector: `involvedObject.kind=${involved.kind},involvedObject.name=${involved.name}` },
    ),
  ]);
  // Kubelets write the name of their Node as its uid.
  const own = new Set([involved.uid, involved.name, undefined, '']);
  return {
    ...around,
    events: (events?.items ?? [])
      .filter(({ involvedObject }) => involved.uid === undefined || own.has(involvedObject?.uid))
      .map(({ type = '', reason = '', message = '', lastTimestamp, eventTime }) => ({
        time: lastTimestamp ?? eventTime ?? '',
        type,
        reason,
        message,
      }))
      .sort((a, b) => (a.time < b.time ? -1 : 1))
      .slice(-5),
    hidden: [...around.hidden, ...denied],
  };
}
