import {
  always,
  any,
  bool,
  int64,
  keyed,
  list,
  map,
  type ObjectSchema,
  object,
  open,
  pointer,
  type Schema,
  set,
  string,
  time,
} from './schema.ts';

export const ownerReference = object('OwnerReference', {
  apiVersion: always(string),
  kind: always(string),
  name: always(string),
  uid: always(string),
  controller: pointer(bool),
  blockOwnerDeletion: pointer(bool),
});

export const objectMeta = object('ObjectMeta', {
  name: string,
  generateName: string,
  namespace: string,
  selfLink: string,
  uid: string,
  resourceVersion: string,
  generation: int64,
  creationTimestamp: time,
  deletionTimestamp: time,
  deletionGracePeriodSeconds: pointer(int64),
  labels: map(string),
  annotations: map(string),
  ownerReferences: keyed('uid', ownerReference),
  finalizers: set(string),
  managedFields: list(any),
});

/** `metav1.Condition`. */
export const metaCondition = object('Condition', {
  type: always(string),
  status: always(string),
  observedGeneration: int64,
  lastTransitionTime: always(time),
  reason: always(string),
  message: always(string),
});

/** The older condition types of each kind, which differ in their stamps; those named are always written. */
export function condition(...stamps: string[]): ObjectSchema {
  return object('Condition', {
    type: always(string),
    observedGeneration: int64,
    status: always(string),
    ...Object.fromEntries([...stamps, 'lastTransitionTime'].map((stamp) => [stamp, always(time)])),
    reason: string,
    message: string,
  });
}

export const objectReference = object('ObjectReference', {
  kind: string,
  namespace: string,
  name: string,
  uid: string,
  apiVersion: string,
  resourceVersion: string,
  fieldPath: string,
});

export const labelSelector = open('LabelSelector', { matchLabels: map(string) });

/** A whole object: kind and apiVersion are taken off before it is stored, so the schema has neither. */
export function topLevel(kind: string, fields: Record<string, Schema>): ObjectSchema {
  return object(kind, { metadata: always(objectMeta), ...fields });
}

/** A kind whose body is of no interest here beyond its metadata. */
export function plain(kind: string, fields: Record<string, Schema> = {}): ObjectSchema {
  return open(kind, { metadata: always(objectMeta), ...fields });
}
