/** Memory of the server's process at one checkpoint, in bytes, after garbage collection. */
export interface MemorySample {
  readonly cases: number;
  readonly rss: number;
  /** JavaScript objects and what they hold outside the heap. */
  readonly held: number;
}

export interface Trend {
  readonly rssPerCase: number;
  readonly heldPerCase: number;
  readonly lastRss: number;
  /** Why the trend is not flat; undefined when it is, or when there were too few cases to tell. */
  readonly fault: string | undefined;
  readonly judged: boolean;
}

/** Caches fill and code is compiled during the first cases: what they take is no leak. */
const warmUpCases = 15_000;
/** Fewer cases after that say nothing. */
const leastCases = 20_000;
/**
 * A leaked object with one field takes 24 bytes, a leaked request or socket thousands; the noise over 35,000 cases is
 * below 10.
 */
const mostHeldPerCase = 24;
/**
 * A leaked TLS socket takes 20 KiB and more outside the heap, so one in a hundred shows. Fragmentation over 35,000
 * cases is below 100.
 */
const mostRssPerCase = 200;

function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (at: 0 | 1) => points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const spread = points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
  return spread === 0 ? 0 : points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0) / spread;
}

/** Bytes per case by least squares over what came after the warm-up. Pure. */
export function memoryTrend(samples: readonly MemorySample[]): Trend {
  const settled = samples.filter(({ cases }) => cases >= warmUpCases);
  const judged = (settled.at(-1)?.cases ?? 0) - warmUpCases >= leastCases && settled.length >= 5;
  const rssPerCase = slope(settled.map(({ cases, rss }) => [cases, rss]));
  const heldPerCase = slope(settled.map(({ cases, held }) => [cases, held]));
  const over = [
    ...(heldPerCase > mostHeldPerCase
      ? [`${heldPerCase.toFixed(1)} bytes held per case, at most ${mostHeldPerCase}`]
      : []),
    ...(rssPerCase > mostRssPerCase
      ? [`${rssPerCase.toFixed(0)} bytes of RSS per case, at most ${mostRssPerCase}`]
      : []),
  ];
  return {
    rssPerCase,
    heldPerCase,
    lastRss: samples.at(-1)?.rss ?? 0,
    judged,
    fault: judged && over.length > 0 ? `memory grows: ${over.join('; ')}` : undefined,
  };
}
