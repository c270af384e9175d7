import type { Clock } from '../../common/process/clock.ts';
import type { Log, LogFields } from '../../common/process/log.ts';

/** Logs refused reports, up to `burst` a minute. The next minute's first line has the number of omitted ones. */
export function createRefusalLog(log: Log, clock: Clock, burst = 60): (fields: LogFields) => void {
  let windowEnds = Number.NEGATIVE_INFINITY;
  let written = 0;
  let leftOut = 0;
  return (fields) => {
    const now = clock.monotonic();
    if (now >= windowEnds) {
      if (leftOut > 0) log.warn('refused reports were not logged', { count: leftOut });
      windowEnds = now + 60_000;
      written = 0;
      leftOut = 0;
    }
    if (written >= burst) {
      leftOut += 1;
      return;
    }
    written += 1;
    log.warn('refused a report', fields);
  };
}
