import { isCloudError } from '../../../common/cloud-error.ts';
import { sleep } from '../../../common/process/clock.ts';
import type { Permit } from '../../clouds/permit.ts';
import { createSemaphore } from '../../runtime/semaphore.ts';
import { removeLoadBalancer } from '../../services/orphans/remove-load-balancer.ts';
import { planTeardown, type TeardownContext, type TeardownItem, type TeardownPlan } from './plan-teardown.ts';

/** One line of progress. `working` may come several times for one item, once a call. */
export interface TeardownProgress {
  readonly item: TeardownItem;
  readonly state: 'working' | 'done' | 'failed';
  /** What is being done, or why it failed. */
  readonly message: string;
  /** Items that are over, and all of them. */
  readonly finished: number;
  readonly total: number;
}

export interface TeardownOptions {
  /** For each mutating call; the caller holds the lease, so that no controller makes anew what is removed. */
  readonly permit: Permit;
  readonly signal: AbortSignal;
  /** Go on although Services still want load balancers. */
  readonly force: boolean;
  onProgress?(progress: TeardownProgress): void;
  /** How long one load balancer may take, milliseconds. Default half an hour. */
  readonly deadlineMs?: number | undefined;
}

export interface TeardownResult {
  readonly removed: number;
  readonly failed: readonly { readonly item: TeardownItem; readonly message: string }[];
  /** What a last look at the clouds still found of ours; 0 = empty. */
  readonly left: number;
  /** As of the last look. */
  readonly kept: TeardownPlan['kept'];
}

/** There are Services that want load balancers. `services`: `namespace/name` of each. */
export class ServicesRemainError extends Error {
  override readonly name = 'ServicesRemainError';
  readonly services: readonly string[];

  constructor(services: readonly string[]) {
    const shown = services.slice(0, 5).join(', ');
    const more = services.length > 5 ? ` and ${services.length - 5} more` : '';
    super(
      `${services.length} Services still have or want load balancers (${shown}${more}): delete them first, and let the controller finish, or force it`,
    );
    this.services = services;
  }
}

const concurrency = 8;
const maxTries = 6;
/** What a busy cloud may say to the removal of a route. */
const retried: ReadonlySet<string> = new Set(['Throttled', 'Conflict', 'Unavailable', 'Timeout']);

/**
 * Removes everything of this cluster from its clouds, as `planTeardown` lists it: load balancers with all that belongs to them, orphans too, then routes. For the end of a
 * cluster's life.
 *
 * The usual order is: delete the Services of type LoadBalancer and wait until they are gone, stop the controller, then tear down what is left. While such Services exist it
 * throws a ServicesRemainError, since whoever still uses them loses their address for good. With `force` their load balancers go too (but for those whose Service carries
 * `mooring.dev/load-balancer-retain`: they are given up and stay); the Service objects are not written: finalizer, status and record stay as they are, and a controller
 * that is started afterwards makes new load balancers for them. Nodes are not looked at: removing routes cuts the pod network of those that still run.
 *
 * It plans afresh at the beginning, so what was shown to a person before is only a picture. One that fails holds up no other. Safe to interrupt (the
 * signal) and to repeat: a later run takes up what is left. Throws a CloudError or KubeError when the clouds or Services cannot be read, a WithheldError when it may not act
 * any more (the lease is lost, everything is paused), and the signal's reason.
 */
export async function teardown(context: TeardownContext, options: TeardownOptions): Promise<TeardownResult> {
  const { signal, permit, force } = options;
  const plan = await planTeardown(context, signal);
  if (plan.services.length > 0 && !force) throw new ServicesRemainError(plan.services);
  const failed: TeardownResult['failed'][number][] = [];
  const total = plan.items.length;
  const ending = new AbortController();
  const end = () => ending.abort(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  const places = createSemaphore(concurrency);
  let finished = 0;

  function tell(item: TeardownItem, state: TeardownProgress['state'], message: string): void {
    if (state !== 'working') finished += 1;
    options.onProgress?.({ item, state, message, finished, total });
  }

  /** Throws what stops everything. */
  async function run(item: TeardownItem): Promise<void> {
    ending.signal.throwIfAborted();
    try {
      const why = await removeItem(item, (message) => tell(item, 'working', message));
      if (why !== undefined) failed.push({ item, message: why });
      tell(item, why === undefined ? 'done' : 'failed', why ?? `removed ${item.what}`);
    } catch (error) {
      if (!isCloudError(error)) {
        ending.abort(error);
        throw error;
      }
      const { message } = error;
      failed.push({ item, message });
      tell(item, 'failed', message);
    }
  }

  /** Answers why it stays; undefined when it is gone. */
  async function removeItem(item: TeardownItem, onStep: (message: string) => void): Promise<string | undefined> {
    if (item.kind === 'route') {
      onStep(`remove ${item.what}`);
      return removeRoute(item);
    }
    const { clock, cluster } = context;
    const { cloud, observed, retain, adopt } = item;
    const { deadlineMs } = options;
    const common = { clock, cluster, cloud, observed, retain, adopt, permit, deadlineMs, signal: ending.signal };
    const outcome = await removeLoadBalancer({ ...common, onStep: ({ summary }) => onStep(summary) });
    return outcome.kind === 'gone' ? undefined : outcome.why;
  }

  async function removeRoute({ routes, route }: TeardownItem & { kind: 'route' }): Promise<undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await routes.remove(route, { permit, signal: ending.signal });
        return undefined;
      } catch (error) {
        if (!isCloudError(error) || !retried.has(error.kind) || attempt >= maxTries) throw error;
        await sleep(context.clock, error.retryAfterMs ?? 1000 * 2 ** (attempt - 1), ending.signal);
      }
    }
  }

  try {
    for (const kind of ['load balancer', 'route'] as const) {
      const works = plan.items.filter((item) => item.kind === kind).map((item) => places.run(() => run(item)));
      const broken = (await Promise.allSettled(works)).find((work) => work.status === 'rejected');
      if (broken) throw ending.signal.aborted ? ending.signal.reason : broken.reason;
    }
  } finally {
    signal.removeEventListener('abort', end);
  }
  const after = await planTeardown(context, signal);
  return { removed: total - failed.length, failed, left: after.items.length, kept: after.kept };
}
