import type { FieldError } from '../api-error.ts';
import { invalidValue, required } from '../field-error.ts';
import { at, deepEqual, type Json, type JsonObject, numberOf, objectOf, textOf } from '../json.ts';
import { coreEventSchema, eventSchema } from '../schema/event-schema.ts';
import { type Resource, resource, type Write } from '../store/resource.ts';
import { column, since, wide } from '../view/column.ts';

/** Field names of events.k8s.io/v1 and what core/v1, the stored form, calls them. */
const renamed: [string, string][] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
];

function rename(value: JsonObject, pairs: [string, string][]): JsonObject {
  const names = new Map(pairs);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [names.get(key) ?? key, part]));
}

function fromStored(value: JsonObject): JsonObject {
  const shown = rename(
    value,
    renamed.map(([shownAs, stored]) => [stored, shownAs]),
  );
  for (const field of ['reportingController', 'reportingInstance']) if (shown[field] === '') delete shown[field];
  return shown;
}

function toStored(value: JsonObject): JsonObject {
  return { involvedObject: {}, source: {}, firstTimestamp: null, lastTimestamp: null, ...rename(value, renamed) };
}

function validateCore(value: JsonObject, write: Write): FieldError[] {
  const namespace = textOf(at(value, 'involvedObject', 'namespace'));
  const own = write.namespace;
  if (namespace === '' ? own !== 'default' : namespace !== own) {
    return [invalidValue('involvedObject.namespace', namespace, 'does not match event.namespace')];
  }
  return [];
}

const changeable = new Set(['metadata', 'series']);

function validateNew(value: JsonObject, write: Write): FieldError[] {
  const errors = validateCore(value, write);
  if (write.old) {
    const old = write.old;
    for (const key of new Set([...Object.keys(value), ...Object.keys(old)])) {
      if (changeable.has(key) || deepEqual(value[key], old[key])) continue;
      errors.push(invalidValue(key, value[key], 'field is immutable'));
    }
    return errors;
  }
  if (typeof value['eventTime'] !== 'string') errors.push(required('eventTime'));
  for (const field of ['reportingComponent', 'reportingInstance', 'action', 'reason']) {
    const asked = field === 'reportingComponent' ? 'reportingController' : field;
    // Without a time it is judged as an event of the old kind, which needs none of these.
    if (errors.length === 0 && textOf(value[field]) === '') errors.push(required(asked));
  }
  const type = textOf(value['type']);
  if (type !== 'Normal' && type !== 'Warning') errors.push(invalidValue('type', type, `has invalid value: ${type}`));
  return errors;
}

function fields(value: JsonObject): Record<string, string> {
  const selected: Record<string, string> = {
    reason: textOf(value['reason']),
    type: textOf(value['type']),
    source: textOf(at(value, 'source', 'component')) || textOf(value['reportingComponent']),
    reportingComponent: textOf(value['reportingComponent']),
  };
  for (const key of ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath']) {
    const part = textOf(at(value, 'involvedObject', key));
    selected[`involvedObject.${key}`] = part;
    selected[`regarding.${key}`] = part;
  }
  return selected;
}

function first(value: JsonObject): Json | undefined {
  return value['firstTimestamp'] ?? value['eventTime'] ?? at(value, 'metadata', 'creationTimestamp');
}

function last(value: JsonObject): Json | undefined {
  return at(value, 'series', 'lastObservedTime') ?? value['lastTimestamp'] ?? first(value);
}

function subject(value: JsonObject): string {
  const involved = objectOf(value['involvedObject']);
  return `${textOf(involved['kind']).toLowerCase()}/${textOf(involved['name'])}`;
}

const columns = [
  column('Last Seen', (value, now) => since(last(value), now)),
  column('Type', (value) => textOf(value['type'])),
  column('Reason', (value) => textOf(value['reason'])),
  column('Object', subject),
  wide('Subobject', (value) => textOf(at(value, 'involvedObject', 'fieldPath'))),
  wide('Source', (value) => {
    const parts = [textOf(at(value, 'source', 'component')), textOf(at(value, 'source', 'host'))];
    return parts.filter((part) => part !== '').join(', ') || textOf(value['reportingComponent']);
  }),
  column('Message', (value) => textOf(value['message']).trim()),
  wide('First Seen', (value, now) => since(first(value), now)),
  wide('Count', (value) => String(numberOf(at(value, 'series', 'count')) || numberOf(value['count']) || 1)),
  wide('Name', (value) => textOf(at(value, 'metadata', 'name'))),
];

const shared = {
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
  shortNames: ['ev'],
  fields,
  columns,
};

/** Events of core/v1. */
export const coreEvents: Resource = resource({
  ...shared,
  schema: coreEventSchema,
  validate: validateCore,
});

/** The same stored objects under events.k8s.io/v1, whose rules are stricter. */
export const events: Resource = resource({
  ...shared,
  group: 'events.k8s.io',
  storage: coreEvents.storage,
  schema: eventSchema,
  validate: validateNew,
  conversion: { toStored, fromStored },
});
