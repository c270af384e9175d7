import { defineMetrics, type MetricRegistry } from '../../common/process/metrics.ts';
import type { RefusalCode } from './refusal.ts';
import type { ReviewOutcome } from './sender-identity.ts';

/** The outcome of one request to the report API. */
export type ReportOutcome = 'kept' | 'stale' | RefusalCode;

export const reportMetrics = defineMetrics({
  reports: {
    name: 'mooring_reports_total',
    type: 'counter',
    help: 'Reports by outcome: kept, stale, or the code of the refusal.',
    labels: ['outcome'],
  },
  handling: {
    name: 'mooring_report_handling_seconds',
    type: 'histogram',
    help:
      'Time from the headers of a report to its answer, including the rest of its body and the review of its ' +
      'token.',
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
  },
  reviews: {
    name: 'mooring_token_reviews_total',
    type: 'counter',
    help:
      'Reviews of senders by outcome: proved, refused, unavailable, cached (no call was made) or busy (too ' +
      'many waited).',
    labels: ['outcome'],
  },
});

export interface ReportMetrics {
  report(outcome: ReportOutcome, seconds: number): void;
  review(outcome: ReviewOutcome): void;
}

/** Registers the report API's metrics. Once per registry. */
export function createReportMetrics(registry: MetricRegistry): ReportMetrics {
  const metrics = registry.define(reportMetrics);
  return {
    report(outcome, seconds) {
      metrics.reports.add({ outcome });
      metrics.handling.observe(seconds);
    },
    review: (outcome) => metrics.reviews.add({ outcome }),
  };
}
