import { isAnswered } from '../../clouds/answered-code.ts';
import type { CloudCalls, ControllerMetrics, Counts } from '../ui/update.ts';

/** One line of the text form of Prometheus. */
interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The counters of one reading, by cloud. */
export type Reading = ReadonlyMap<string, Totals>;

interface Totals {
  readonly atMs: number;
  readonly calls: number;
  readonly throttled: number;
  readonly failed: number;
  readonly waits: number;
  readonly waitedSeconds: number;
}

/** Reads the text form of Prometheus; lines that are no sample are left out. Pure. */
export function parseSamples(text: string): readonly Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name = '', inside = '', value = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (name === '') return [];
    const pairs = [...inside.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', held = '']) => [
      key,
      held.replaceAll(/\\(.)/g, (_, letter: string) => (letter === 'n' ? '\n' : letter)),
    ]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

const throttledCode = /^429$|throttl|toomany|limitexceeded|slowdown/i;
const prefix = 'mooring_cloud_call';

/**
 * What the samples say about clouds, members and routes. Pure.
 *
 * @param before the reading before this one; undefined: there was none
 */
export function viewMetrics(
  samples: readonly Sample[],
  before: Reading | undefined,
  nowMs: number,
): { readonly view: ControllerMetrics; readonly reading: Reading } {
  const byCloud = Map.groupBy(
    samples.filter(({ name }) => name.startsWith(prefix)),
    ({ labels }) => labels['cloud'] ?? '',
  );
  const reading = new Map([...byCloud].map(([cloud, all]) => [cloud, totalsOf(all, nowMs)]));
  const view = {
    leads: samples.some(({ name, value }) => name === 'leader_election_master_status' && value === 1),
    clouds: [...reading].map(([cloud, now]) => callsOf(cloud, now, before?.get(cloud))),
    members: countsOf(samples, 'mooring_load_balancer_members'),
    routes: countsOf(samples, 'mooring_routes'),
  };
  return { view, reading };
}

function totalsOf(samples: readonly Sample[], atMs: number): Totals {
  const sum = (name: string, chosen: (code: string) => boolean = () => true) =>
    samples
      .filter((sample) => sample.name === name && chosen(sample.labels['code'] ?? ''))
      .reduce((total, { value }) => total + value, 0);
  const isThrottled = (code: string) => throttledCode.test(code);
  return {
    atMs,
    calls: sum(`${prefix}s_total`),
    throttled: sum(`${prefix}s_total`, isThrottled),
    failed: sum(`${prefix}s_total`, (code) => !isAnswered(code) && !isThrottled(code)),
    waits: sum(`${prefix}_waiting_seconds_count`),
    waitedSeconds: sum(`${prefix}_waiting_seconds_sum`),
  };
}

/** Counters that fell belong to another process: it started since. */
function callsOf(cloud: string, now: Totals, last: Totals | undefined): CloudCalls {
  const { calls, throttled, failed } = now;
  if (last === undefined || last.calls > calls || last.waits > now.waits || last.atMs >= now.atMs)
    return { cloud, calls, throttled, failed, perMinute: null, waitedSeconds: null };
  const waits = now.waits - last.waits;
  return {
    cloud,
    calls,
    throttled,
    failed,
    perMinute: ((calls - last.calls) * 60_000) / (now.atMs - last.atMs),
    waitedSeconds: waits === 0 ? null : (now.waitedSeconds - last.waitedSeconds) / waits,
  };
}

function countsOf(samples: readonly Sample[], metric: string): Counts {
  const counts: Record<string, Record<string, number>> = {};
  for (const { name, labels, value } of samples) {
    if (name !== metric) continue;
    const scope = labels['scope'] ?? '';
    counts[scope] = { ...counts[scope], [labels['state'] ?? '']: value };
  }
  return counts;
}
