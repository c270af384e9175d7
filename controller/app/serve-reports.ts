import { readFile } from 'node:fs/promises';
import { listenFault } from '../../common/process/listen-fault.ts';
import type { MetricRegistry } from '../../common/process/metrics.ts';
import type { KubeApi } from '../kube/api.ts';
import type { Informer } from '../kube/informer.ts';
import type { Leadership } from '../kube/leadership.ts';
import type { ShippedObjects } from '../kube/shipped-objects.ts';
import type { NodeView } from '../model/node-view.ts';
import type { NodeContext } from '../nodes/node-context.ts';
import type { NodeTask } from '../nodes/node-task.ts';
import type { Attestor } from '../reports/attestation/attestor.ts';
import { createSelfManagedKeeper } from '../reports/certificates/keeper.ts';
import { createOwnFilesKeeper } from '../reports/certificates/own-files.ts';
import { createReplicaDirectory } from '../reports/certificates/urls.ts';
import { createLiveNodeUid } from '../reports/live-node-uid.ts';
import { createReportMetrics } from '../reports/metrics.ts';
import { createIdentity } from '../reports/sender-identity.ts';
import { createReportServer, type ReportServer } from '../reports/server.ts';
import type { ServingCredentials } from '../runtime/serving/credentials.ts';
import type { ListenAddress } from '../runtime/serving/listen-address.ts';
import type { TlsPolicy } from '../runtime/serving/tls-policy.ts';
import { messageOf, tryPatiently } from './try-patiently.ts';

export interface ServeReportsOptions {
  readonly address: ListenAddress;
  /** `https://host:port` at which agents reach this replica. */
  readonly url: string;
  readonly identity: string;
  readonly audience: string;
  readonly serviceAccount: { readonly namespace: string; readonly name: string };
  /** The operator's certificate files; undefined: self-managed. */
  readonly files: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly tls?: TlsPolicy | undefined;
}

export interface ReportService {
  /** Why no reports are accepted yet; undefined once they are. */
  problem(): string | undefined;
  /** Starts a pass over certificates and URLs, because this replica has begun to lead. */
  wake(): void;
  stop(): Promise<void>;
}

/**
 * Serves the report API on leader and standbys, as soon as there are credentials for it. Returns at once; `problem` has
 * the reason until then.
 *
 * @param api not fenced: standbys review tokens and announce themselves, too
 * @param fencedApi for writes of the leader alone
 */
export function serveReports(
  context: Pick<NodeContext, 'clock' | 'log' | 'reports'>,
  parts: {
    readonly api: KubeApi;
    readonly fencedApi: KubeApi;
    readonly leadership: Leadership;
    readonly nodes: Informer<NodeView>;
    readonly task: NodeTask;
    readonly attestor?: Attestor | undefined;
    readonly registry: MetricRegistry;
    readonly shipped: ShippedObjects;
    /** Called with the first certificate, and whenever there is another. */
    readonly onCredentials?: ((credentials: ServingCredentials) => void) | undefined;
  },
  options: ServeReportsOptions,
): ReportService {
  const { clock, log, reports } = context;
  const { api, fencedApi, leadership, nodes, shipped } = parts;
  const metrics = createReportMetrics(parts.registry);
  let server: ReportServer | undefined;
  let waiting: string | undefined = 'no serving certificate yet';
  const stopping = new AbortController();

  const { identity, url } = options;
  const { namespace } = shipped.objects.published;
  const directory = createReplicaDirectory({ api, fencedApi, clock, identity, url, namespace });
  const keeping = {
    api,
    fencedApi,
    leadership,
    clock,
    log,
    directory,
    shipped,
    onCredentials(credentials: ServingCredentials) {
      server?.reload(credentials);
      parts.onCredentials?.(credentials);
    },
  };
  const keeper = options.files
    ? createOwnFilesKeeper({ ...keeping, files: options.files, readFile: (path) => readFile(path, 'utf8') })
    : createSelfManagedKeeper(keeping);

  async function open(): Promise<void> {
    // The operator's files may be replaced, or mounted, at this moment.
    const credentials = await patiently(() => keeper.start(), messageOf);
    if (credentials === undefined) return;
    const identify = createIdentity({
      api,
      clock,
      audience: options.audience,
      serviceAccount: options.serviceAccount,
      liveNodeUid: createLiveNodeUid({ api, nodes }),
      onReview: (outcome) => metrics.review(outcome),
    });
    const opened = await createReportServer({
      clock,
      log,
      metrics,
      credentials,
      identity: identify,
      store: reports,
      attestor: parts.attestor,
      leadership,
      status: parts.task.status,
      fleetSize: () => nodes.size,
      tls: options.tls,
    });
    if (stopping.signal.aborted) return opened.close();
    server = opened;
    const { host, port: given } = options.address;
    const place = `port ${given} of ${host || 'every address'}`;
    // A replica that is shutting down may hold the port.
    const port = await patiently(
      () => opened.listen(options.address),
      (error) => listenFault('--report-address', place, error),
    );
    if (port === undefined) return;
    waiting = undefined;
    log.info('accepting reports', { port, url: options.url });
  }

  function patiently<T>(attempt: () => Promise<T>, why: (error: unknown) => string): Promise<T | undefined> {
    return tryPatiently(clock, stopping.signal, attempt, (error, tries) => {
      waiting = why(error);
      log.error('no reports can be accepted; trying again', { error: waiting, tries });
    });
  }

  const opening = open().catch((error: unknown) => {
    if (stopping.signal.aborted) return;
    waiting = messageOf(error);
    log.error('no reports can be accepted', { error: waiting });
  });

  return {
    problem: () => waiting,
    wake: () => keeper.wake(),
    async stop() {
      stopping.abort();
      await keeper.stop();
      await server?.close();
      await opening;
    },
  };
}
