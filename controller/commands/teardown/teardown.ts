import { isCloudError } from '../../../common/cloud-error.ts';
import { sleep } from '../../../common/process/clock.ts';
import type { Permit } from '../../clouds/permit.ts';
import { createSemaphore } from '../../runtime/semaphore.ts';
import { removeLoadBalancer } from '../../services/orphans/remove-load-balancer.ts';
import {
  isGivenUp,
  planTeardown,
  type TeardownContext,
  type TeardownItem,
  type TeardownPlan,
} from './plan-teardown.ts';

/** One line of progress. `working` may be reported several times per item, once per call. */
export interface TeardownProgress {
  readonly item: TeardownItem;
  readonly state: 'working' | 'done' | 'failed';
  /** The current step, or why it failed. */
  readonly message: string;
  /** The number of finished items, and of all items. */
  readonly finished: number;
  readonly total: number;
}

export interface TeardownOptions {
  /** For each mutating call. The caller holds the lease, so that no controller re-creates deleted resources. */
  readonly permit: Permit;
  readonly signal: AbortSignal;
  /** Continue although Services still want load balancers. */
  readonly force: boolean;
  onProgress?(progress: TeardownProgress): void;
  /** The time limit for one load balancer, milliseconds. Default half an hour. */
  readonly deadlineMs?: number | undefined;
}

export interface TeardownResult {
  /** Without what was given up, which `kept` has. */
  readonly removed: number;
  readonly failed: readonly { readonly item: TeardownItem; readonly message: string }[];
  /** The number of our resources that the final read of the clouds still found. */
  readonly left: number;
  /** As of the final read. */
  readonly kept: TeardownPlan['kept'];
}

/** Services of type LoadBalancer still exist. `services`: `namespace/name` of each. */
export class ServicesRemainError extends Error {
  override readonly name = 'ServicesRemainError';
  readonly services: readonly string[];

  constructor(services: readonly string[]) {
    const shown = services.slice(0, 5).join(', ');
    const more = services.length > 5 ? ` and ${services.length - 5} more` : '';
    const subject = services.length === 1 ? '1 Service still has or wants a load balancer' : undefined;
    const those = services.length === 1 ? 'it' : 'them';
    super(
      `${subject ?? `${services.length} Services still have or want load balancers`} (${shown}${more}): ` +
        `delete ${those} first, ` +
        'and let the controller finish, or force it',
    );
    this.services = services;
  }
}

const concurrency = 8;
const maxTries = 6;
/** Failures of the deletion of a route that are retried. */
const retried: ReadonlySet<string> = new Set(['Throttled', 'Conflict', 'Unavailable', 'Timeout']);

/**
 * Deletes all cloud resources of this cluster, as `planTeardown` lists them: load balancers with all their parts,
 * orphans too, then routes. For the deletion of a cluster.
 *
 * The usual order: delete the Services of type LoadBalancer and wait until they are gone, stop the controller, then
 * tear down the rest. While such Services exist, it throws a ServicesRemainError, because their users would lose
 * the address, which cannot be recovered. With `force` it deletes their load balancers, too, except those whose Service
 * has `mooring.dev/load-balancer-retain` and may retain: these lose only our tags. The Service objects are not written:
 * finalizer, status and record stay, and a controller that is started afterwards creates new load balancers for them.
 * Nodes are ignored: deleting routes cuts the pod network of Nodes that still run.
 *
 * It makes its own plan at the beginning, so a plan that was shown to a person may differ. A failed item does not stop
 * the others. Safe to interrupt (by the signal) and to repeat: a later run continues with the rest. Throws a CloudError
 * or KubeError when the clouds or Services cannot be read, a WithheldError when it may no longer act (the lease is
 * lost, everything is paused), and the signal's reason.
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
  let removed = 0;

  function tell(item: TeardownItem, state: TeardownProgress['state'], message: string): void {
    if (state !== 'working') finished += 1;
    options.onProgress?.({ item, state, message, finished, total });
  }

  /** Throws the errors that end the whole teardown. */
  async function run(item: TeardownItem): Promise<void> {
    ending.signal.throwIfAborted();
    try {
      const why = await removeItem(item, (message) => tell(item, 'working', message));
      if (why !== undefined) failed.push({ item, message: why });
      else if (!isGivenUp(item)) removed += 1;
      tell(
        item,
        why === undefined ? 'done' : 'failed',
        why ?? `${isGivenUp(item) ? 'gave up' : 'removed'} ${item.what}`,
      );
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

  /** Returns why the item stays; undefined when it is gone. */
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
  return { removed, failed, left: after.items.length, kept: after.kept };
}
