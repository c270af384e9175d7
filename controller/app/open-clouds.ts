import { CloudError, isCloudError } from '../../common/cloud-error.ts';
import { backoffMs } from '../../common/process/backoff.ts';
import type { Clock } from '../../common/process/clock.ts';
import { formatDuration } from '../../common/process/duration.ts';
import { errorFields } from '../../common/process/log.ts';
import { restOrAbort, unlessAborted, untilAborted } from '../../common/process/until.ts';
import { codecOf } from '../../common/provider-id/registry.ts';
import { isDown } from '../clouds/checks.ts';
import {
  CloudConfigError,
  type CloudContext,
  type CloudIdentity,
  type CloudModule,
  identified,
} from '../clouds/cloud.ts';
import { cloudModules } from '../clouds/registry.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { reportScope } from '../model/scope-record.ts';
import { withLoadBalancers } from '../services/balancers/with-load-balancers.ts';
import type { CloudRequest } from './options/options.ts';
import { createReloadingCloud, type ReloadParts } from './reload/reloading-cloud.ts';

export interface OpeningContext extends CloudContext {
  /** The time by which load balancers are planned. Default: `clock`. */
  readonly planningClock?: Clock;
  /** How long a cloud may take to tell its account. Default: as long as its own requests may take. */
  readonly answerWithinMs?: number | undefined;
}

export type CloudReload = Pick<ReloadParts, 'readFile' | 'onReload'>;

/** The clouds of the command line, including those whose account is not known yet. */
export interface CloudSet {
  /** The clouds in their current state. */
  current(): readonly ConfiguredCloud[];
  /**
   * Retries the clouds whose account is not known, with back-off, until one of them answers: then `current` has
   * changed. Resolves also when the signal has aborted. Throws a CloudConfigError when that cloud has the scope of
   * another one.
   */
  untilKnown(signal: AbortSignal): Promise<void>;
  close(): void;
}

const retry = { firstMs: 1000, maxMs: 60_000 };

/**
 * Opens every configured cloud and reads its account once; loads no code of other clouds. Throws a CloudConfigError,
 * also when two configurations reach the same scope.
 *
 * @param reload for opening a cloud again when its configuration or credential changes; undefined: they are read only
 *   once
 */
export async function createCloudSet(
  requests: readonly CloudRequest[],
  context: OpeningContext,
  reload?: CloudReload,
): Promise<CloudSet> {
  const { clock, random, log } = context;
  let clouds = await openClouds(requests, context, reload);

  /** Undefined while the cloud still does not answer, or its configuration is invalid. */
  async function openAgain(request: CloudRequest): Promise<ConfiguredCloud | undefined> {
    try {
      const opened = await openCloud(await latest(request, reload), context, reload);
      if (opened.unidentified === undefined) return opened;
      closeCloud(opened);
      return undefined;
    } catch (error) {
      log.warn('cloud not opened', { cloud: request.name, ...errorFields(error) });
      return undefined;
    }
  }

  return {
    current: () => clouds,
    async untilKnown(signal) {
      for (let failures = 1; clouds.some(({ unidentified }) => unidentified !== undefined); failures += 1) {
        await restOrAbort(clock, backoffMs(failures, { ...retry, random }), signal);
        if (signal.aborted) return;
        const next = await Promise.all(
          clouds.map(async (cloud, at) => (cloud.unidentified && (await openAgain(requests[at]!))) ?? cloud),
        );
        for (const [at, cloud] of clouds.entries()) if (next[at] !== cloud) closeCloud(cloud);
        const known = next.some((cloud, at) => cloud !== clouds[at]);
        clouds = next;
        assertApart(clouds);
        if (known) return;
      }
      await untilAborted(signal);
    },
    close() {
      for (const cloud of clouds) closeCloud(cloud);
    },
  };
}

/**
 * Problems for commands: clouds that Mooring would call, but for want of a credential or of the account's name.
 *
 * @param reportOnly names of clouds that may be without a credential
 */
export function accountProblems(clouds: readonly ConfiguredCloud[], reportOnly: ReadonlySet<string>): string[] {
  return clouds.flatMap(({ name, reportOnly: why, unidentified }) => {
    if (unidentified?.opened !== undefined) return [`${name} did not tell its account: ${unidentified.why}`];
    if (why === undefined || reportOnly.has(name)) return [];
    const advice = `Give it a credential, or accept that by --report-only=${name}`;
    return [`${name} is report-only (${why}): nothing of it can be found. ${advice}`];
  });
}

/** Closes the cloud's connections. The cloud must not be used afterwards. */
export function closeCloud({ api, unidentified }: ConfiguredCloud): void {
  api?.close();
  unidentified?.opened?.close();
}

/**
 * Opens every configured cloud, once. One without controller support is report-only. So is one whose account cannot be
 * read, or without a credential: `unidentified` has the reason.
 */
export async function openClouds(
  requests: readonly CloudRequest[],
  context: OpeningContext,
  reload?: CloudReload,
): Promise<readonly ConfiguredCloud[]> {
  for (const { name, given = name } of requests)
    if (given !== name) context.log.info(`${given} is served as ${name}, with its defaults`, { cloud: name });
  const tries = await Promise.allSettled(requests.map((request) => openCloud(request, context, reload)));
  const opened = tries.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  try {
    for (const one of tries) if (one.status === 'rejected') throw one.reason;
    assertApart(opened);
    for (const { name, scope, unidentified } of opened)
      if (unidentified !== undefined)
        context.log.warn('cloud is report-only until it tells its account', {
          cloud: name,
          scope,
          why: unidentified.why,
        });
    return opened;
  } catch (error) {
    for (const cloud of opened) closeCloud(cloud);
    throw error;
  }
}

/** The configuration in its file now, because the file may contain a new credential. */
async function latest(request: CloudRequest, reload: CloudReload | undefined): Promise<CloudRequest> {
  if (request.config === undefined || reload === undefined) return request;
  const read = await reload.readFile(request.config.path);
  const text = typeof read === 'string' ? read : new TextDecoder().decode(read);
  return { ...request, config: { ...request.config, text } };
}

function assertApart(opened: readonly ConfiguredCloud[]): void {
  const scopes = new Set<string>();
  for (const { name, scope, unidentified } of opened) {
    if (unidentified !== undefined) continue;
    if (scopes.has(scope))
      throw new CloudConfigError(`--cloud-provider: ${name} is given twice, and both reach the same scope ${scope}`);
    scopes.add(scope);
  }
}

async function openCloud(
  request: CloudRequest,
  common: OpeningContext,
  reload: CloudReload | undefined,
): Promise<ConfiguredCloud> {
  const { name, config, selector, requireAttestation, bindsByName } = request;
  const { allowUntagged = false, allowedSecurityGroups = [] } = request;
  const context = { ...common, allowUntagged, allowedSecurityGroups };
  const { clock, random, log } = context;
  const module = request.module ?? (await cloudModules.get(name)?.());
  const opened = module
    ? await openModule(module, config, context)
    : { reportOnly: 'the controller does not call the API of this cloud' };
  if (module === undefined || 'reportOnly' in opened) {
    if ('retryable' in opened && opened.retryable)
      return { ...reportOnly(request), reportOnly: opened.reportOnly, unidentified: { why: opened.reportOnly } };
    const why = 'reportOnly' in opened ? opened.reportOnly : '';
    log.warn('cloud is report-only: nothing is looked up and nothing is deleted', { cloud: name, why });
    return module === undefined ? reportOnly(request) : { ...reportOnly(request), reportOnly: why };
  }
  let identity: CloudIdentity;
  try {
    identity = await inTime(opened.identify(), name, context);
  } catch (error) {
    if (!isCloudError(error)) throw error;
    const unidentified = { why: error.message, isDown: isDown(error), opened };
    return { ...reportOnly(request), reportOnly: error.message, unidentified };
  }
  const first = { ...opened, ...identity };
  const open = async (now: CloudRequest['config']) => {
    const again = await openModule(module, now, context);
    return 'reportOnly' in again ? again : identified(again);
  };
  const cloud = reload
    ? await createReloadingCloud({ cloud: first, config, open }, { clock, random, log, ...reload })
    : first;
  const { scope, account, formerScopes } = cloud;
  log.info('cloud configured', { cloud: name, scope });
  const accepts = (providerID: string) => cloud.accepts(providerID);
  const byName = bindsByName ?? module.namesOnly ?? false;
  const claims = { selector, requireAttestation, bindsByName: byName };
  return { name, scope, account, formerScopes, accepts, ...claims, api: cloud };
}

async function inTime<T>(work: Promise<T>, cloud: string, { clock, answerWithinMs }: OpeningContext): Promise<T> {
  if (answerWithinMs === undefined) return work;
  const late = new AbortController();
  const timer = clock.setTimer(answerWithinMs, () => late.abort());
  const message = `no answer within ${formatDuration(answerWithinMs)}`;
  const givenUp = () => new CloudError({ kind: 'Timeout', cloud, operation: 'account', message });
  return unlessAborted(work, late.signal, givenUp).finally(() => timer.cancel());
}

/** Its load balancers are made of its driver, where it has one. */
async function openModule(module: CloudModule, config: CloudRequest['config'], context: OpeningContext) {
  const opened = await module.open(config, context);
  return 'reportOnly' in opened ? opened : withLoadBalancers(opened, context.planningClock ?? context.clock);
}

function reportOnly({ name, selector, requireAttestation }: CloudRequest): ConfiguredCloud {
  const codec = codecOf(name);
  return {
    name,
    scope: reportScope(name),
    // Only the codec knows the forms of its cloud: some clouds have several schemes, and some none.
    accepts: (providerID) => codec.parse(providerID) !== undefined,
    selector,
    requireAttestation,
    api: undefined,
  };
}
