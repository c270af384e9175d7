import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { errorFields, type Log } from '../../../common/process/log.ts';
import type { KubeApi } from '../../kube/api.ts';
import { createElector, type Elector } from '../../kube/elector.ts';
import type { ShippedObjects } from '../../kube/shipped-objects.ts';
import { watchPause } from '../../runtime/pause.ts';
import type { CommandEnvironment } from '../command.ts';

interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

interface LeadingParts {
  readonly api: KubeApi;
  readonly log: Log;
  readonly shipped: ShippedObjects;
  /** Told every five seconds how long it still waits. */
  say(line: string): void;
}

/** A leader that shuts down releases the Lease at once; that of a killed one has to expire. */
const leaseWaitMs = 30_000;
const sayEveryMs = 5000;

/**
 * Acquires the Lease, so that no controller re-creates the deleted resources, does the work, and releases it. Throws
 * when the Lease cannot be acquired.
 */
export async function whileLeading<T>(
  { clock, random, signal }: Pick<CommandEnvironment, 'clock' | 'random' | 'signal'>,
  { api, log, shipped, say }: LeadingParts,
  lease: LeaseName,
  work: (elector: Elector, paused: () => boolean) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const pause = watchPause({ api, clock, random, log, shipped });
  pause.start();
  const ending = new AbortController();
  let lead = () => {};
  const leads = new Promise<void>((resolve) => {
    lead = resolve;
  });
  const elector = createElector({
    api,
    clock,
    random,
    log,
    ...lease,
    identity: `${hostname()}_${randomUUID()}`,
    onStartedLeading: () => lead(),
    onStoppedLeading: () => {},
  });
  const running = elector.run(ending.signal);
  let timer: { cancel(): void } | undefined;
  const late = new Promise<never>((_, reject) => {
    const wait = (leftMs: number) => {
      if (leftMs > 0) {
        say(`waiting for the Lease ${lease.namespace}/${lease.name}, ${leftMs / 1000} s at the most`);
        timer = clock.setTimer(sayEveryMs, () => wait(leftMs - sayEveryMs));
        return;
      }
      void holderOf(api, lease).then((holder) =>
        reject(new Error(heldMessage(lease, holder, shipped.objects.published.namespace))),
      );
    };
    wait(leaseWaitMs);
    signal.addEventListener('abort', () => reject(new Error('interrupted')), { once: true });
  });
  try {
    await Promise.race([Promise.all([leads, pause.whenSynced()]), late]);
    timer?.cancel();
    return await work(elector, pause.paused);
  } finally {
    timer?.cancel();
    ending.abort();
    await Promise.all([running, pause.stop()]);
    await elector.release().catch((error: unknown) => log.warn('the Lease is not freed', errorFields(error)));
  }
}

/** Who holds the Lease; undefined where that cannot be read. */
async function holderOf(api: KubeApi, { namespace, name }: LeaseName): Promise<string | undefined> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
  try {
    const { spec } = await api.call<{ readonly spec?: { readonly holderIdentity?: string } }>({ verb: 'get', path });
    return spec?.holderIdentity || undefined;
  } catch {
    return undefined;
  }
}

/**
 * What to do when the Lease was not acquired in time.
 *
 * @param holder its identity, host name and `_` and a UUID
 * @param installed the namespace of the controller
 */
export function heldMessage({ namespace, name }: LeaseName, holder: string | undefined, installed: string): string {
  const by = holder === undefined ? 'a running controller' : `the running controller ${holder}`;
  const command = `kubectl scale deployment mooring-controller -n ${installed} --replicas=0`;
  return `the Lease ${namespace}/${name} is held by ${by}: stop it first, as by '${command}'`;
}
