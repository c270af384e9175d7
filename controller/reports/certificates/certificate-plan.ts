import type { ServingCredentials } from '../../runtime/serving/credentials.ts';
import type { Authority, Validity } from './ca.ts';

const hour = 3_600_000;
const day = 24 * hour;

const authorityLifetimeMs = 730 * day;
const servingLifetimeMs = 90 * day;
/** How long before its end a serving certificate is replaced. */
const renewBeforeMs = 30 * day;
/**
 * How long the next authority is published at least before it signs certificates: agents that read their file once in
 * that time do not miss it.
 */
const publishLeadMs = day;
/** How long before its end an authority stops signing, so that it outlives every serving certificate that it signs. */
const promoteBeforeMs = servingLifetimeMs + renewBeforeMs;
/**
 * How long before its end the next authority is issued and published: eight months before that signs, for copies of the
 * bundle that a person renews twice a year (the `caBundle` of webhooks).
 */
const prepareBeforeMs = promoteBeforeMs + 240 * day;
/** Certificates are backdated, for peers whose clock is behind. */
const backdateMs = hour;

/** The contents of the Secret. */
export interface CertificateState {
  readonly current: Authority & Validity;
  /** It signed certificates that standbys may still serve. Its key is deleted, so it signs no more. */
  readonly previous?: { readonly cert: string } & Validity;
  readonly next?: Authority & Validity & { readonly publishedAt?: number };
  readonly serving: ServingCredentials & Validity;
}

/** One step of the rotation, with a single write. */
export type CertificateAction =
  /** There is no valid authority: issue a new one and use it at once. */
  | { readonly type: 'create'; readonly authority: Validity; readonly serving: Validity }
  | { readonly type: 'renew'; readonly serving: Validity }
  | { readonly type: 'prepare'; readonly authority: Validity }
  /** To the ConfigMap. */
  | { readonly type: 'publish'; readonly bundle: string }
  /** The next authority is published in the ConfigMap: its lead time starts now. */
  | { readonly type: 'mark' }
  /** It is no longer in the ConfigMap: its lead time has to start again. */
  | { readonly type: 'unmark' }
  | { readonly type: 'promote'; readonly serving: Validity }
  | { readonly type: 'retire' }
  | { readonly type: 'wait'; readonly untilMs: number };

/** The certificates issued for an action. */
export interface Issued {
  readonly authority?: Authority & Validity;
  readonly serving?: ServingCredentials & Validity;
}

/** The bundle for agents: the current, the next and the previous authority. */
export function bundleOf({ current, next, previous }: CertificateState): string {
  return [current.cert, next?.cert, previous?.cert].filter((cert) => cert !== undefined).join('');
}

function servingBy(authority: Validity, now: number): Validity {
  return { notBefore: now - backdateMs, notAfter: Math.min(now + servingLifetimeMs, authority.notAfter) };
}

function newAuthority(now: number): Validity {
  return { notBefore: now - backdateMs, notAfter: now + authorityLifetimeMs };
}

/**
 * Plans the next step of the rotation from the Secret, the published bundle and the time, so that agents can verify the
 * serving certificate at all times. Pure. Call it again after each step.
 * @param published the bundle as it was just read from the ConfigMap; empty when there is none
 */
export function planCertificates(
  state: CertificateState | undefined,
  published: string,
  now: number,
): CertificateAction {
  const authority = newAuthority(now);
  const create: CertificateAction = { type: 'create', authority, serving: servingBy(authority, now) };
  if (!state) return create;
  const { current, next, previous, serving } = state;
  // Issued while the clock was ahead: no agent accepts it yet. A leader whose own clock is behind by more than an hour
  // may be wrong about that, but only once: what it issues is valid by the clocks that are ahead of its own, too.
  if (current.notBefore > now) return create;
  if (current.notAfter <= now) {
    return next && next.notAfter > now ? { type: 'promote', serving: servingBy(next, now) } : create;
  }
  const renewed = servingBy(current, now);
  const gainMs = renewed.notAfter - serving.notAfter;
  const ends = serving.notAfter - now < renewBeforeMs && gainMs > day;
  if (ends || serving.notBefore > now) return { type: 'renew', serving: renewed };
  if (previous && previous.notAfter <= now) return { type: 'retire' };
  if (next?.publishedAt !== undefined && !published.includes(next.cert)) return { type: 'unmark' };
  const bundle = bundleOf(state);
  if (published !== bundle) return { type: 'publish', bundle };
  if (next && next.publishedAt === undefined) return { type: 'mark' };
  const promoteAt = Math.max((next?.publishedAt ?? now) + publishLeadMs, current.notAfter - promoteBeforeMs);
  if (next && promoteAt <= now) return { type: 'promote', serving: servingBy(next, now) };
  if (!next && current.notAfter - now < prepareBeforeMs) return { type: 'prepare', authority };
  const moments = [
    serving.notAfter - renewBeforeMs,
    next ? promoteAt : current.notAfter - prepareBeforeMs,
    previous?.notAfter ?? Number.POSITIVE_INFINITY,
  ];
  return { type: 'wait', untilMs: Math.min(...moments.filter((moment) => moment > now)) };
}

/**
 * The state after an action with its issued certificates. Actions without a write to the Secret leave it unchanged.
 * Pure.
 */
export function applyAction(
  state: CertificateState | undefined,
  action: CertificateAction,
  { authority, serving }: Issued,
  now: number,
): CertificateState | undefined {
  if (action.type === 'create') return authority && serving ? { current: authority, serving } : state;
  if (!state) return undefined;
  const { next, previous, ...rest } = state;
  switch (action.type) {
    case 'renew':
      return serving ? { ...state, serving } : state;
    case 'prepare':
      return authority ? { ...state, next: authority } : state;
    case 'mark':
      return next ? { ...state, next: { ...next, publishedAt: now } } : state;
    case 'unmark': {
      if (!next) return state;
      const { publishedAt: _, ...unmarked } = next;
      return { ...state, next: unmarked };
    }
    case 'promote': {
      if (!next || !serving) return state;
      const { publishedAt: _, ...current } = next;
      const { key: __, ...was } = state.current;
      return { current, previous: was, serving };
    }
    case 'retire':
      return next ? { ...rest, next } : rest;
    default:
      return state;
  }
}
