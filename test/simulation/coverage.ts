import { cloudFaultsOf, kubeFaultsOf, reportFaults, watchFaultsOf } from './engine/faults.ts';

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
}

/** Every call site that was reached, with every kind of fault that can strike there. */
export function coverageOf(counts: ReadonlyMap<string, number>): SiteCoverage[] {
  const sites = new Map<string, Map<string, number>>();
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
      const never = possible(site).filter((kind) => !kinds.has(kind));
      return { site, calls: kinds.get('') ?? 0, hit, never };
    });
}

function possible(site: string): readonly string[] {
  const [api, verb = '', ...rest] = site.split(' ');
  if (site === 'report') return reportFaults;
  if (api === 'kube' && verb === 'watch') return watchFaultsOf(rest.includes('(start)'));
  if (api === 'kube') {
    // Later pages are asked for by the lists of what may be long.
    const query = rest[0] === 'nodes' || rest[0] === 'services' ? { continue: 'x' } : {};
    return kubeFaultsOf({ verb: verb as 'get', query });
  }
  if (api !== 'cloud') return [];
  const lists = /:lookup$/.test(site) || rest.join(' ').split('?')[0]!.split('/').length % 2 === 1;
  const mutating = verb !== 'GET' && !/:lookup$/.test(site);
  return cloudFaultsOf({ mutating, lists: lists && !mutating });
}

export function printCoverage(coverage: readonly SiteCoverage[]): string {
  const width = Math.max(...coverage.map(({ site }) => site.length));
  const lines = coverage.map(({ site, calls, hit }) => {
    const struck = hit.map(({ kind, count }) => `${kind} ${count}`).join(', ');
    return `${site.padEnd(width)}  ${String(calls).padStart(8)}  ${struck}`;
  });
  const holes = coverage.flatMap(({ site, never }) => never.map((kind) => `${site}: ${kind}`));
  const kinds = coverage.reduce((sum, { hit }) => sum + hit.length, 0);
  return [
    `${'call site'.padEnd(width)}  ${'calls'.padStart(8)}  faults that struck there, and how often`,
    ...lines,
    '',
    `${coverage.length} call sites, ${kinds} pairs of call site and fault hit, ${holes.length} never hit${holes.length === 0 ? '' : ':'}`,
    ...holes.map((hole) => `  never: ${hole}`),
  ].join('\n');
}
