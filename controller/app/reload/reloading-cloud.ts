import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import { backoffMs } from '../../../common/process/backoff.ts';
import type { Clock, Timer } from '../../../common/process/clock.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import type { Random } from '../../../common/process/random.ts';
import type { Cloud, CloudConfigFile } from '../../clouds/cloud.ts';
import { createCloudHolder } from './cloud-holder.ts';
import { changedIn, type Digests, digestOfText, digestsOf, type ReadFile } from './watched-files.ts';

/**
 * The result of a change of the files:
 *
 * - `ok`: the new configuration is in use
 * - `refused`: the cloud refused it, or finds none of the instances that the current credential finds; retried
 * - `invalid`: the configuration is invalid; retried
 * - `restart-needed`: it has another scope or other capabilities
 * - `reverted`: the files are again as the configuration in use has them
 */
export const reloadResults = ['ok', 'refused', 'invalid', 'restart-needed', 'reverted'] as const;
export type ReloadResult = (typeof reloadResults)[number];

export interface ReloadParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly readFile: ReadFile;
  /** Called once per try. */
  onReload(cloud: string, result: ReloadResult): void;
  /** How often the files are read. Default 10 s. */
  readonly intervalMs?: number;
}

export interface ReloadingOptions {
  /** The current cloud. */
  readonly cloud: Cloud;
  /** The configuration that it was opened with. */
  readonly config: CloudConfigFile | undefined;
  /** The module's. */
  open(config: CloudConfigFile | undefined): Promise<Cloud | { readonly reportOnly: string }>;
}

const partNames = {
  loadBalancers: 'load balancers',
  routes: 'routes',
  nodeTags: 'tags of instances',
  volumes: 'volumes',
} as const;

const retry = { firstMs: 10_000, maxMs: 300_000 };

/** A change of the files that is not in use yet. */
interface Pending {
  readonly digests: Digests;
  failures: number;
  /** Monotonic; infinite: not before the files change again. */
  againAt: number;
}

/**
 * Opens the cloud again whenever its configuration or a file with its credential changes. The new one is used once its
 * `ping` succeeded; until then the previous one stays in use. Calls in progress end on the cloud where they began.
 * Returns the cloud itself where nothing can change. Closing it ends the watch.
 */
export async function createReloadingCloud(
  { cloud: first, config, open }: ReloadingOptions,
  { clock, random, log: parentLog, readFile, onReload, intervalMs = 10_000 }: ReloadParts,
): Promise<Cloud> {
  const pathsOf = ({ files = [] }: Cloud) => [...new Set([...(config ? [config.path] : []), ...files])];
  if (first.ping === undefined || pathsOf(first).length === 0) return first;
  const log = parentLog.with({ cloud: first.name, scope: first.scope });
  const closing = new AbortController();
  const holder = createCloudHolder(first, () => {
    closing.abort();
    timer?.cancel();
  });
  /** The digests of the files that the current cloud was opened with. */
  let held = await firstDigests();
  let pending: Pending | undefined;
  let timer: Timer | undefined;

  async function firstDigests(): Promise<Digests> {
    const digests = new Map(await digestsOf(pathsOf(first), readFile));
    // The caller read the file, which may have changed since.
    if (config) digests.set(config.path, digestOfText(config.text));
    return digests;
  }

  async function checkFiles(): Promise<void> {
    const now = await digestsOf([...held.keys()], readFile);
    const changed = changedIn(held, now);
    if (changed.length === 0) {
      if (pending) {
        log.info('cloud configuration is unchanged again');
        onReload(first.name, 'reverted');
      }
      pending = undefined;
      return;
    }
    if (!pending || changedIn(pending.digests, now).length > 0) {
      pending = { digests: now, failures: 0, againAt: Number.NEGATIVE_INFINITY };
      log.info('cloud configuration or credential changed', { files: changed });
    }
    if (clock.monotonic() >= pending.againAt) await attempt(pending);
  }

  async function attempt(change: Pending): Promise<void> {
    let next: Cloud | undefined;
    try {
      const opened = await open(await readConfig());
      if ('reportOnly' in opened) throw new Error(opened.reportOnly);
      next = opened;
      const other = differenceTo(next);
      if (other !== undefined) {
        change.againAt = Number.POSITIVE_INFINITY;
        log.error('cloud configuration needs a restart; the previous one stays in use', { why: other });
        onReload(first.name, 'restart-needed');
        return;
      }
      const digests = await digestsOf(pathsOf(next), readFile);
      // The files changed while they were read, so the cloud was opened from an unknown mixture.
      const settled = [...change.digests].every(([path, digest]) => (digests.get(path) ?? digest) === digest);
      if (!settled) return;
      await next.ping?.(closing.signal);
      await checkVisibility(next);
      if (closing.signal.aborted) return;
      holder.replace(next);
      next = undefined;
      held = digests;
      pending = undefined;
      log.info('cloud configuration reloaded: the new credential is in use');
      onReload(first.name, 'ok');
    } catch (error) {
      if (closing.signal.aborted) return;
      change.failures += 1;
      const waitMs = backoffMs(change.failures, { ...retry, random });
      change.againAt = clock.monotonic() + waitMs;
      const fields = { failures: change.failures, retryInMs: Math.round(waitMs), ...errorFields(error) };
      log.warn('new cloud configuration not used; the previous one stays in use', fields);
      onReload(first.name, isCloudError(error) ? 'refused' : 'invalid');
    } finally {
      next?.close();
    }
  }

  /** A credential of another account is valid, but does not see the instances that the current credential sees. */
  async function checkVisibility(next: Cloud): Promise<void> {
    const refs = holder.found();
    if (refs.length === 0) return;
    const { signal } = closing;
    const sees = async ({ instances }: Cloud) =>
      [...(await instances.lookup(refs, { signal })).values()].some(({ state }) => state === 'found');
    // If the current credential does not see them either, they were deleted, or nothing is lost.
    if ((await sees(next)) || !(await sees(holder.cloud))) return;
    const message = 'it finds none of the instances that the current credential finds: it may be of another account';
    throw new CloudError({ kind: 'Forbidden', cloud: first.name, operation: 'look for known instances', message });
  }

  async function readConfig(): Promise<CloudConfigFile | undefined> {
    if (!config) return undefined;
    const read = await readFile(config.path);
    return { path: config.path, text: typeof read === 'string' ? read : new TextDecoder().decode(read) };
  }

  /** Why the new cloud cannot replace the first one; undefined when it can. */
  function differenceTo(next: Cloud): string | undefined {
    if (next.scope !== first.scope) return `it reaches ${next.scope}`;
    for (const [part, name] of Object.entries(partNames) as [keyof typeof partNames, string][]) {
      const [had, has] = [first[part] !== undefined, next[part] !== undefined];
      if (had !== has) return `it has ${has ? '' : 'no '}${name}`;
    }
    return undefined;
  }

  function schedule(): void {
    if (closing.signal.aborted) return;
    timer = clock.setTimer(intervalMs, () => {
      checkFiles()
        .catch((error: unknown) => log.warn('cloud configuration not checked', errorFields(error)))
        .finally(schedule);
    });
  }
  schedule();

  return holder.cloud;
}
