import type { AgentOptions } from 'node:https';
import { createHttp, type Http } from '../../common/process/http.ts';
import { readProxies } from '../../common/process/proxy-environment.ts';
import type { CloudContext } from './cloud.ts';

/** Around every exchange, for worlds that lose answers or count calls. */
export type WrapHttp = (http: Http) => Http;

export interface ConnectionsOptions {
  readonly wrapHttp?: WrapHttp | undefined;
  /** Default 48: as many as Services and routes are worked on at once. A call that waits was permitted too early. */
  readonly maxSockets?: number;
  readonly tls?: AgentOptions;
  /** As of `createHttp`. */
  readonly thumbprint?: string | undefined;
}

/** Connections to one cloud that stay open between calls, through the proxies of the environment. Makes no call. */
export function openConnections(
  { clock, env }: Pick<CloudContext, 'clock' | 'env'>,
  { wrapHttp = (http) => http, maxSockets = 48, tls = {}, thumbprint }: ConnectionsOptions,
): { readonly http: Http; close(): void } {
  const plain = { keepAlive: true, maxSockets };
  const proxyFor = readProxies(env);
  const { http, close } = createHttp({ clock, proxyFor, plain, tls: { ...plain, ...tls }, thumbprint });
  return { http: wrapHttp(http), close };
}
