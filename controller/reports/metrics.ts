import { Counter, Histogram, type Registry } from 'prom-client';
import type { ReviewOutcome } from './identity.ts';
import type { RefusalCode } from './refusal.ts';

/** How one request to the report API ended. */
export type ReportOutcome = 'kept' | 'stale' | RefusalCode;

export interface ReportMetrics {
  report(outcome: ReportOutcome, seconds: number): void;
  review(outcome: ReviewOutcome): void;
}

/** Registers the report API's metrics. Call once per registry. */
export function createReportMetrics(registry: Registry): ReportMetrics {
  const registers = [registry];
  const reports = new Counter({
    name: 'mooring_reports_total',
    help: 'Reports by how they ended: kept, stale, or the code of the refusal.',
    labelNames: ['outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'mooring_report_handling_seconds',
    help: 'Time from the arrival of a whole report to its answer, reviews of tokens included.',
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers,
  });
  const reviews = new Counter({
    name: 'mooring_token_reviews_total',
    help: 'Senders looked up by how it ended: proved, refused, unavailable, cached (no call was made) or busy (turned away).',
    labelNames: ['outcome'],
    registers,
  });
  return {
    report(outcome, took) {
      reports.inc({ outcome });
      seconds.observe(took);
    },
    review: (outcome) => reviews.inc({ outcome }),
  };
}

/** Counts nothing. */
export const noReportMetrics: ReportMetrics = { report: () => {}, review: () => {} };
