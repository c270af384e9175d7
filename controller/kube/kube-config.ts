import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import type { RequestOptions } from 'node:https';
import { createSecureContext } from 'node:tls';
import { type Cluster, KubeConfig } from '@kubernetes/client-node';
import { pemCertificates } from '../../common/pem-certificates.ts';
import type { Clock } from '../../common/process/clock.ts';
import { errorFields, type Log } from '../../common/process/log.ts';
import { proxyUrl, readProxies } from '../../common/process/proxy-environment.ts';
import { unlessAborted } from '../../common/process/until.ts';
import type { Credentials, KubeConnection, TlsMaterial } from './connection.ts';
import { findKubeConfigs, readKubeConfigs } from './kube-config-files.ts';

export interface KubeConfigOptions {
  /** A kubeconfig file; default: as kubectl finds it, and in a Pod without `KUBECONFIG` its ServiceAccount. */
  readonly kubeconfig?: string | undefined;
  /** The context of the kubeconfig to use. Default: its current one. */
  readonly context?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Default `process.env`: `KUBECONFIG`, `HOME`, and the address of the API server in a Pod. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Prefix of the paths of a Pod's ServiceAccount, for tests. */
  readonly rootPrefix?: string;
}

/**
 * How long credentials are used before they are read again. The kubelet renews a projected token after 80 % of its
 * lifetime (an hour).
 */
const freshMs = 60_000;
/**
 * The shortest interval between renewals, so that a server that refuses everything does not cause an exec plugin per
 * call.
 */
const renewAtMostEveryMs = 5_000;
/** The time of an exec plugin, for which every call waits; at first a person may have to log in, in a browser. */
const loginLimitMs = 180_000;
const renewalLimitMs = 30_000;

/**
 * The connection of a kubeconfig or of a Pod's ServiceAccount, by client-node's KubeConfig: certificates, tokens, token
 * files, exec plugins, basic authentication, impersonation. Files are read again every minute and after a 401. An exec
 * plugin runs again when its credentials have expired or were refused. Throws an Error naming the file or variable when
 * there is no usable configuration.
 *
 * It and `kube-config-files.ts` alone load client-node at run time (80 MiB unbundled): import it lazily.
 */
export async function loadKubeConnection(options: KubeConfigOptions): Promise<KubeConnection> {
  const { clock, log } = options;
  const { config: first, proxy, isInCluster } = readConfig(options);
  let config = first;
  const server = config.getCurrentCluster()!.server.replace(/\/+$/, '');
  let current: Credentials = await materialize(config, undefined, clock);
  let readAt = clock.monotonic();
  let freshForMs = freshMs;
  let reading: Promise<Credentials> | undefined;
  // A person may switch the current context of the file: its credentials are of another server.
  const context = config.getCurrentContext();
  const namespace = config.getContextObject(context)?.namespace || undefined;

  async function renew(refused: boolean): Promise<Credentials> {
    try {
      // The KubeConfig caches the answer of an exec plugin until it expires; a new KubeConfig runs the plugin again.
      if (refused || !config.getCurrentUser()?.exec) config = readConfig({ ...options, context }).config;
      const renewed = await materialize(config, current, clock);
      if (isAnonymous(renewed) && !isAnonymous(current)) throw new Error('the token is gone: is its file empty?');
      if (renewed.tls !== current.tls) {
        // The old token ends, and a CA file may stay as it is for long.
        const { headers } = renewed;
        const isNew = fingerprint(headers) !== fingerprint(current.headers);
        if (isNew && headers['authorization'] !== undefined) current = { headers, tls: current.tls };
        assertWhole(renewed.tls, current.tls);
      }
      current = renewed;
      freshForMs = freshMs;
    } catch (error) {
      // A file may be half replaced, or a plugin down: the old credentials may still be valid.
      freshForMs = renewAtMostEveryMs;
      log.warn('cannot renew the credentials of the API server; keeping the old ones', errorFields(error));
    } finally {
      readAt = clock.monotonic();
      reading = undefined;
    }
    return current;
  }

  return {
    server,
    proxy,
    namespace,
    podNamespace: isInCluster ? namespace : undefined,
    credentials(refused) {
      if (reading) return reading;
      const age = clock.monotonic() - readAt;
      const stillRefused = refused !== undefined && refused === current;
      if (stillRefused ? age < renewAtMostEveryMs : age < freshForMs) return current;
      reading = renew(stillRefused);
      return reading;
    },
  };
}

function readConfig(options: KubeConfigOptions): {
  readonly config: KubeConfig;
  readonly proxy: string | undefined;
  readonly isInCluster: boolean;
} {
  const files = findKubeConfigs(options.kubeconfig, options.env ?? process.env);
  const config = files.length > 0 ? readKubeConfigs(files, options.context) : loadServiceAccount(options);
  const from = files.length === 0 ? 'in-cluster configuration' : `kubeconfig ${files.join(', ')}`;
  if (options.context !== undefined) config.setCurrentContext(options.context);
  const context = config.getContextObject(config.getCurrentContext());
  if (!context) {
    const known = config.contexts.map(({ name }) => name).join(', ');
    const expected = known === '' ? 'and it has no contexts: is this a whole kubeconfig?' : `expected one of ${known}`;
    const what = options.context === undefined ? 'current-context' : 'context';
    throw new Error(`${from}: ${what} "${config.getCurrentContext() ?? ''}" names no context, ${expected}`);
  }
  const cluster = config.getCurrentCluster();
  if (!cluster)
    throw new Error(`${from}: context "${context.name}" names cluster "${context.cluster}", which is not there`);
  if (!config.getCurrentUser()) {
    throw new Error(`${from}: context "${context.name}" names user "${context.user}", which is not there`);
  }
  const form = cluster.skipTLSVerify ? /^https?:\/\// : /^https:\/\//;
  if (!form.test(cluster.server)) {
    throw new Error(`${from}: server of cluster "${cluster.name}" is "${cluster.server}", expected an https:// URL`);
  }
  const proxy = files.length === 0 ? undefined : proxyOf(cluster, from, options.env ?? process.env);
  return { config, proxy, isInCluster: files.length === 0 };
}

/** Inside the cluster there is none: the address there is the API server's own. */
function proxyOf(
  { name, server, proxyUrl: given }: Cluster,
  from: string,
  env: NonNullable<KubeConfigOptions['env']>,
): string | undefined {
  return given ? proxyUrl(`${from}: proxy-url of cluster "${name}"`, given) : readProxies(env)(new URL(server));
}

function loadServiceAccount({ env = process.env, rootPrefix }: KubeConfigOptions): KubeConfig {
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'];
  if (!host || !port) {
    throw new Error(
      'no kubeconfig given, KUBECONFIG is not set, ~/.kube/config is not there, and KUBERNETES_SERVICE_HOST and ' +
        'KUBERNETES_SERVICE_PORT are not set: this is no Pod. Give --kubeconfig FILE',
    );
  }
  const config = new KubeConfig();
  config.loadFromCluster(rootPrefix);
  config.clusters = config.clusters.map((cluster) => ({
    ...cluster,
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
  }));
  return config;
}

/**
 * The current credentials of the KubeConfig; `last` itself, or its `tls`, where nothing changed. Throws an Error when
 * an exec plugin fails, or has not answered within the limit.
 */
async function materialize(config: KubeConfig, last: Credentials | undefined, clock: Clock): Promise<Credentials> {
  const options = await withinLimit(config, clock, last !== undefined);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // A token file may end in a newline, which no header may carry.
    if (value !== undefined) headers[name.toLowerCase()] = String(value).trim();
  }
  if (options.auth) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = options;
  const tls = Object.fromEntries(
    Object.entries({ ca, cert, key, pfx, passphrase, servername, rejectUnauthorized }).filter(
      ([, value]) => value != null,
    ),
  ) as TlsMaterial;
  if (!last) return { headers, tls };
  const sameTls = fingerprint(tls) === fingerprint(last.tls);
  if (sameTls && fingerprint(headers) === fingerprint(last.headers)) return last;
  return { headers, tls: sameTls ? last.tls : tls };
}

async function withinLimit(config: KubeConfig, clock: Clock, isRenewal: boolean): Promise<RequestOptions> {
  const options: RequestOptions = {};
  const limitMs = isRenewal ? renewalLimitMs : loginLimitMs;
  const limit = new AbortController();
  const timer = clock.setTimer(limitMs, () => limit.abort());
  const run = (command: string, args: string[], given: SpawnOptions) => {
    // client-node gives a plugin a stdin that never ends, and no limit. A plugin may be a wrapper, whose processes end
    // with it only in a group of their own; that takes the terminal away, which a login may need.
    const child = spawn(command, args, { ...given, stdio: ['ignore', 'pipe', 'pipe'], detached: isRenewal });
    limit.signal.addEventListener('abort', () => kill(child, isRenewal));
    return child;
  };
  for (const authenticator of config['authenticators']) if ('execFn' in authenticator) authenticator.execFn = run;
  const user = config.getCurrentUser();
  const what = user?.exec ? `the exec plugin ${user.exec.command}` : `the identity provider of user "${user?.name}"`;
  const hung = () => new Error(`${what} has not answered within ${limitMs / 1000} s`);
  try {
    await unlessAborted(config.applyToHTTPSOptions(options), limit.signal, hung);
    return options;
  } finally {
    timer.cancel();
  }
}

function kill(child: ChildProcess, withGroup: boolean): void {
  try {
    if (withGroup && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    else child.kill('SIGKILL');
  } catch {
    // It has ended.
  }
}

function isAnonymous({ headers, tls }: Credentials): boolean {
  return headers['authorization'] === undefined && tls.cert === undefined;
}

/** @throws where the key is not that of the certificate, or a new CA has no certificate or one that cannot be read */
function assertWhole(tls: TlsMaterial, last: TlsMaterial): void {
  createSecureContext(tls);
  if (tls.ca === undefined || String(tls.ca) === String(last.ca)) return;
  if (pemCertificates(String(tls.ca)).length === 0) throw new Error('the CA has no certificate');
}

function fingerprint(value: object): string {
  const parts = Object.entries(value).map(([name, part]) => [
    name,
    Buffer.isBuffer(part) ? part.toString('base64') : part,
  ]);
  return JSON.stringify(parts.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
}
