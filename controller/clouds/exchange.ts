import { CloudError } from '../../common/cloud-error.ts';
import type { HttpAnswer, HttpRequest } from '../../common/process/http.ts';
import { type CountedHttpOptions, createCountedHttp } from './counted-http.ts';
import type { RateLimitedCall, RateLimiter } from './rate-limiter.ts';
import { retryAfterMsOf } from './retry-after.ts';

export interface ExchangeOptions extends CountedHttpOptions {
  readonly rateLimiter: RateLimiter;
}

/** @param refuse as of CountedHttp */
export type Exchange = (
  operation: string,
  request: HttpRequest,
  call?: RateLimitedCall,
  refuse?: (answer: HttpAnswer) => void,
) => Promise<HttpAnswer>;

/**
 * One HTTP exchange that waits for its turn and is counted. Answers every status but 429, which is `Throttled` for the
 * time that Retry-After gives. Fails with a CloudError: `Timeout` or `Unavailable` where no answer came.
 */
export function createExchange(options: ExchangeOptions): Exchange {
  const { cloud, clock, rateLimiter } = options;
  const http = createCountedHttp(options);
  return (operation, request, call, refuse) => {
    const send = () =>
      http(operation, request, (answer) => {
        if (answer.status !== 429) return refuse?.(answer);
        const retryAfterMs = retryAfterMsOf(answer, clock.now());
        throw new CloudError({ kind: 'Throttled', cloud, operation, message: '429', retryAfterMs });
      });
    return rateLimiter.run(operation, send, call);
  };
}
