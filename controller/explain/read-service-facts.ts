import { isPauseValue, names } from '../../common/well-known.ts';
import { isKubeError, isNotFound, type KubeApi, type KubeObject } from '../kube/api.ts';
import { servicePath, viewService } from '../services/service-view.ts';
import type { ServiceFacts } from './explain-service.ts';
import type { FactsOptions } from './read-facts.ts';

interface Lease extends KubeObject {
  readonly spec?: { readonly holderIdentity?: string; readonly renewTime?: string };
}

interface EventObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
}

/** Reads what bears on a Service. Throws a KubeError when the Service cannot be read; what else may not be read is left out. */
export async function readServiceFacts(
  api: KubeApi,
  service: { readonly namespace: string; readonly name: string },
  options: FactsOptions & { readonly loadBalancerClasses: readonly string[] },
): Promise<ServiceFacts> {
  const raw = await api.call({ verb: 'get', path: servicePath(service) });
  const optional = async <T>(path: string, query: Record<string, string> = {}): Promise<T | undefined> => {
    try {
      return await api.call<T>({ verb: 'get', path, query });
    } catch (error) {
      if (isNotFound(error) || (isKubeError(error) && error.status === 403)) return undefined;
      throw error;
    }
  };
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${options.leaseNamespace}/leases`;
  const [leader, config, events] = await Promise.all([
    optional<Lease>(`${leases}/${options.leaseName}`),
    optional<{ readonly data?: Readonly<Record<string, string>> }>(
      `/api/v1/namespaces/${options.namespace}/configmaps/${names.certificates}`,
    ),
    optional<{ readonly items: readonly EventObject[] }>(
      `/api/v1/namespaces/${encodeURIComponent(service.namespace)}/events`,
      { fieldSelector: `involvedObject.kind=Service,involvedObject.name=${service.name}` },
    ),
  ]);
  return {
    service: viewService(raw, () => true),
    loadBalancerClasses: options.loadBalancerClasses,
    leader: leader && {
      identity: leader.spec?.holderIdentity ?? '',
      renewTime: leader.spec?.renewTime ?? '',
      annotations: leader.metadata.annotations ?? {},
    },
    pausedForAll: isPauseValue(config?.data?.[names.pausedKey]),
    events: (events?.items ?? [])
      .map(({ type = '', reason = '', message = '', lastTimestamp, eventTime }) => ({
        time: lastTimestamp ?? eventTime ?? '',
        type,
        reason,
        message,
      }))
      .sort((a, b) => (a.time < b.time ? -1 : 1))
      .slice(-5),
    nowMs: options.nowMs,
  };
}
