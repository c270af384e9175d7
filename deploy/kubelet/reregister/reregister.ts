import { type Clock, sleep } from '../../../common/process/clock.ts';
import { formatDuration } from '../../../common/process/duration.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import { type Access, nodeNameOf } from './access.ts';
import { type Answer, askForNode } from './own-node.ts';
import { type KubeletState, type Limits, noRestarts, type Restarts, reasonToWait } from './restarts.ts';

export interface ReregisterOptions extends Limits {
  /** Default: the one that the kubelet's certificate is for. */
  readonly nodeName: string | undefined;
  /** How often in a row the API server must say that the Node is gone. */
  readonly answers: number;
  readonly intervalMs: number;
  readonly requestTimeoutMs: number;
}

export interface ReregisterDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  kubelet(): Promise<KubeletState>;
  /** Restarts the kubelet if it runs. */
  restart(): Promise<void>;
  /**
   * The kubelet's own access to the API server, read each time; undefined while this machine has not joined a cluster.
   */
  access(): Promise<Access | undefined>;
  readRestarts(): Promise<Restarts>;
  writeRestarts(restarts: Restarts): Promise<void>;
}

export type Outcome = 'restarted' | 'there' | 'waiting' | 'unknown';

/**
 * One read of the kubelet's own Node, and one restart of the kubelet if that Node is proved gone: a kubelet registers
 * when it starts and never again. Any other answer ends without a restart. Throws when the Node cannot be read at all.
 */
export async function reregister(options: ReregisterOptions, dependencies: ReregisterDependencies): Promise<Outcome> {
  const { clock, log, signal } = dependencies;
  const restarts = await dependencies.readRestarts();
  const waitReason = async () => reasonToWait(clock.uptime(), await dependencies.kubelet(), restarts, options);
  const early = await waitReason();
  if (early !== undefined) {
    log.debug('not looking', { reason: early });
    return 'waiting';
  }
  const first = await look(options, dependencies, false);
  if (first.kind === 'there') {
    if (restarts.count > 0) await dependencies.writeRestarts(noRestarts);
    return 'there';
  }
  if (first.kind === 'unknown') return unknown(first.reason, log);
  log.warn('the Node may be gone, asking again', {
    node: first.node,
    answers: options.answers,
    interval: formatDuration(options.intervalMs),
  });
  for (let left = options.answers; left > 0; left -= 1) {
    await sleep(clock, options.intervalMs, signal);
    const answer = await look(options, dependencies, true);
    if (answer.kind === 'there') return 'there';
    if (answer.kind === 'unknown') return unknown(answer.reason, log);
  }
  // It may have been restarted or stopped in the meantime.
  const late = await waitReason();
  if (late !== undefined) {
    log.warn('the Node is gone, but the kubelet is not restarted now', { node: first.node, reason: late });
    return 'waiting';
  }
  // First on record: without a count there would be no limit.
  await dependencies.writeRestarts({ count: restarts.count + 1, lastAtMs: Math.round(clock.uptime()) });
  log.warn('the Node is gone: restarting the kubelet, which registers it again', { node: first.node });
  await dependencies.restart();
  return 'restarted';
}

function unknown(reason: string, log: Log): Outcome {
  log.warn('whether the Node is there is unknown, the kubelet is left alone', { reason });
  return 'unknown';
}

async function look(
  { nodeName, requestTimeoutMs }: ReregisterOptions,
  { access: open, clock, log }: ReregisterDependencies,
  fresh: boolean,
): Promise<Answer & { readonly node?: string }> {
  const access = await open();
  if (access === undefined) return { kind: 'unknown', reason: 'this machine has not joined a cluster yet' };
  const name = ownName(access, nodeName);
  const answer = await askForNode(access, { name, fresh, timeoutMs: requestTimeoutMs }, clock);
  log.debug('asked for the Node', { node: name, fresh, answer: answer.kind });
  return { ...answer, node: name };
}

function ownName({ cert }: Access, given: string | undefined): string {
  let certified: string | undefined;
  try {
    certified = cert === undefined ? undefined : nodeNameOf(cert);
  } catch (error) {
    throw new Error(`client certificate: ${errorFields(error)['error']}`);
  }
  if (given !== undefined && certified !== undefined && given !== certified) {
    throw new Error(`--node-name: ${JSON.stringify(given)}, but the kubelet's certificate is for ${certified}`);
  }
  const name = given ?? certified;
  if (name !== undefined) return name;
  throw new Error("--node-name: missing, and the kubelet's credential is no certificate for system:node:NAME");
}
