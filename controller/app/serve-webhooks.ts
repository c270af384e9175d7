import { readFile } from 'node:fs/promises';
import type { Clock } from '../../common/process/clock.ts';
import type { HealthCheck } from '../../common/process/health.ts';
import { listenFault } from '../../common/process/listen-fault.ts';
import type { Log } from '../../common/process/log.ts';
import type { MetricRegistry } from '../../common/process/metrics.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { type CredentialFiles, watchCredentialFiles } from '../runtime/serving/credential-files.ts';
import type { ServingCredentials } from '../runtime/serving/credentials.ts';
import type { TlsPolicy } from '../runtime/serving/tls-policy.ts';
import { webhookMetrics } from '../runtime/serving/webhook-metrics.ts';
import { createWebhookServer, type Webhook } from '../runtime/serving/webhook-server.ts';
import { admitVolume } from '../volumes/admit-volume.ts';
import { createVolumeLookups } from '../volumes/volume-lookups.ts';
import { webhookNames } from './options/webhook-flags.ts';
import { messageOf, tryPatiently } from './try-patiently.ts';

export interface WebhookOptions {
  readonly host: string;
  readonly port: number;
  /** Undefined: the certificate of the report API. */
  readonly files: CredentialFiles | undefined;
  readonly tls: TlsPolicy;
}

export interface WebhookParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly registry: MetricRegistry;
  readonly clouds: readonly ConfiguredCloud[];
  /** True while everything is paused. */
  paused(): boolean;
  /** Resolves with the first certificate of the report API. */
  readonly ofReports: Promise<ServingCredentials>;
}

export interface WebhookService {
  /** Fails until they are served: the API server sends requests to ready replicas alone. */
  readonly ready: HealthCheck;
  /** The report API has another certificate now. */
  reload(credentials: ServingCredentials): void;
  stop(): Promise<void>;
}

/** Serves the webhooks on leader and standbys, as soon as there is a certificate for them. Returns at once. */
export function serveWebhooks(options: WebhookOptions, parts: WebhookParts): WebhookService {
  const { clock, registry, paused } = parts;
  const log = parts.log.with({ server: 'webhooks' });
  const metrics = registry.define(webhookMetrics);
  metrics.up.set(0);
  const stopping = new AbortController();
  const lookups = createVolumeLookups(parts.clouds, clock);
  if (lookups.sources.length === 0) log.warn('no configured cloud has volumes: every PersistentVolume is admitted');
  const volumes: Webhook = {
    name: webhookNames.volumes,
    path: `/${webhookNames.volumes}`,
    admit: (request) => admitVolume({ clock, lookups, paused }, request),
  };
  let watched: Awaited<ReturnType<typeof watchCredentialFiles>> | undefined;
  let server: ReturnType<typeof createWebhookServer> | undefined;
  let isServing = false;

  async function certificate(): Promise<ServingCredentials> {
    if (options.files === undefined) return parts.ofReports;
    watched = await watchCredentialFiles({
      ...options.files,
      clock,
      log,
      readFile: (path) => readFile(path, 'utf8'),
      onChange: (credentials) => server?.reload(credentials),
    });
    return watched.credentials;
  }

  function patiently<T>(attempt: () => Promise<T>, why: (error: unknown) => string): Promise<T | undefined> {
    return tryPatiently(clock, stopping.signal, attempt, (error, tries) =>
      log.error('webhooks not served; trying again', { error: why(error), tries }),
    );
  }

  async function open(): Promise<void> {
    // The files may be replaced, or mounted, at this moment.
    const credentials = await patiently(certificate, messageOf);
    if (credentials === undefined || stopping.signal.aborted) return watched?.stop();
    const opened = createWebhookServer({ clock, log, credentials, webhooks: [volumes], metrics, tls: options.tls });
    server = opened;
    const place = `port ${options.port} of --webhook-bind-address ${options.host}`;
    // A replica that is shutting down may hold the port.
    const port = await patiently(
      () => opened.listen(options),
      (error) => listenFault('--webhook-secure-port', place, error),
    );
    if (port === undefined) return;
    isServing = true;
    metrics.up.set(1);
    log.info('serving webhooks', { port, paths: [volumes.path] });
  }

  const opening = open().catch((error: unknown) => {
    if (!stopping.signal.aborted) log.error('webhooks not served', { error: messageOf(error) });
  });

  return {
    ready: { name: 'webhooks', check: () => (isServing ? undefined : 'webhooks are not served yet') },
    reload(credentials) {
      if (options.files === undefined) server?.reload(credentials);
    },
    async stop() {
      stopping.abort();
      watched?.stop();
      isServing = false;
      metrics.up.set(0);
      await server?.close();
      // Without a certificate it waits for one that never comes.
      if (server !== undefined) await opening;
    },
  };
}
