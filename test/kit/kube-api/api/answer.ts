import type { Headers } from '../auth/authenticate.ts';
import type { User } from '../auth/user.ts';
import type { WatchStream } from './watch.ts';

/** A request as it leaves a client, without a connection. */
export interface ApiRequest {
  readonly method: string;
  /** Without the query, e.g. `/api/v1/nodes`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case. */
  readonly headers: Headers;
  readonly body?: string | Uint8Array | undefined;
  /** Who asks, when that is known already: the headers are not looked at then. */
  readonly user?: User;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Texts of `Warning` headers. */
  readonly warnings: readonly string[];
  /** The answer is to arrive this much later, milliseconds. What was asked for is done already. */
  readonly delayMs?: number;
  /** The connection breaks instead of the answer arriving. */
  readonly cut?: true;
  readonly watch?: undefined;
}

export interface WatchAnswer {
  readonly status: 200;
  readonly headers: Readonly<Record<string, string>>;
  readonly watch: WatchStream;
}
