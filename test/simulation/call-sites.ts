import { anyPage, cloudFaultsOf, kubeFaultsOf, reportFaults, watchFaultsOf } from './engine/faults.ts';

/**
 * Every call that the controller makes, by its shape. A call that is not listed fails a long run of seeds, and so does
 * a shape that no seed reaches.
 */
const oftenCalled = [
  'cloud GET addresses',
  'cloud GET addresses/*',
  'cloud GET instances/*',
  'cloud GET instances?ids',
  'cloud GET instances?name',
  'cloud GET load-balancers',
  'cloud GET load-balancers/*',
  'cloud GET load-balancers?name',
  'cloud GET routes',
  'cloud POST routes',
  'kube create events',
  'kube create tokenreviews',
  'kube get configmaps',
  'kube get leases',
  'kube get leases (node)',
  'kube get namespaces',
  'kube get nodes',
  'kube list configmaps',
  'kube list nodes',
  'kube list services',
  'kube patch nodes',
  'kube patch nodes/status',
  'kube patch services/status',
  'kube update leases',
  'kube watch configmaps',
  'kube watch configmaps (start)',
  'kube watch nodes',
  'kube watch nodes (start)',
  'kube watch services',
  'kube watch services (start)',
  'report',
];

/**
 * Too rare for chance alone: some seeds aim at these, each at one pair of call and fault, and make sure that the call
 * happens.
 */
const seldomCalled = [
  'cloud DELETE addresses/*',
  'cloud DELETE load-balancers/*',
  'cloud DELETE load-balancers/*/listeners/*',
  'cloud DELETE load-balancers/*/pools/*',
  'cloud DELETE routes/*',
  'cloud GET instances',
  'cloud GET routes/*',
  'cloud PATCH addresses/*',
  'cloud PATCH load-balancers/*',
  'cloud PATCH load-balancers/*/listeners/*',
  'cloud PATCH load-balancers/*/pools/*',
  'cloud POST addresses',
  'cloud POST load-balancers',
  'cloud POST load-balancers/*/listeners',
  'cloud POST load-balancers/*/pools',
  'cloud PUT load-balancers/*/pools/*/members',
  'kube delete nodes',
  // Few Nodes are deleted in a seed: as often again.
  'kube delete nodes',
  'kube get services',
  'kube patch events',
];

export const callSites: readonly string[] = [...new Set([...oftenCalled, ...seldomCalled])];

/** Pairs that cannot come about although the shape of the call would let them, and why. */
const impossible: ReadonlyMap<string, string> = new Map();

/** The kinds of fault that can strike a call site. */
export function kindsAt(site: string): readonly string[] {
  return shapedKinds(site).filter((kind) => !impossible.has(`${site}\t${kind}`));
}

function shapedKinds(site: string): readonly string[] {
  const [api, verb = '', ...rest] = site.split(' ');
  if (site === 'report') return reportFaults;
  if (api === 'kube' && verb === 'watch') return watchFaultsOf(rest.includes('(start)'));
  if (api === 'kube') {
    // Later pages are asked for by the lists of what may be long.
    const query = rest[0] === 'nodes' || rest[0] === 'services' ? { continue: anyPage } : {};
    return kubeFaultsOf(site, { verb: verb as 'get', query });
  }
  if (api !== 'cloud') return [];
  const lists = rest.join(' ').split('?')[0]!.split('/').length % 2 === 1;
  const mutating = verb !== 'GET';
  return cloudFaultsOf({ mutating, lists: lists && !mutating });
}

const pairs = seldomCalled.flatMap((site) => kindsAt(site).map((kind) => ({ site, kind })));
/** The call may come several times. */
const kindsOfOneSeed = 6;

/** The read of one route comes about in few seeds, and these two kinds among many seldom strike it by chance. */
const seldomest = { seed: 13, site: 'cloud GET routes/*', kinds: ['crash after', 'pause'] } as const;

/** What a seed aims at: by its number alone, and neighbouring seeds at different sites. */
export function aimOf(seed: number): { readonly site: string; readonly kinds: readonly string[] } {
  if (seed % 25 === seldomest.seed) return seldomest;
  // A step that shares no factor with the number of pairs visits each of them before any comes again.
  const { site, kind } = pairs[(seed * stride(pairs.length)) % pairs.length]!;
  const kinds = kindsAt(site);
  const first = kinds.indexOf(kind);
  return { site, kinds: [...kinds.slice(first), ...kinds.slice(0, first)].slice(0, kindsOfOneSeed) };
}

function stride(length: number): number {
  const divides = (a: number, b: number): number => (b === 0 ? a : divides(b, a % b));
  for (let step = Math.floor(length * 0.38); ; step += 1) if (divides(length, step) === 1) return step;
}
