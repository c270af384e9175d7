import type { ConnectionOptions } from 'node:tls';

/** What a TLS connection to the API server is made with. */
export type TlsMaterial = Readonly<
  Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'servername' | 'rejectUnauthorized'>
>;

/** Who we are to the API server, as of now. Two of them are the same exactly if they are the same object; so are their `tls`. */
export interface Credentials {
  /** `Authorization` and impersonation headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial;
}

/** Where the API server is and how to prove who we are. */
export interface KubeConnection {
  /** `https://host:port`, with a path prefix where the server sits behind one. No trailing slash. */
  readonly server: string;
  /**
   * Answers at once while the last ones are fresh. `refused` are credentials that the server just answered with 401: then they are read anew, and what
   * comes back is another object only if something changed. Throws when there are none at all.
   */
  credentials(refused?: Credentials): Credentials | Promise<Credentials>;
}

/** A connection whose credentials never change. */
export function fixedConnection(options: {
  readonly server: string;
  readonly token?: string;
  readonly tls?: TlsMaterial;
}): KubeConnection {
  const fixed: Credentials = {
    headers: options.token === undefined ? {} : { authorization: `Bearer ${options.token}` },
    tls: options.tls ?? {},
  };
  return { server: options.server.replace(/\/+$/, ''), credentials: () => fixed };
}
