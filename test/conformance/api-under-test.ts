/**
 * A running Kubernetes API server, embedded or real, as the suites and the tools see it. Both `startKubeApi`
 * (embedded) and `startRealApi` (kube-apiserver + etcd) return this shape.
 */
export interface ApiUnderTest {
  /** Which server this is. Suites use it to leave out facts that the embedded one may leave out. */
  readonly kind: 'embedded' | 'real';
  /** `https://127.0.0.1:PORT`, no trailing slash. */
  readonly url: string;
  /** PEM of the certificate authority that signed the serving certificate. */
  readonly caPem: string;
  /** Bearer token of a user in the group `system:masters`. */
  readonly adminToken: string;
  /**
   * Bearer token of the kubelet of that name: user `system:node:NAME`, group `system:nodes`. The real server
   * knows only the names given at its start and throws for others. The Node need not exist.
   */
  nodeToken(name: string): string;
  /** A kubeconfig document (YAML) for this server; for the admin unless a token is given. */
  kubeconfig(token?: string): string;
  /** Writes `kubeconfig(token)` to `path`, readable by the owner only. */
  writeKubeconfig(path: string, token?: string): Promise<void>;
  /** Ends the server and removes what it left on disk. Safe to repeat. */
  stop(): Promise<void>;
  /** Kills the server and starts it again at the same URL with the same objects: open watches break. */
  restart?(): Promise<void>;
  /** Forgets the history before now, so that older resourceVersions and continue tokens answer 410. */
  expireHistory?(): Promise<void>;
  /** Lets `ms` of the server's own time pass at once. Where it is missing, that time has to be waited for. */
  passTime?(ms: number): void;
}

/** Runs one named check of a suite. It never throws: a failure is recorded under its name. */
export type Check = (name: string, body: () => Promise<void>, options?: { skip?: string | undefined }) => Promise<void>;

/** Something that can be run against any API server. Where `run` itself throws, that counts as one failure. */
export interface ApiSuite {
  readonly name: string;
  run(api: ApiUnderTest, check: Check): Promise<void>;
}
