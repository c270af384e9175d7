import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Clock } from '../../common/process/clock.ts';
import type { HealthCheck } from '../../common/process/health.ts';
import { listenFault } from '../../common/process/listen-fault.ts';
import type { Log } from '../../common/process/log.ts';
import type { MetricRegistry } from '../../common/process/metrics.ts';
import type { KubeApi } from '../kube/api.ts';
import { issueSelfSigned } from '../reports/certificates/ca.ts';
import { watchCredentialFiles } from '../runtime/serving/credential-files.ts';
import type { ServingCredentials } from '../runtime/serving/credentials.ts';
import type { AccessTimes } from '../runtime/serving/path-access.ts';
import { createSecureServer, type PassedOnReports } from '../runtime/serving/secure-server.ts';
import type { TlsPolicy } from '../runtime/serving/tls-policy.ts';

export interface SecureOptions {
  readonly host: string;
  /** 0 = off. */
  readonly port: number;
  readonly files: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly tls?: TlsPolicy | undefined;
  readonly accessTimes?: AccessTimes | undefined;
}

export interface SecureParts {
  /** Not fenced. */
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly live: readonly HealthCheck[];
  readonly ready: readonly HealthCheck[];
  readonly registry: MetricRegistry;
  configz(): unknown;
  reports(): PassedOnReports;
}

/**
 * Serves health, metrics, configuration and the reports of agents on `--secure-port`; undefined when the port is 0.
 * Throws an Error that names the flags when it cannot listen, and the system's error when a file cannot be read.
 */
export async function serveSecurely(
  options: SecureOptions,
  parts: SecureParts,
): Promise<{ close(): Promise<void> } | undefined> {
  if (options.port === 0) return undefined;
  const { api, clock, log, live, ready, registry, configz, reports } = parts;
  let reload: (credentials: ServingCredentials) => void = () => {};
  const watched = options.files
    ? await watchCredentialFiles({
        ...options.files,
        clock,
        log,
        readFile: (path) => readFile(path, 'utf8'),
        onChange: (credentials) => reload(credentials),
      })
    : undefined;
  const credentials = watched?.credentials ?? (await issueSelfSigned(['localhost', hostname()], yearFrom(clock.now())));
  const server = createSecureServer({
    clock,
    log,
    api,
    credentials,
    live,
    ready,
    metrics: registry,
    configz,
    reports,
    tls: options.tls,
    accessTimes: options.accessTimes,
  });
  reload = (next) => server.reload(next);
  try {
    await server.listen({ host: options.host, port: options.port });
  } catch (error) {
    watched?.stop();
    const address = `port ${options.port} of --bind-address ${options.host}`;
    throw new Error(listenFault('--secure-port', address, error), { cause: error });
  }
  return {
    async close() {
      watched?.stop();
      await server.close();
    },
  };
}

/** Long enough for any process; a restart issues a new certificate. */
function yearFrom(nowMs: number) {
  return { notBefore: nowMs - 60_000, notAfter: nowMs + 365 * 24 * 3_600_000 };
}
