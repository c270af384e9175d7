import type { Clock } from '../../../common/process/clock.ts';
import type { Log, LogFields } from '../../../common/process/log.ts';
import { visibleLine } from '../../../common/visible-text.ts';
import type { CloudContext } from '../../clouds/cloud.ts';

/** Lines of the log that one module may write a minute. */
export const linesAMinute = 120;
const minuteMs = 60_000;
const shownLength = 500;
/** Names of operations in the metrics of one module. */
const operationsAtMost = 200;

/** What a module gets of this process: it cannot change what others get, and neither log nor metrics grow with it. */
export function moduleContext(name: string, context: CloudContext): CloudContext {
  const operations = new Set<string>();
  const nameOf = (operation: unknown): string => {
    const text = visibleLine(String(operation), 64);
    if (!operations.has(text) && operations.size >= operationsAtMost) return 'other';
    operations.add(text);
    return text;
  };
  const seconds = (value: unknown) => (typeof value === 'number' && value >= 0 ? value : 0);
  return {
    ...context,
    env: { ...context.env },
    log: boundedLog(context.log.with({ cloud: name }), context.clock),
    onCall: (call) =>
      context.onCall({
        cloud: name,
        operation: nameOf(call.operation),
        code: visibleLine(String(call.code), 32),
        seconds: seconds(call.seconds),
      }),
    onWait: (wait) => context.onWait?.({ ...wait, cloud: name, seconds: seconds(wait.seconds) }),
  };
}

/** What is left out is counted, and said with the next line. Never throws. */
function boundedLog(log: Log, clock: Clock): Log {
  let [sinceMs, lines, leftOut] = [Number.NEGATIVE_INFINITY, 0, 0];
  function write(level: 'debug' | 'info' | 'warn' | 'error', message: unknown, fields: LogFields | undefined): void {
    const nowMs = clock.monotonic();
    if (nowMs - sinceMs >= minuteMs) {
      [sinceMs, lines] = [nowMs, 0];
      if (leftOut > 0) log.warn('the module wrote too much: lines are left out', { lines: leftOut });
      leftOut = 0;
    }
    lines += 1;
    if (lines > linesAMinute) {
      leftOut += 1;
      return;
    }
    try {
      log[level](visibleLine(String(message), shownLength), fields && textsOf(fields));
    } catch {
      log.warn('the module wrote a line that has no text');
    }
  }
  const bounded = (more: LogFields): Log => ({
    debug: (message, fields) => write('debug', message, { ...more, ...fields }),
    info: (message, fields) => write('info', message, { ...more, ...fields }),
    warn: (message, fields) => write('warn', message, { ...more, ...fields }),
    error: (message, fields) => write('error', message, { ...more, ...fields }),
    with: (fields) => bounded({ ...more, ...fields }),
  });
  return bounded({});
}

function textsOf(fields: LogFields): LogFields {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => {
      const isPlain = typeof value === 'number' || typeof value === 'boolean' || value === undefined;
      const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
      return [key, isPlain ? value : visibleLine(text, shownLength)];
    }),
  );
}
