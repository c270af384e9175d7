import { defineMetrics } from '../../../common/process/metrics.ts';

/** The first two have upstream's names; unlike there, successful requests count too. */
export const webhookMetrics = defineMetrics({
  requests: {
    name: 'cloud_provider_webhook_request_total',
    type: 'counter',
    help: 'Requests to a webhook, by HTTP status; one that refuses the object is answered with 200.',
    labels: ['code', 'webhook'],
  },
  seconds: {
    name: 'cloud_provider_webhook_request_duration_seconds',
    type: 'histogram',
    help: 'Seconds a request to a webhook took.',
    labels: ['code', 'webhook'],
    buckets: [0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10],
  },
  refused: {
    name: 'mooring_webhook_refused_total',
    type: 'counter',
    help: 'Objects that a webhook has refused, by the HTTP status that their client gets.',
    labels: ['code', 'webhook'],
  },
  untrusted: {
    name: 'mooring_webhook_untrusted_total',
    type: 'counter',
    help: 'Connections that a client has ended because it does not trust the certificate of the webhooks.',
  },
  up: {
    name: 'mooring_webhook_up',
    type: 'gauge',
    help: '1 while this replica takes requests to its webhooks.',
  },
});
