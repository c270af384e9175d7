import { isNotFound, type KubeApi } from './api.ts';
import { type Lease, type LeaseRecord, leaseBody, readLease } from './lease.ts';

/** Reads and writes one Lease. Every write is guarded by the version of the Lease that it replaces. */
export interface LeaseStore {
  /** Undefined when there is none. */
  read(signal?: AbortSignal): Promise<Lease | undefined>;
  /**
   * Replaces `base`, or creates the Lease; without a record its spec stays. Throws a KubeError; 409 after a concurrent
   * write.
   */
  write(
    base: Lease | undefined,
    record: LeaseRecord | undefined,
    annotations: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Lease>;
}

/**
 * Replaces and creates by PUT, whose name RBAC can check: the permission to `create` can then be granted for this one
 * Lease. A POST would need it for every name.
 */
export function createLeaseStore(
  api: KubeApi,
  at: { readonly namespace: string; readonly name: string },
  timeoutMs: number,
): LeaseStore {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${at.namespace}/leases/${at.name}`;
  const common = (signal: AbortSignal | undefined) => ({ timeoutMs, urgent: true, ...(signal ? { signal } : {}) });
  return {
    async read(signal) {
      try {
        return readLease(await api.call({ verb: 'get', path, ...common(signal) }));
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    async write(base, record, annotations, signal) {
      const body = leaseBody(at, base, record, annotations);
      return readLease(await api.call({ verb: 'update', path, body, ...common(signal) }));
    },
  };
}
