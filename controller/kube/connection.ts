import type { ConnectionOptions } from 'node:tls';

/** The TLS options of connections to the API server. */
export type TlsMaterial = Readonly<
  Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'servername' | 'rejectUnauthorized'>
>;

/** The current credentials. They are unchanged exactly if the object is the same; the same holds for `tls`. */
export interface Credentials {
  /** `Authorization` and impersonation headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial;
}

/** The address of the API server and the credentials for it. */
export interface KubeConnection {
  /** `https://host:port`, with a path prefix where the server sits behind one. No trailing slash. */
  readonly server: string;
  /** The namespace of the kubeconfig's context, or of the Pod. */
  readonly namespace?: string | undefined;
  /** The namespace of the Pod; undefined with a kubeconfig. */
  readonly podNamespace?: string | undefined;
  /** URL of the HTTP proxy in front of the server. */
  readonly proxy?: string | undefined;
  /**
   * Returns the cached credentials while they are fresh. `refused`: credentials that the server just answered with 401;
   * they are then read again, and the result is another object only if something changed. Throws when there are none.
   */
  credentials(refused?: Credentials): Credentials | Promise<Credentials>;
}
