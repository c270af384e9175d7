import type { Log } from '../../common/process/log.ts';
import type { KubeApi, KubeCall } from './api.ts';
import { isMutating } from './fence.ts';

/**
 * An API that reads, but only logs what it would write. A write is answered as if it had changed nothing, so that
 * callers continue with their next step.
 */
export function dryRunApi(api: KubeApi, log: Log): KubeApi {
  return {
    watch: (call) => api.watch(call),
    async call<T>(call: KubeCall): Promise<T> {
      if (!isMutating(call)) return api.call<T>(call);
      log.info('would write', { verb: call.verb, path: call.path, body: call.body });
      const version = (call.body as { metadata?: { resourceVersion?: string } } | undefined)?.metadata?.resourceVersion;
      return { metadata: { resourceVersion: version ?? '' } } as T;
    },
  };
}
