import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Clock } from '../../common/process/clock.ts';
import { errorFields, type Log } from '../../common/process/log.ts';
import { restOrAbort } from '../../common/process/until.ts';
import { createLineReader } from '../reports/report-lines.ts';
import type { ReportStore } from '../reports/store.ts';
import { askSecurePort } from './ask-secure-port.ts';

/** Takes the reports that the leader has into this store. Throws an Error that says why some may be missing. */
export type ReadReports = (store: ReportStore, clock: Clock) => Promise<void>;

/** How long between two readings. */
export const readPeriodMs = 10_000;
/** No report is as long; reports of 15,000 Nodes are some 20 MB. */
const longestLine = 64 * 1024;
const maxLength = 256 * 1024 * 1024;

/** Undefined without an address. Throws an OptionError for one of another machine. */
export function reportsAt(url: string, tokenFile: string): ReadReports | undefined {
  if (url === '') return undefined;
  const ask = askSecurePort('reports', url, async () => (tokenFile === '' ? '' : readFile(tokenFile, 'utf8')));
  // Its schema is compiled once, for the first reading.
  let read: ReturnType<typeof createLineReader> | undefined;
  return async (store, clock) => {
    read ??= createLineReader(clock);
    for await (const line of linesOf(await ask())) store.adopt(read(line));
  };
}

async function* linesOf(answer: Readable): AsyncIterable<string> {
  let rest = '';
  let length = 0;
  for await (const part of answer.setEncoding('utf8')) {
    const lines = `${rest}${part}`.split('\n');
    rest = lines.pop() ?? '';
    length += part.length;
    if (rest.length > longestLine || length > maxLength) throw new Error('the reports are too long');
    yield* lines;
  }
}

interface Following {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Reads again and again, and says once why it cannot. Never rejects. */
export async function followReports(
  readReports: ReadReports,
  store: ReportStore,
  { clock, log, signal }: Following,
): Promise<void> {
  let before = '';
  while (!signal.aborted) {
    let fault = '';
    await readReports(store, clock).catch((error: unknown) => {
      const fields = errorFields(error);
      fault = String(fields['error']);
      if (fault !== before) log.warn('the reports of the leader cannot be read', fields);
    });
    before = fault;
    await restOrAbort(clock, readPeriodMs, signal);
  }
}
