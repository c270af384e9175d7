import type { Outcome } from './answers.ts';
import { type Speaker, validReport } from './bodies.ts';
import { type Body, judgeBody, makeBody } from './body-texts.ts';
import { type Dice, diceOf } from './dice.ts';
import type { Credential, Lane, Member } from './lane.ts';
import { oddMethod, oddPath } from './odd-targets.ts';
import type { Readers } from './readers.ts';
import { badTypes, bytesOf, goodTypes, inPieces, noTls, plainRequest, stalled } from './requests.ts';
import { makeSecureCase } from './secure-cases.ts';
import { wildRequest } from './wild-requests.ts';
import type { Delivery } from './wire.ts';

/** The report servers under attack (one without rate limits, one exactly as shipped, a standby) and the secure port. */
export type Door = 'open' | 'shipped' | 'standby' | 'secure';

/** What cases know besides their own lane. */
export interface Surroundings {
  /** Names of nodes of all lanes. */
  readonly others: readonly string[];
  readonly readers: Readers;
}

export interface Case {
  readonly number: number;
  readonly kind: string;
  readonly door: Door;
  readonly delivery: Delivery;
  /** All the ends that are right. */
  readonly outcomes: ReadonlySet<Outcome>;
  readonly headOnly: boolean;
  /** Whose report it is, and what is kept of it if it is. */
  readonly sender: Member | undefined;
  readonly report: Body['report'];
}

/** Everything that a hostile request may come to: any refusal that blames the request. */
const blames: readonly Outcome[] = [
  'MalformedRequest',
  'NotJson',
  'TokenMissing',
  'TokenInvalid',
  'UnknownPath',
  'ReportTooLarge',
  'NotJsonType',
  'InvalidReport',
  'HeadersTooLarge',
];

interface Draft {
  readonly kind: string;
  readonly delivery: Delivery;
  readonly outcomes: readonly Outcome[];
  readonly headOnly?: boolean;
  readonly sender?: Member | undefined;
  readonly report?: Body['report'];
}

export function makeCase(seed: number, number: number, lane: Lane, { others, readers }: Surroundings): Case {
  const dice = diceOf(seed, number);
  if (dice.chance(0.004)) lane.recreate(dice);
  const door = dice.weighed<Door>([
    [78, 'open'],
    [10, 'shipped'],
    [6, 'standby'],
    [6, 'secure'],
  ]);
  if (door === 'secure') {
    const { outcomes: right, ...secure } = makeSecureCase(dice, lane, readers);
    return { number, door, ...secure, outcomes: new Set(right), sender: undefined, report: undefined };
  }
  const speaker: Speaker = { agentId: `agent-${number}`, sequence: dice.below(1_000_000), others };
  const draft = dice.weighed<() => Draft>([
    [62, () => ordinary(dice, lane, speaker)],
    [5, () => replay(dice, lane, others)],
    [23, () => wild(dice, lane, speaker)],
    [5, () => elsewhere(dice, lane, speaker)],
    [4, () => ({ kind: 'no TLS', delivery: noTls(dice), outcomes: ['silence'] })],
    [0.2, () => slow(dice, lane, speaker)],
  ])();
  const outcomes = new Set(draft.outcomes);
  // A slow one would hold the whole lane for as long as the shipped limits allow.
  const where = draft.kind === 'stalled' ? 'open' : door;
  if (where === 'shipped') outcomes.add('AddressRateLimited').add('NodeRateLimited');
  if (where === 'standby') {
    if (outcomes.delete('kept') || draft.kind !== 'no TLS') outcomes.add('NotLeader').add('NoLeader');
    outcomes.delete('stale');
  }
  const { kind, delivery, sender, report, headOnly = false } = draft;
  return { number, kind, door: where, delivery, outcomes, headOnly, sender, report };
}

/** What comes of a request in good order. */
function expected(credential: Credential, typeIsGood: boolean, body: Body): Outcome[] {
  if (body.verdict === 'ReportTooLarge') return ['ReportTooLarge'];
  const { proves } = credential;
  if (typeof proves === 'string') return [proves];
  if (!typeIsGood) return ['NotJsonType'];
  return body.verdict === 'valid' ? keptOrStale(proves, body) : [body.verdict];
}

function keptOrStale(member: Member, { report }: Body): Outcome[] {
  if (member.last === 'unsure') return ['kept', 'stale'];
  const { agentId, sequence } = report as { agentId: string; sequence: number };
  const newer = member.last?.agentId !== agentId || sequence > member.last.sequence;
  // An equal sequence is the same report again, whose answer may have been lost.
  return newer || sequence === member.last?.sequence ? ['kept'] : ['stale'];
}

function ordinary(dice: Dice, lane: Lane, speaker: Speaker): Draft {
  const credential = lane.credential(dice);
  const typeIsGood = dice.chance(0.93);
  const type = dice.pick<string | undefined>(typeIsGood ? goodTypes : badTypes);
  const body = makeBody(dice, speaker);
  const bytes = bytesOf(plainRequest(dice, { authorization: credential.header, type, body: body.bytes }));
  const outcomes = expected(credential, typeIsGood, body);
  // Headers of 16 KiB and more are allowed up to a limit.
  if ((credential.header?.length ?? 0) > 16_000) outcomes.push('HeadersTooLarge');
  // Who is cut off in the middle of too long a body may not see the answer.
  if (body.bytes.length > 32 * 1024) outcomes.push('silence');
  return {
    kind: typeof credential.proves === 'string' ? 'bad token' : body.verdict === 'valid' ? 'valid' : 'bad body',
    delivery: { tls: 'yes', parts: inPieces(dice, bytes), ending: 'wait' },
    outcomes,
    sender: typeof credential.proves === 'string' ? undefined : credential.proves,
    report: body.report,
  };
}

/** The last report of a node again, or one that is older. */
function replay(dice: Dice, lane: Lane, others: readonly string[]): Draft {
  const member = dice.pick(lane.members);
  const last = typeof member.last === 'object' ? member.last : { agentId: 'first', sequence: 1 };
  const sequence = Math.max(0, last.sequence + dice.pick([-1000, -1, 0, 0, 1, 1000]));
  const credential = lane.good(member);
  const body = judgeBody(Buffer.from(JSON.stringify(validReport(dice, { agentId: last.agentId, sequence, others }))));
  const request = plainRequest(dice, { authorization: credential.header, type: 'application/json', body: body.bytes });
  return {
    kind: 'replay',
    delivery: { tls: 'yes', parts: [bytesOf(request)], ending: 'wait' },
    outcomes: expected(credential, true, body),
    sender: member,
    report: body.report,
  };
}

function good(dice: Dice, lane: Lane, speaker: Speaker) {
  const sender = lane.ghost;
  const body = judgeBody(Buffer.from(JSON.stringify(validReport(dice, speaker))));
  const authorization = lane.good(sender).header ?? Buffer.alloc(0);
  return { sender, body, authorization };
}

function wild(dice: Dice, lane: Lane, speaker: Speaker): Draft {
  const { sender, body, authorization } = good(dice, lane, speaker);
  return {
    kind: 'wild',
    delivery: wildRequest(dice, { authorization, body: body.bytes }),
    outcomes: [...blames, ...keptOrStale(sender, body), 'silence'],
    sender,
    report: body.report,
  };
}

function elsewhere(dice: Dice, lane: Lane, speaker: Speaker): Draft {
  const { sender, body, authorization } = good(dice, lane, speaker);
  const request = plainRequest(dice, { authorization, type: 'application/json', body: body.bytes });
  const method = dice.chance(0.5) ? 'POST' : oddMethod(dice);
  const path = method === 'POST' ? oddPath(dice) : '/v1/report';
  const bytes = bytesOf({ ...request, line: `${method} ${path} HTTP/1.1` });
  return {
    kind: 'elsewhere',
    delivery: { tls: 'yes', parts: inPieces(dice, bytes), ending: 'wait' },
    // Some of these are the right path in another spelling.
    // Who is refused in the middle of what he says may not hear it.
    outcomes: ['UnknownPath', 'MalformedRequest', 'silence', ...(method === 'POST' ? keptOrStale(sender, body) : [])],
    headOnly: method === 'HEAD',
    sender: method === 'POST' ? sender : undefined,
    report: body.report,
  };
}

function slow(dice: Dice, lane: Lane, speaker: Speaker): Draft {
  const { body, authorization } = good(dice, lane, speaker);
  return {
    kind: 'stalled',
    delivery: stalled(dice, { authorization, body: body.bytes }),
    outcomes: ['RequestTooSlow', 'silence'],
  };
}
