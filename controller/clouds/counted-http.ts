import { CloudError, isCloudError } from '../../common/cloud-error.ts';
import type { Clock } from '../../common/process/clock.ts';
import { type Http, type HttpAnswer, HttpFailure, type HttpRequest } from '../../common/process/http.ts';
import { isAnswered } from './answered-code.ts';
import type { CloudCall } from './cloud.ts';

export interface CountedHttpOptions {
  readonly cloud: string;
  readonly http: Http;
  readonly clock: Clock;
  readonly onCall: (call: CloudCall) => void;
}

/**
 * One HTTP exchange that is counted: as `ok` below status 300, by its status otherwise, and as `timeout` or
 * `unreachable` where no answer came; then it fails with a CloudError `Timeout` or `Unavailable`.
 *
 * @param operation for metrics and errors: no ids in it
 * @param refuse throws the CloudError of an answer that is a failure. A `NotFound` is counted as that where its status
 *   is not 404: some clouds have one status for everything that they refuse
 */
export type CountedHttp = (
  operation: string,
  request: HttpRequest,
  refuse?: (answer: HttpAnswer) => void,
) => Promise<HttpAnswer>;

export function createCountedHttp({ cloud, http, clock, onCall }: CountedHttpOptions): CountedHttp {
  return async (operation, request, refuse) => {
    const startedAt = clock.monotonic();
    let code = 'unreachable';
    try {
      const answer = await http(request);
      code = answer.status < 300 ? 'ok' : String(answer.status);
      refuse?.(answer);
      return answer;
    } catch (cause) {
      if (isCloudError(cause) && cause.kind === 'NotFound' && !isAnswered(code)) code = 'NotFound';
      if (!(cause instanceof HttpFailure)) throw cause;
      if (cause.kind === 'timeout') code = 'timeout';
      const kind = cause.kind === 'timeout' ? 'Timeout' : 'Unavailable';
      throw new CloudError({ kind, cloud, operation, message: cause.message, cause });
    } finally {
      onCall({ cloud, operation, code, seconds: (clock.monotonic() - startedAt) / 1000 });
    }
  };
}
