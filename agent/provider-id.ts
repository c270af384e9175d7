import { isCloudError } from '../common/cloud-error.ts';
import type { Instance } from '../common/instance.ts';
import { backoffMs } from '../common/process/backoff.ts';
import { type Clock, sleep } from '../common/process/clock.ts';
import { formatDuration } from '../common/process/duration.ts';
import { defineFlags, type FlagValues } from '../common/process/flags.ts';
import { errorFields, type Log } from '../common/process/log.ts';
import type { Random } from '../common/process/random.ts';
import { kubeletArgs, kubeletExtras } from './kubelet-args.ts';
import type { MetadataSource } from './metadata/source.ts';
import { sourceFlags } from './options.ts';

export const providerIdFlags = defineFlags({
  timeout: { kind: 'duration', default: '30s', min: 1, help: 'How long to try before giving up.' },
  output: {
    kind: 'string',
    short: 'o',
    default: 'id',
    choices: ['id', 'kubelet-args'],
    help: 'The bare providerID, or arguments for the kubelet, one a line.',
  },
  with: {
    kind: 'list',
    choices: kubeletExtras,
    help: 'Further kubelet arguments, with --output kubelet-args.',
  },
  ...sourceFlags,
});

export interface ProviderIdDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Aborts on SIGTERM and SIGINT. */
  readonly signal: AbortSignal;
}

/**
 * Returns the text for stdout. Retries temporary failures until the timeout, and then throws the last one. A providerID
 * is immutable, so a wrong one is worse than none.
 */
export async function printProviderId(
  source: MetadataSource,
  values: Pick<FlagValues<typeof providerIdFlags>, 'timeout' | 'output' | 'with'>,
  dependencies: ProviderIdDependencies,
): Promise<string> {
  const instance = await readPatiently(source, values.timeout, dependencies);
  if (values.output === 'id') return `${instance.providerID}\n`;
  return `${kubeletArgs(instance, values.with).join('\n')}\n`;
}

/** Reads until success, a permanent failure, or `timeoutMs`. Throws the last failure. */
export async function readPatiently(
  source: MetadataSource,
  timeoutMs: number,
  { clock, random, log, signal }: ProviderIdDependencies,
): Promise<Instance> {
  const limit = new AbortController();
  const deadlineMs = clock.monotonic() + timeoutMs;
  const stop = () => limit.abort(new Error('asked to stop'));
  const timer = clock.setTimer(timeoutMs, stop);
  signal.addEventListener('abort', stop, { once: true });
  /** At the timeout, the last failure is more useful than the timeout itself. */
  let last: unknown;
  const ended = (error: unknown) =>
    because(error, signal.aborted ? 'asked to stop' : `given up after ${formatDuration(timeoutMs)} (--timeout)`);
  try {
    for (let failures = 1; ; failures += 1) {
      try {
        return await source.read(limit.signal);
      } catch (error) {
        if (limit.signal.aborted) throw ended(last ?? error);
        if (!isCloudError(error) || !error.retryable) throw error;
        last = error;
        const waitMs = Math.max(backoffMs(failures, { firstMs: 250, maxMs: 5000, random }), error.retryAfterMs ?? 0);
        if (clock.monotonic() + waitMs >= deadlineMs) throw ended(error);
        const told = failures === 1 ? 'warn' : 'debug';
        const giveUpAfter = formatDuration(timeoutMs);
        log[told]('trying again', { ...errorFields(error), waitMs: Math.round(waitMs), giveUpAfter });
        await sleep(clock, waitMs, limit.signal);
      }
    }
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', stop);
  }
}

/** The same failure, with the reason why there was no further try. */
function because(error: unknown, why: string): unknown {
  return isCloudError(error) ? error.with({ message: `${error.bareMessage}; ${why}` }) : error;
}
