import { objectReference, topLevel } from './meta-schema.ts';
import { always, int32, microtime, object, pointer, string, time } from './schema.ts';

const source = object('EventSource', { component: string, host: string });
const series = object('EventSeries', { count: int32, lastObservedTime: microtime });

/** Events as core/v1 has them, which is how they are stored. */
export const coreEventSchema = topLevel('Event', {
  involvedObject: always(objectReference),
  reason: string,
  message: string,
  source: always(source),
  firstTimestamp: { ...time, presence: 'always' },
  lastTimestamp: { ...time, presence: 'always' },
  count: int32,
  type: string,
  eventTime: { ...microtime, presence: 'always' },
  series: pointer(series),
  action: string,
  related: pointer(objectReference),
  reportingComponent: always(string),
  reportingInstance: always(string),
});

/** The same as events.k8s.io/v1 has them. */
export const eventSchema = topLevel('Event', {
  eventTime: { ...microtime, presence: 'always' },
  series: pointer(series),
  reportingController: string,
  reportingInstance: string,
  action: string,
  reason: string,
  regarding: pointer(objectReference),
  related: pointer(objectReference),
  note: string,
  type: string,
  deprecatedSource: pointer(source),
  deprecatedFirstTimestamp: { ...time, presence: 'always' },
  deprecatedLastTimestamp: { ...time, presence: 'always' },
  deprecatedCount: int32,
});

export const leaseSchema = topLevel('Lease', {
  spec: always(
    object('LeaseSpec', {
      holderIdentity: pointer(string),
      leaseDurationSeconds: pointer(int32),
      acquireTime: microtime,
      renewTime: microtime,
      leaseTransitions: pointer(int32),
    }),
  ),
});
