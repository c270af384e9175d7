import { names } from '../../common/well-known.ts';
import { issueAuthority, issueServing } from '../../controller/reports/certificates/ca.ts';
import { type Outcome, readAnswer } from './answers.ts';
import { type Case, makeCase } from './cases.ts';
import { startCluster } from './cluster.ts';
import { createLane, type Lane } from './lane.ts';
import { createLedger } from './ledger.ts';
import { faultInLine } from './log-lines.ts';
import { type MemorySample, memoryTrend, type Trend } from './memory-trend.ts';
import { createReaders } from './readers.ts';
import { readSecureAnswer } from './secure-answers.ts';
import { startTarget } from './target.ts';
import { createWire } from './wire.ts';

export interface RunOptions {
  readonly seed: number;
  /** Goes on until this many cases are done, */
  readonly cases: number;
  /** or so much time has passed. */
  readonly milliseconds: number;
  /** Only this one. */
  readonly only?: number | undefined;
  progress(line: string): void;
}

export interface Fault {
  readonly number: number | undefined;
  readonly what: string;
  readonly kind: string;
  /** What was sent and what came back, fit to be printed. */
  readonly sent: string;
  readonly heard: string;
}

export interface RunResult {
  readonly cases: number;
  readonly outcomes: ReadonlyMap<Outcome, number>;
  readonly faults: readonly Fault[];
  readonly trend: Trend;
  readonly mostSockets: number;
  readonly seconds: number;
}

const lanes = 12;
const batch = 2000;
/** The listening sockets, those to the API server, and the pipe to the parent. */
const idleSockets = 60;
const mostFaults = 20;
/** Of all cases, those that may come to RequestTooSlow though they were sent whole and at once. */
const mostLate = 0.02;
/** What a long run must have met with at least once; otherwise it proves little. */
const reachable: readonly Outcome[] = [
  'kept',
  'stale',
  'MalformedRequest',
  'NotJson',
  'TokenMissing',
  'TokenInvalid',
  'ForeignServiceAccount',
  'BindingIncomplete',
  'NodeUidMissing',
  'NodeUnknown',
  'NodeReplaced',
  'UnknownPath',
  'RequestTooSlow',
  'ReportTooLarge',
  'NotJsonType',
  'InvalidReport',
  'HeadersTooLarge',
  'NotLeader',
  'NoLeader',
  'secure 200',
  'secure 401',
  'secure 403',
  'secure 404',
  'secure 405',
];
const longRun = 20_000;
/** Only this fast do the cases that prove nothing come to the shipped limit of an address. */
const limitedPerSecond = 300;

export async function run(options: RunOptions): Promise<RunResult> {
  const started = performance.now();
  const cluster = await startCluster();
  const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 7 * 86_400_000 };
  const authority = await issueAuthority(validity);
  const credentials = await issueServing(authority, [names.serverName], validity);
  const { url: apiUrl, caPem: apiCa, adminToken: apiToken } = cluster.server;
  const target = await startTarget({ apiUrl, apiCa, apiToken, credentials });
  const wire = createWire(authority.cert);
  const own: Lane[] = Array.from({ length: lanes }, (_, index) => createLane(cluster, index));
  const surroundings = {
    others: Array.from({ length: lanes }, (_, index) => `i-of-fuzz-${index}-a`),
    readers: createReaders(cluster),
  };
  const ledger = createLedger();
  const outcomes = new Map<Outcome, number>();
  const faults: Fault[] = [];
  const samples: MemorySample[] = [];
  let mostSockets = 0;
  let done = 0;
  let late = 0;

  function blame(one: Case | undefined, what: string, heard: Buffer = Buffer.alloc(0)): void {
    const sent = one === undefined ? '' : printable(Buffer.concat(one.delivery.parts));
    faults.push({ number: one?.number, what, kind: one?.kind ?? 'the run', sent, heard: printable(heard) });
  }

  async function attack(one: Case): Promise<void> {
    const heard = await wire.send(target.ports[one.door], one.delivery);
    const death = target.death();
    if (death !== undefined) return blame(one, death);
    // It may be sent in pieces of a few bytes.
    const headOnly = one.headOnly || Buffer.concat(one.delivery.parts).subarray(0, 5).toString() === 'HEAD ';
    const alert = one.delivery.tls === 'plain' && heard.bytes[0] === 0x15;
    const read = one.door === 'secure' ? readSecureAnswer : readAnswer;
    const reading = read(alert ? { ...heard, bytes: Buffer.alloc(0) } : heard, { headOnly });
    done += 1;
    if ('fault' in reading) return blame(one, reading.fault, heard.bytes);
    const { outcome } = reading;
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    const unheard = outcome === 'silence' && one.delivery.ending === 'vanish';
    if (one.outcomes.has(outcome) || unheard) ledger.note(one, outcome);
    // On a busy machine the short limits of the open door are soon reached by a request that waits.
    else if (outcome === 'RequestTooSlow' && one.door !== 'shipped') late += 1;
    else {
      blame(one, `${outcome}, expected ${[...one.outcomes].join(' or ')}`, heard.bytes);
      ledger.note(one, outcome);
    }
  }

  async function drive(lane: number, from: number, to: number): Promise<void> {
    for (let number = from; number < to; number += 1) {
      if (number % lanes !== lane || faults.length >= mostFaults) continue;
      const one = makeCase(options.seed, number, own[lane] as Lane, surroundings);
      if (options.only === undefined || options.only === number) await attack(one);
    }
  }

  /** Between batches nothing is under way: everything the server did must be accounted for. */
  async function checkpoint(cases: number): Promise<void> {
    const idle = await settledSockets();
    mostSockets = Math.max(mostSockets, idle);
    if (idle > idleSockets) blame(undefined, `${idle} sockets are open without a request`);
    const account = await target.account();
    for (const line of account.lines) {
      const wrong = faultInLine(line);
      if (wrong !== undefined) blame(undefined, `${wrong}: ${line.slice(0, 300)}`);
    }
    for (const { one, what } of ledger.settle(account.kept)) blame(one, what);
    if (account.stored > lanes * 4) blame(undefined, `${account.stored} nodes in the store`);
    samples.push({ cases, rss: account.rss, held: account.heapUsed + account.external });
  }

  async function settledSockets(): Promise<number> {
    let count = await target.sockets();
    for (let tries = 0; count > idleSockets && tries < 40; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      count = await target.sockets();
    }
    return count;
  }

  try {
    const last = options.only === undefined ? options.cases : options.only + 1;
    for (let from = 0; from < last && faults.length < mostFaults; from += batch) {
      if (performance.now() - started > options.milliseconds) break;
      const to = Math.min(from + batch, last);
      await Promise.all(own.map((_, lane) => drive(lane, from, to)));
      if (target.death() !== undefined) break;
      await checkpoint(to);
      if (to % 10_000 === 0) {
        const rate = Math.round(to / ((performance.now() - started) / 1000));
        options.progress(`${to} cases, ${rate} a second, ${Math.round((samples.at(-1)?.rss ?? 0) / 2 ** 20)} MiB`);
      }
    }
  } finally {
    await target.stop();
    await cluster.stop();
  }
  const trend = memoryTrend(samples);
  if (trend.fault !== undefined) blame(undefined, trend.fault);
  if (late > done * mostLate) blame(undefined, `${late} whole requests came to RequestTooSlow`);
  if (done >= longRun && faults.length === 0) {
    const fast = done / ((performance.now() - started) / 1000) > limitedPerSecond;
    for (const code of fast ? [...reachable, 'AddressRateLimited' as const] : reachable)
      if (!outcomes.has(code)) blame(undefined, `${code} never came: the cases are too tame`);
  }
  return { cases: done, outcomes, faults, trend, mostSockets, seconds: (performance.now() - started) / 1000 };
}

/** Tokens are those of the run's own cluster, and long. */
function printable(bytes: Buffer): string {
  return bytes.length === 0
    ? ''
    : JSON.stringify(bytes.toString('latin1').replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<token>')).slice(0, 3000);
}
