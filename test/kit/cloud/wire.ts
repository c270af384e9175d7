/** One HTTP request, free of sockets, so that the same service answers over HTTP and in process. */
export interface WireRequest {
  readonly method: string;
  /** Percent-encoding kept. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/**
 * The result of a request: an answer (whole, or cut after some bytes of its body), a broken connection, or nothing
 * ever.
 */
export type WireReply =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      readonly cutAfterBytes?: number;
    }
  | { readonly kind: 'lost' }
  | { readonly kind: 'silence' };

/** @param signal aborts when the caller has gone or the service stops; the handler then rejects or settles soon */
export type WireHandler = (request: WireRequest, signal: AbortSignal) => Promise<WireReply>;

/** An answer before it is turned into bytes, so that faults can still change what it says. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly value: unknown;
}

export function failure(status: number, code: string, message: string, headers: Record<string, string> = {}): Answer {
  return { status, headers, value: { error: { code, message } } };
}

export function toReply({ status, headers, value }: Answer, indent = 0): WireReply {
  return {
    kind: 'answer',
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(value, null, indent),
  };
}
