import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import type { TokenSigner } from './auth/token-signer.ts';
import type { User } from './auth/user.ts';
import type { FaultRule } from './faults.ts';
import { issueServingCertificate } from './http/certificates.ts';
import { kubeconfigText } from './http/kubeconfig.ts';
import { requestHandler } from './http/serve.ts';
import { createKubeApiCore, type KubeApiCore } from './kube-api-core.ts';

export interface StartKubeApiOptions {
  readonly clock: Clock;
  readonly random: Random;
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
  readonly url: string;
  readonly caPem: string;
  readonly adminToken: string;
  readonly core: KubeApiCore;
  /** Open connections now. */
  readonly connections: number;
  /** A kubeconfig as YAML; the administrator's and namespace `default` unless told otherwise. */
  kubeconfig(token?: string, namespace?: string): string;
  /** Writes the administrator's kubeconfig, readable by the owner alone. */
  writeKubeconfig(path: string): Promise<void>;
  /** Cuts all connections and stops listening. Safe to repeat. */
  stop(): Promise<void>;
}

/** An embedded Kubernetes API on HTTPS, with a certificate authority of its own. Rejects when the port is taken. */
export async function startKubeApi(options: StartKubeApiOptions): Promise<KubeApiServer> {
  const host = options.host ?? '127.0.0.1';
  const names = new Set(['127.0.0.1', '::1', 'localhost', 'kubernetes', 'kubernetes.default.svc', '10.96.0.1', host]);
  const certificate = await issueServingCertificate([...names]);
  const core = createKubeApiCore({ ...options, caPem: certificate.caPem });
  for (const rule of options.faults ?? []) core.faults.add(rule);
  const handler = requestHandler(core, options.clock);
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
    url,
    caPem: certificate.caPem,
    adminToken: core.adminToken,
    core,
    get connections() {
      return sockets.size;
    },
    kubeconfig: (token = core.adminToken, namespace = 'default') =>
      kubeconfigText({ url, caPem: certificate.caPem, token, namespace }),
    writeKubeconfig: (path) => writeFile(path, api.kubeconfig(), { mode: 0o600 }),
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
