import { errorFields } from '../../../common/process/log.ts';
import {
  type CredentialFiles,
  type WatchedCredentials,
  watchCredentialFiles,
} from '../../runtime/serving/credential-files.ts';
import { publish, readPublished } from './config-map.ts';
import type { CertificateKeeper, KeeperOptions } from './keeper.ts';
import { periodic } from './periodic.ts';

export interface OwnFilesOptions extends KeeperOptions {
  readonly files: CredentialFiles;
  /** The authority for agents, published unchanged; without it the operator fills `ca.crt` of the ConfigMap. */
  readonly caFile?: string;
  readFile(path: string): Promise<string>;
}

/**
 * Serves the report API with the operator's certificate files, and reloads them when they change. It issues no
 * certificates. The leader publishes the replicas' URLs, and the authority if one is given. `start` rejects when the
 * files are invalid, and may be called again then.
 */
export function createOwnFilesKeeper(options: OwnFilesOptions): CertificateKeeper {
  const { api, fencedApi, leadership, clock, log, directory, shipped, files, caFile, readFile, onCredentials } =
    options;
  let watched: WatchedCredentials | undefined;

  async function publishAll(): Promise<void> {
    const published = await shipped.use(shipped.objects.published, () => readPublished(api, shipped.objects.published));
    const urls = `${(await directory.collect()).join('\n')}\n`;
    const ca = caFile === undefined ? published.ca : await readFile(caFile);
    const change = { ...(ca === published.ca ? {} : { ca }), ...(urls === published.urls ? {} : { urls }) };
    if (Object.keys(change).length > 0) await publish(fencedApi, shipped.objects.published, published, change);
  }

  const passes = periodic({
    clock,
    async run() {
      await directory.announce();
      if (leadership.leading) await publishAll();
    },
    intervalMs: options.intervalMs ?? 30_000,
    retryMs: 5_000,
    onFailure: (error) => log.warn('URLs of the report API not published', errorFields(error)),
  });

  return {
    async start() {
      watched = await watchCredentialFiles({ ...files, clock, log, readFile, onChange: onCredentials });
      onCredentials(watched.credentials);
      passes.start();
      return watched.credentials;
    },
    wake: passes.wake,
    async stop() {
      watched?.stop();
      await passes.stop();
      await directory.withdraw().catch((error: unknown) => log.debug('URL not withdrawn', errorFields(error)));
    },
    lastPassAt: () => passes.lastPassAt,
  };
}
