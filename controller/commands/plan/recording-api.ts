import type { KubeApi, KubeCall } from '../../kube/api.ts';
import { isMutating } from '../../kube/fence.ts';

/**
 * An API that reads, but only records what would be written. A write is answered as if it had changed nothing, so that
 * callers continue with their next step.
 */
export interface RecordingApi extends KubeApi {
  /** In the order in which they would be sent. */
  readonly writes: readonly KubeCall[];
}

export function recordingApi(api: KubeApi): RecordingApi {
  const writes: KubeCall[] = [];
  return {
    writes,
    watch: (call) => api.watch(call),
    async call<T>(call: KubeCall): Promise<T> {
      if (!isMutating(call)) return api.call<T>(call);
      writes.push(call);
      const version = (call.body as { metadata?: { resourceVersion?: string } } | undefined)?.metadata?.resourceVersion;
      return { metadata: { resourceVersion: version ?? '' } } as T;
    },
  };
}
