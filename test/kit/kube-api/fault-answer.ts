import type { ApiAnswer, WatchAnswer } from './api/answer.ts';
import { ApiError } from './api-error.ts';
import type { FaultEffect } from './faults.ts';

/** No answer: the connection breaks. */
export const cutAnswer: ApiAnswer = { status: 0, headers: {}, body: '', warnings: [], cut: true };

const texts: Readonly<Record<number, [reason: string, message: string]>> = {
  401: ['Unauthorized', 'Unauthorized'],
  403: ['Forbidden', 'forbidden: injected fault'],
  409: ['Conflict', 'Operation cannot be fulfilled: injected fault'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: ['Timeout', 'Timeout: request did not complete within the allotted timeout'],
};

/** What a refusal looks like to the client; anything but an ApiError is an internal error. */
export function errorAnswer(error: unknown): ApiAnswer {
  const why = error instanceof Error ? error.message : String(error);
  const known =
    error instanceof ApiError ? error : new ApiError(500, 'InternalError', `Internal error occurred: ${why}`);
  const type = known.plain ? 'text/plain; charset=utf-8' : 'application/json';
  const answer: ApiAnswer = {
    status: known.code,
    headers: { 'content-type': type, ...known.headers },
    body: known.plain ? known.message : JSON.stringify(known.status()),
    warnings: [],
  };
  return known.delayMs > 0 ? { ...answer, delayMs: known.delayMs } : answer;
}

/** The answer given instead of doing what was asked. */
export function faultAnswer(effect: Extract<FaultEffect, { kind: 'answer' }>): ApiAnswer {
  const { status, retryAfterSeconds, body } = effect;
  const headers: Record<string, string> = {};
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds);
  const plain = body ?? (status === 429 ? 'Too many requests, please try again later.\n' : undefined);
  const [reason, message] = texts[status] ?? ['InternalError', 'Internal error occurred: injected fault'];
  return errorAnswer(new ApiError(status, reason, plain ?? message, { headers, plain: plain !== undefined }));
}

/** What is left of the answer to a request that was carried out. */
export function afterFault(answer: ApiAnswer | WatchAnswer, effect: FaultEffect): ApiAnswer | WatchAnswer {
  if (effect.kind === 'lose-answer') return cutAnswer;
  if (effect.kind === 'delay' && answer.watch === undefined) return { ...answer, delayMs: effect.ms };
  return answer;
}
