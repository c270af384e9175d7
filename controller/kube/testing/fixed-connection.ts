import type { Credentials, KubeConnection, TlsMaterial } from '../connection.ts';

/** A connection whose credentials never change. */
export function fixedConnection(options: {
  readonly server: string;
  readonly token?: string;
  readonly tls?: TlsMaterial;
  readonly proxy?: string;
}): KubeConnection {
  const fixed: Credentials = {
    headers: options.token === undefined ? {} : { authorization: `Bearer ${options.token}` },
    tls: options.tls ?? {},
  };
  return { server: options.server.replace(/\/+$/, ''), proxy: options.proxy, credentials: () => fixed };
}
