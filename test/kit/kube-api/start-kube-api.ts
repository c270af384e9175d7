import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import type { TokenSigner } from './auth/token-signer.ts';
import type { User } from './auth/user.ts';
import type { FaultRule } from './faults.ts';
import { issueServingCertificate } from './http/certificates.ts';
import { kubeconfigText } from './http/kubeconfig.ts';
import { requestHandler } from './http/serve.ts';
import { createKubeApiCore, type KubeApiCore } from './kube-api-core.ts';

export interface StartKubeApiOptions {
  /** Default: the machine's time. */
  readonly clock?: Clock;
  /** Default: not repeatable. */
  readonly random?: Random;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** When given, `ca.crt` and `kubeconfig` are written there. */
  readonly dir?: string;
  /** In force from the first request on; more through `core.faults`. */
  readonly faults?: readonly FaultRule[];
  readonly historyLimit?: number;
  readonly signer?: TokenSigner;
  /** Static bearer tokens besides the administrator's. */
  readonly tokens?: ReadonlyMap<string, User>;
  readonly adminToken?: string;
}

export interface KubeApiServer {
  readonly kind: 'embedded';
  readonly url: string;
  readonly caPem: string;
  readonly adminToken: string;
  readonly core: KubeApiCore;
  /** Open connections now. */
  readonly connections: number;
  /** A kubeconfig as YAML; the administrator's and namespace `default` unless told otherwise. */
  kubeconfig(token?: string, namespace?: string): string;
  /** Writes `kubeconfig(token)`, readable by the owner alone. */
  writeKubeconfig(path: string, token?: string): Promise<void>;
  /** Bearer token of the kubelet of that name. The Node need not exist. */
  nodeToken(name: string): string;
  /** Forgets the history before now: older resourceVersions and page tokens answer 410. */
  expireHistory(): Promise<void>;
  /** Cuts all connections and stops listening. Safe to repeat. */
  stop(): Promise<void>;
}

/** An embedded Kubernetes API on HTTPS, with a certificate authority of its own. Rejects when the port is taken. */
export async function startKubeApi(options: StartKubeApiOptions = {}): Promise<KubeApiServer> {
  const clock = options.clock ?? systemClock();
  const host = options.host ?? '127.0.0.1';
  const names = new Set(['127.0.0.1', '::1', 'localhost', 'kubernetes', 'kubernetes.default.svc', '10.96.0.1', host]);
  const certificate = await issueServingCertificate([...names]);
  const core = createKubeApiCore({ random: Math.random, ...options, clock, caPem: certificate.caPem });
  for (const rule of options.faults ?? []) core.faults.add(rule);
  const handler = requestHandler(core, clock);
  const server = createServer(
    { cert: certificate.certPem, key: certificate.keyPem, ALPNProtocols: ['http/1.1'], noDelay: true },
    (request, response) => void handler(request, response),
  );
  server.keepAliveTimeout = 120_000;
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  let stopped: Promise<void> | undefined;

  const api: KubeApiServer = {
    kind: 'embedded',
    url,
    caPem: certificate.caPem,
    adminToken: core.adminToken,
    core,
    get connections() {
      return sockets.size;
    },
    kubeconfig: (token = core.adminToken, namespace = 'default') =>
      kubeconfigText({ url, caPem: certificate.caPem, token, namespace }),
    writeKubeconfig: (path, token) => writeFile(path, api.kubeconfig(token), { mode: 0o600 }),
    nodeToken: (name) => core.nodeToken(name),
    async expireHistory() {
      core.compact();
    },
    stop() {
      stopped ??= new Promise((resolve) => {
        core.endWatches();
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      });
      return stopped;
    },
  };
  if (options.dir !== undefined) {
    await writeFile(join(options.dir, 'ca.crt'), api.caPem);
    await api.writeKubeconfig(join(options.dir, 'kubeconfig'));
  }
  return api;
}
