import { errorFields } from '../../common/process/log.ts';
import { isKubeError, type KubeApi, type KubeCall } from '../kube/api.ts';
import type { Activity } from './activity.ts';
import type { ChangeRecord } from './change-record.ts';

/**
 * Counts calls, and notes those that fail.
 *
 * @param aheadMs how far the process is ahead of the present: so is the time on the server, as it is told
 */
export function watchedApi(api: KubeApi, record: ChangeRecord, activity: Activity, aheadMs: () => number): KubeApi {
  return {
    watch: (call) => api.watch(call),
    async call<T>(call: KubeCall): Promise<T> {
      const { onDate } = call;
      const what = `${call.verb} ${call.path}`;
      try {
        const shifted = onDate && { onDate: (ms: number) => onDate(ms + aheadMs()) };
        const answer = await activity.during(() => api.call<T>({ ...call, ...shifted }));
        record.succeeded(what);
        return answer;
      } catch (error) {
        if (isFailure(error)) record.failed(what, String(errorFields(error)['error']));
        throw error;
      }
    },
  };
}

/** Not an answer about the object. */
function isFailure(error: unknown): boolean {
  if (!isKubeError(error)) return true;
  if (error.status === 0) return error.reason !== 'Aborted';
  return ![404, 409, 410].includes(error.status);
}
