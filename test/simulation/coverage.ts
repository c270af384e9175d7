import { callSites, kindsAt } from './call-sites.ts';

/** Adds what one seed hit. */
export function addCounts(into: Map<string, number>, counts: Iterable<readonly [string, number]>): void {
  for (const [key, count] of counts) into.set(key, (into.get(key) ?? 0) + count);
}

export interface SiteCoverage {
  readonly site: string;
  readonly calls: number;
  readonly hit: readonly { readonly kind: string; readonly count: number }[];
  /** Kinds that could have struck here and never did. */
  readonly never: readonly string[];
  /** A call that is not listed. */
  readonly unlisted: boolean;
}

const isTrouble = (site: string) => site.startsWith('world ') || site === 'timer';

/** Every call site, reached or not, with every kind of fault that can strike there. */
export function coverageOf(counts: ReadonlyMap<string, number>): SiteCoverage[] {
  const sites = new Map(callSites.map((site) => [site, new Map<string, number>()]));
  for (const [key, count] of counts) {
    const [site = '', kind = ''] = key.split('\t');
    const kinds = sites.get(site) ?? new Map<string, number>();
    sites.set(site, kinds);
    kinds.set(kind, count);
  }
  return [...sites]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([site, kinds]) => {
      const hit = [...kinds].filter(([kind]) => kind !== '').map(([kind, count]) => ({ kind, count }));
      const never = isTrouble(site) ? [] : kindsAt(site).filter((kind) => !kinds.has(kind));
      const unlisted = !isTrouble(site) && !callSites.includes(site);
      return { site, calls: kinds.get('') ?? 0, hit, never, unlisted };
    });
}

/** What a long run has to hit and did not, in words. */
export function holesIn(coverage: readonly SiteCoverage[]): string[] {
  return coverage.flatMap(({ site, never, unlisted }) => [
    ...(unlisted ? [`${site}: not listed in call-sites.ts`] : []),
    ...never.map((kind) => `${site}: never ${kind}`),
  ]);
}

export function printCoverage(coverage: readonly SiteCoverage[]): string {
  const width = Math.max(...coverage.map(({ site }) => site.length));
  const lines = coverage.map(({ site, calls, hit }) => {
    const struck = hit.map(({ kind, count }) => `${kind} ${count}`).join(', ');
    return `${site.padEnd(width)}  ${String(calls).padStart(8)}  ${struck}`;
  });
  const calls = coverage.filter(({ site }) => !isTrouble(site));
  const holes = holesIn(coverage);
  const kinds = calls.reduce((sum, { hit }) => sum + hit.length, 0);
  return [
    `${'call site'.padEnd(width)}  ${'calls'.padStart(8)}  faults that struck there, and how often`,
    ...lines,
    '',
    `${calls.length} call sites, ${kinds} pairs of call site and fault hit, ${holes.length} ` +
      `holes${holes.length === 0 ? '' : ':'}`,
    ...holes.map((hole) => `  ${hole}`),
  ].join('\n');
}
