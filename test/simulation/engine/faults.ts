import type { KubeCall } from '../../../controller/kube/api.ts';
import type { Dice } from './dice.ts';

/** What the API server may wrongly say of a good token. */
export const reviewFaults = [
  'not authenticated',
  'another node',
  'node of before',
  'no node uid',
  'no audiences',
  'another account',
] as const;
export type ReviewFault = (typeof reviewFaults)[number];

/** What may happen to a call to the API server. */
export const kubeFaults = [
  'lost request',
  'lost answer',
  'conflict',
  'throttled',
  'server error',
  'error after the effect',
  'timeout',
  'timeout after the effect',
  'slow',
  'unauthorized',
  'forbidden',
  'unreadable',
  'short page',
  'expired page',
  'stale list',
  'crash before',
  'crash after',
  'pause',
  ...reviewFaults,
] as const;
export type KubeFault = (typeof kubeFaults)[number];

/** What may happen to a watch: at its beginning (`refused`) or at one of its events. */
export const watchFaults = [
  'refused',
  'cut',
  'ended',
  'expired',
  'late',
  'silent',
  'duplicate',
  'repeated after reconnect',
  'reordered',
  'crash',
  'pause',
] as const;
export type WatchFault = (typeof watchFaults)[number];

/** What may happen to a call to the cloud. */
export const cloudFaults = [
  'lost request',
  'lost answer',
  'throttled',
  'server error',
  'timeout',
  'timeout after the effect',
  'slow',
  'cut body',
  'malformed',
  'wrong shape',
  'missing fields',
  'partial page',
  'chain ends early',
  'chain loops',
  'stale',
  'empty answer',
  'unauthorized',
  'forbidden',
  'redirect',
  'oversized',
  'conflict',
  'crash before',
  'crash after',
  'pause',
] as const;
export type CloudFault = (typeof cloudFaults)[number];

/**
 * What may happen to a report, and its sender. `forged`: by an agent that was broken into, with its own valid token.
 * The others show tokens that prove nothing: unsigned, of another account, for another audience.
 */
export const reportFaults = [
  'lost',
  'late',
  'duplicate',
  'forged',
  'silence',
  'to a standby',
  'forged token',
  'flood of forged tokens',
  'token of another account',
  'token for another audience',
  'no token',
  'cut',
  'another shape',
  'too many',
] as const;
export type ReportFault = (typeof reportFaults)[number];

/** A token is reviewed. */
export const reviewSite = 'kube create tokenreviews';

/** Stands for the first and every later page. */
export const anyPage = 'any';

const onWritesOnly: ReadonlySet<string> = new Set<KubeFault>([
  'conflict',
  'error after the effect',
  'timeout after the effect',
]);

const ofReviewsOnly: ReadonlySet<string> = new Set<KubeFault>(reviewFaults);

export function kubeFaultsOf(site: string, { verb, query }: Pick<KubeCall, 'verb' | 'query'>): readonly KubeFault[] {
  const writes = verb !== 'get' && verb !== 'list';
  const reviews = site === reviewSite;
  return kubeFaults.filter((kind) => {
    if (ofReviewsOnly.has(kind)) return reviews;
    if (kind === 'short page') return verb === 'list';
    if (kind === 'stale list')
      return verb === 'list' && (query?.['continue'] === undefined || query['continue'] === anyPage);
    if (kind === 'expired page') return verb === 'list' && query?.['continue'] !== undefined;
    return writes || !onWritesOnly.has(kind);
  });
}

const atStartOnly: ReadonlySet<string> = new Set<WatchFault>(['refused', 'repeated after reconnect']);
const atEventsOnly: ReadonlySet<string> = new Set<WatchFault>(['late', 'duplicate', 'reordered']);

/** @param start the watch begins; else one of its events is told */
export function watchFaultsOf(start: boolean): readonly WatchFault[] {
  return watchFaults.filter((kind) => !(start ? atEventsOnly : atStartOnly).has(kind));
}

const cloudWritesOnly: ReadonlySet<string> = new Set<CloudFault>(['timeout after the effect', 'conflict']);
const cloudReadsOnly: ReadonlySet<string> = new Set<CloudFault>(['empty answer', 'stale']);
const cloudListsOnly: ReadonlySet<string> = new Set<CloudFault>(['partial page', 'chain ends early', 'chain loops']);

export function cloudFaultsOf({ mutating, lists }: CloudCallKind): readonly CloudFault[] {
  return cloudFaults.filter(
    (kind) =>
      (mutating || !cloudWritesOnly.has(kind)) &&
      (!mutating || !cloudReadsOnly.has(kind)) &&
      (lists || !cloudListsOnly.has(kind)),
  );
}

export interface CloudCallKind {
  readonly mutating: boolean;
  /** The answer has items. */
  readonly lists: boolean;
}

/** How often things go wrong; all zero once faults have stopped. */
export interface FaultRates {
  kube: number;
  watch: number;
  cloud: number;
  report: number;
}

/** A call site that a seed sees to, with the kinds of fault that are still to strike there, one at every other call. */
export interface Aim {
  readonly site: string;
  readonly kinds: string[];
  armed: boolean;
  /** The last call was struck. */
  rests: boolean;
}

/** Draws what goes wrong with each call, and counts it. */
export interface Faults {
  readonly rates: FaultRates;
  /** Share of watches that hear nothing. */
  deafness: number;
  /** Every call of every replica fails so, as in an outage. */
  outage: { kube?: KubeFault | undefined; cloud?: CloudFault | undefined; watch?: 'silent' | undefined };
  kube(site: string, call: Pick<KubeCall, 'verb' | 'query'>): KubeFault | undefined;
  watch(site: string, start: boolean): WatchFault | undefined;
  cloud(site: string, kind: CloudCallKind): CloudFault | undefined;
  report(): ReportFault | undefined;
  count(site: string, kind: string): void;
  /** `site\tkind` -> how often; kind empty = calls at all. */
  readonly counts: Map<string, number>;
}

/**
 * Process ends are rarer than other faults: a process that never lives long tests little. So are faults that take many
 * requests.
 */
const rare: ReadonlySet<string> = new Set([
  'crash before',
  'crash after',
  'crash',
  'pause',
  'silent',
  'oversized',
  'flood of forged tokens',
  'too many',
]);
const rareShare = 0.15;
const seldomCalls = 4;

export interface FaultParts {
  readonly dice: Dice;
  readonly rates: FaultRates;
  /** Shared by all that draw, as the aim is. */
  readonly counts: Map<string, number>;
  readonly aim: Aim;
  /** Of the kinds: the seed. */
  readonly turn: number;
  /** Shared with others of the same place. */
  readonly outage?: Faults['outage'];
}

export function createFaults({ dice, rates, counts, aim, turn, outage = {} }: FaultParts): Faults {
  const seen = new Map<string, number>();

  function count(site: string, kind: string): void {
    const key = `${site}\t${kind}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }

  function draw<K extends string>(site: string, rate: number, kinds: readonly K[], forced?: K): K | undefined {
    count(site, '');
    // What is seldom called goes wrong more often, or it never would.
    const calls = (seen.get(site) ?? 0) + 1;
    seen.set(site, calls);
    const seldom = calls <= seldomCalls;
    const struck = rate > 0 && dice.chance(seldom ? Math.min(0.5, rate * 3) : rate);
    if (forced !== undefined && kinds.includes(forced)) {
      count(site, forced);
      return forced;
    }
    const aimed = aim.armed && aim.site === site ? kinds.find((kind) => kind === aim.kinds[0]) : undefined;
    if (aimed !== undefined) {
      aim.rests = !aim.rests;
      if (aim.rests) {
        aim.kinds.shift();
        count(site, aimed);
        return aimed;
      }
    }
    if (rate > 0 && calls === 1 && forced === undefined && dice.chance(0.35)) {
      // Kinds take turns at the first call of each shape, seed by seed: so a rare call meets every one of them.
      const kind = kinds[(turn + site.length) % kinds.length]!;
      count(site, kind);
      return kind;
    }
    if (!struck) return undefined;
    const kind = dice.pick(kinds);
    if (rare.has(kind) && !seldom && !dice.chance(rareShare)) return undefined;
    count(site, kind);
    return kind;
  }

  const faults: Faults = {
    rates,
    deafness: 0,
    outage,
    counts,
    count,
    kube: (site, call) => draw(site, rates.kube, kubeFaultsOf(site, call), faults.outage.kube),
    watch(site, start) {
      const deaf = start && rates.watch > 0 && faults.deafness > 0 && dice.chance(faults.deafness);
      const silent = deaf || (start && faults.outage.watch === 'silent');
      return draw(site, rates.watch, watchFaultsOf(start), silent ? 'silent' : undefined);
    },
    cloud: (site, kind) => draw(site, rates.cloud, cloudFaultsOf(kind), faults.outage.cloud),
    report: () => draw('report', rates.report, reportFaults),
  };
  return faults;
}
