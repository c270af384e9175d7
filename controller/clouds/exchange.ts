import { CloudError } from '../../common/cloud-error.ts';
import type { Clock } from '../../common/process/clock.ts';
import { type Http, type HttpAnswer, HttpFailure, type HttpRequest } from '../../common/process/http.ts';
import type { CloudCall } from './cloud.ts';
import type { RateLimitedCall, RateLimiter } from './rate-limiter.ts';
import { retryAfterMsOf } from './retry-after.ts';

export interface ExchangeOptions {
  readonly cloud: string;
  readonly http: Http;
  readonly clock: Clock;
  readonly gate: RateLimiter;
  readonly onCall: (call: CloudCall) => void;
}

/** @param operation for metrics and errors: no ids in it */
export type Exchange = (operation: string, request: HttpRequest, call?: RateLimitedCall) => Promise<HttpAnswer>;

/**
 * One HTTP exchange that waits for its turn and is counted. Answers every status but 429, which is `Throttled` for the
 * time that Retry-After gives. Fails with a CloudError: `Timeout` or `Unavailable` where no answer came.
 */
export function createExchange({ cloud, http, clock, gate, onCall }: ExchangeOptions): Exchange {
  return (operation, request, call) => {
    const send = async () => {
      const startedAt = clock.monotonic();
      let code = 'unreachable';
      try {
        const answer = await http(request);
        code = answer.status < 300 ? 'ok' : String(answer.status);
        if (answer.status !== 429) return answer;
        const retryAfterMs = retryAfterMsOf(answer, clock.now());
        throw new CloudError({ kind: 'Throttled', cloud, operation, message: '429', retryAfterMs });
      } catch (cause) {
        if (!(cause instanceof HttpFailure)) throw cause;
        if (cause.kind === 'timeout') code = 'timeout';
        const kind = cause.kind === 'timeout' ? 'Timeout' : 'Unavailable';
        throw new CloudError({ kind, cloud, operation, message: cause.message, cause });
      } finally {
        onCall({ cloud, operation, code, seconds: (clock.monotonic() - startedAt) / 1000 });
      }
    };
    return gate.run(operation, send, call);
  };
}
