import type { Clock } from '../../../common/process/clock.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import { names } from '../../../common/well-known.ts';
import { isConflict, type KubeApi } from '../../kube/api.ts';
import type { Leadership } from '../../kube/leadership.ts';
import type { ShippedObjects } from '../../kube/shipped-objects.ts';
import type { ServingCredentials } from '../../runtime/serving/credentials.ts';
import { issueAuthority, issueServing } from './ca.ts';
import {
  applyAction,
  type CertificateAction,
  type CertificateState,
  type Issued,
  planCertificates,
} from './certificate-plan.ts';
import { publish, readPublished } from './config-map.ts';
import { periodic } from './periodic.ts';
import { readSecretData } from './secret.ts';
import { readSecret, type StoredSecret, writeSecret } from './secret-object.ts';
import type { ReplicaDirectory } from './urls.ts';

/** The DNS names of the serving certificate, which agents verify. */
export const servingNames: readonly string[] = [names.serverName, `${names.serverName}.cluster.local`];

export interface KeeperOptions {
  /** Not fenced: every replica reads, announces itself, and may fill an empty Secret. */
  readonly api: KubeApi;
  /** Fenced: only the leader rotates certificates and writes the ConfigMap. */
  readonly fencedApi: KubeApi;
  readonly leadership: Pick<Leadership, 'leading'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: ReplicaDirectory;
  readonly shipped: ShippedObjects;
  /** Called with the first credentials and whenever they change. */
  onCredentials(credentials: ServingCredentials): void;
  /** Default 30 s. */
  readonly intervalMs?: number;
}

export interface CertificateKeeper {
  /**
   * Starts the passes. Resolves with the first credentials as soon as the API server answers; rejects when stopped
   * earlier.
   */
  start(): Promise<ServingCredentials>;
  /** Starts a pass now, e.g. when this replica has become the leader. */
  wake(): void;
  /** Ends the passes and withdraws this replica's URL, if the API server answers. */
  stop(): Promise<void>;
  /** When a pass last ended, successfully or not, in monotonic milliseconds; for liveness. */
  lastPassAt(): number | undefined;
}

const retryMs = 5_000;
/** An upper bound of the steps of a pass. */
const maxSteps = 16;

async function issueFor(state: CertificateState | undefined, action: CertificateAction): Promise<Issued> {
  switch (action.type) {
    case 'create': {
      const authority = { ...(await issueAuthority(action.authority)), ...action.authority };
      const credentials = await issueServing(authority, servingNames, action.serving);
      return { authority, serving: { ...credentials, ...action.serving } };
    }
    case 'prepare':
      return { authority: { ...(await issueAuthority(action.authority)), ...action.authority } };
    case 'renew':
    case 'promote': {
      const by = action.type === 'renew' ? state?.current : state?.next;
      return by ? { serving: { ...(await issueServing(by, servingNames, action.serving)), ...action.serving } } : {};
    }
    default:
      return {};
  }
}

/**
 * Manages the report API's own certificates: authority and serving certificate in a Secret, and the data for agents in
 * the ConfigMap. The manifests ship both empty. The first replica fills the Secret; afterwards only the leader writes,
 * and the other replicas load changes.
 */
export function createSelfManagedKeeper(options: KeeperOptions): CertificateKeeper {
  const { api, fencedApi, leadership, clock, log, directory, shipped, onCredentials } = options;
  const { certificates } = shipped.objects;
  let used: ServingCredentials | undefined;
  const first = Promise.withResolvers<ServingCredentials>();
  first.promise.catch(() => {});

  function use(state: CertificateState | undefined): void {
    if (!state || (used?.cert === state.serving.cert && used.key === state.serving.key)) return;
    const { cert, key } = state.serving;
    used = { cert, key };
    onCredentials(used);
    first.resolve(used);
  }

  const storedSecret = () => shipped.use(certificates, () => readSecret(api, certificates));

  function understood(secret: StoredSecret): CertificateState | undefined {
    try {
      return readSecretData(secret.data);
    } catch (error) {
      log.error('the certificates of the report API are unusable', errorFields(error));
      return undefined;
    }
  }

  async function perform(
    secret: StoredSecret,
    state: CertificateState | undefined,
    action: CertificateAction,
    through: KubeApi,
  ): Promise<StoredSecret> {
    const next = applyAction(state, action, await issueFor(state, action), clock.now());
    if (!next) throw new Error(`the step ${action.type} had no result`);
    const written = await writeSecret(through, certificates, secret, next);
    log.info('certificates of the report API changed', { step: action.type });
    return written;
  }

  /** Reads the Secret, and fills it if it is empty. */
  async function filledSecret(): Promise<StoredSecret> {
    const secret = await storedSecret();
    if (Object.keys(secret.data).length > 0) return secret;
    try {
      return await perform(secret, undefined, planCertificates(undefined, '', clock.now()), api);
    } catch (error) {
      if (isConflict(error)) return storedSecret();
      throw error;
    }
  }

  async function lead(start: StoredSecret): Promise<void> {
    let secret = start;
    let published = await shipped.use(shipped.objects.published, () => readPublished(api, shipped.objects.published));
    for (let step = 0; step < maxSteps; step += 1) {
      const state = understood(secret);
      use(state);
      const action = planCertificates(state, published.ca, clock.now());
      if (action.type === 'wait') break;
      if (action.type === 'publish')
        published = await publish(fencedApi, shipped.objects.published, published, { ca: action.bundle });
      else secret = await perform(secret, state, action, fencedApi);
    }
    const urls = `${(await directory.collect()).join('\n')}\n`;
    if (urls !== published.urls) await publish(fencedApi, shipped.objects.published, published, { urls });
  }

  async function pass(): Promise<void> {
    const secret = await filledSecret();
    use(understood(secret));
    await directory.announce();
    if (leadership.leading) await lead(secret);
  }

  const passes = periodic({
    clock,
    run: pass,
    intervalMs: options.intervalMs ?? 30_000,
    retryMs,
    onFailure: (error) => log.warn('pass over the certificates of the report API failed', errorFields(error)),
  });

  return {
    start() {
      passes.start();
      return first.promise;
    },
    wake: passes.wake,
    async stop() {
      await passes.stop();
      first.reject(new Error('stopped'));
      await directory.withdraw().catch((error: unknown) => log.debug('URL not withdrawn', errorFields(error)));
    },
    lastPassAt: () => passes.lastPassAt,
  };
}
