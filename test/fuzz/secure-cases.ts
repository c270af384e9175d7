import type { Dice } from './dice.ts';
import { canary } from './evil-values.ts';
import type { Lane } from './lane.ts';
import { oddMethod, oddPath } from './odd-targets.ts';
import type { Reader, Readers } from './readers.ts';
import { bytesOf, type HeaderLines, idleHeaders, inPieces, noTls } from './requests.ts';
import type { SecureOutcome } from './secure-outcome.ts';
import { wildRequest } from './wild-requests.ts';
import type { Delivery } from './wire.ts';

/** A request to the secure port, and all the ends that are right. */
export interface SecureDraft {
  readonly kind: string;
  readonly delivery: Delivery;
  readonly outcomes: readonly (SecureOutcome | 'silence')[];
  readonly headOnly: boolean;
}

const openPaths = ['/healthz', '/livez', '/readyz'] as const;
const guardedPaths = ['/metrics', '/configz'] as const;
/** Other spellings of guarded paths: none of them may be taken for one. */
const nearPaths = [
  '/metrics/',
  '//metrics',
  '/./metrics',
  '/x/../metrics',
  '/%6detrics',
  '/metrics%00',
  '/metrics%3f',
  '/METRICS',
  '/metrics;x',
  '/metrics#x',
  '/configz/',
  '/livez/../configz',
  '/livez/metrics',
  'https://x/metrics',
  '/debug/pprof/',
  '/v1/report',
  '/',
] as const;
const queries = ['', '', '', '?verbose', '?', '?x=%', '?verbose=/metrics', `?${'x'.repeat(3000)}`, '?a&a&a'] as const;

/** Node's own words for a request it will not hand on: no Host header, an expectation it does not know. */
const byNode: readonly SecureOutcome[] = ['secure 400', 'secure 417'];

export function makeSecureCase(dice: Dice, lane: Lane, readers: Readers): SecureDraft {
  const reader = readers.pick(dice, lane);
  return dice.weighed<() => SecureDraft>([
    [70, () => ordinary(dice, reader)],
    [25, () => wild(dice, reader)],
    [5, () => ({ kind: 'secure, no TLS', delivery: noTls(dice), outcomes: ['silence'], headOnly: false })],
  ])();
}

function ordinary(dice: Dice, reader: Reader): SecureDraft {
  const target = dice.weighed<() => string>([
    [30, () => dice.pick(openPaths) + dice.pick(queries)],
    [45, () => dice.pick(guardedPaths) + dice.pick(queries)],
    [15, () => dice.pick(nearPaths) + dice.pick(queries)],
    // Who is told of a path that is not there reads his own words.
    [10, () => oddPath(dice).replace(canary, 'x')],
  ])();
  const method = dice.weighed<() => string>([
    [80, () => 'GET'],
    [8, () => 'HEAD'],
    [12, () => oddMethod(dice)],
  ])();
  const headers: HeaderLines = [
    ['host', 'x'],
    ...(reader.authorization === undefined ? [] : ([['authorization', reader.authorization]] as const)),
    ...idleHeaders(dice).filter(([name]) => name !== 'connection'),
    // Otherwise the connection stays, as for any reader that comes again.
    ['connection', 'close'],
  ];
  const bytes = bytesOf({ line: `${method} ${target} HTTP/1.1`, headers, body: Buffer.alloc(0) });
  const reads = method === 'GET' || method === 'HEAD';
  const ending = dice.weighed<Delivery['ending']>([
    [80, 'wait'],
    [10, 'finish'],
    [10, 'vanish'],
  ]);
  // A request that node's parser rejects gets no answer, nor does a sender that falls silent while the API server is
  // still asked.
  const heard = reads && /^\/[\w/?=&]*$/.test(target) && ending === 'wait';
  const expected = reads ? statusOf(target, reader) : 'secure 405';
  // Who has proved nothing shares a small number of reviews.
  const outcomes: SecureOutcome[] =
    expected === 'secure 401' || expected === 'secure 403' ? [expected, 'secure 429'] : [expected];
  return {
    kind: 'secure',
    delivery: { tls: 'yes', parts: inPieces(dice, bytes), ending },
    outcomes: [...outcomes, ...(heard ? [] : (['silence', ...byNode] as const))],
    headOnly: method === 'HEAD',
  };
}

/** Written apart from the server: only the exact path counts, and the query after a question mark is no part of it. */
function statusOf(target: string, reader: Reader): SecureOutcome {
  const path = target.replace(/\?.*$/s, '');
  if ((openPaths as readonly string[]).includes(path)) return 'secure 200';
  if (path === '/metrics') return `secure ${reader.metrics}`;
  if (path === '/configz') return `secure ${reader.configz}`;
  return 'secure 404';
}

/** Framing that contradicts itself, several requests on one connection: nothing of that may be let through. */
function wild(dice: Dice, reader: Reader): SecureDraft {
  const authorization = reader.authorization ?? Buffer.alloc(0);
  const delivery = wildRequest(dice, { authorization, body: Buffer.from('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n') });
  const verdicts: SecureOutcome[] = [`secure ${reader.metrics}`, `secure ${reader.configz}`, 'secure 403'];
  const outcomes: SecureDraft['outcomes'] = [
    'secure 404',
    'secure 405',
    ...verdicts,
    'secure 429',
    ...byNode,
    'silence',
  ];
  return { kind: 'secure, wild', delivery, outcomes, headOnly: false };
}
