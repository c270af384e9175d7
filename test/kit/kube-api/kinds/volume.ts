import type { FieldError } from '../api-error.ts';
import { forbiddenField, invalidValue } from '../field-error.ts';
import { at, deepEqual, type JsonObject, listOf, objectOf, textOf } from '../json.ts';
import { persistentVolumeClaimSchema, persistentVolumeSchema } from '../schema/core-schema.ts';
import { type Resource, resource, type Write } from '../store/resource.ts';
import { column, since, wide } from '../view/column.ts';

/** Admission protects volumes in use; nothing here removes the finalizer. */
function protect(value: JsonObject, finalizer: string, defaults: JsonObject): JsonObject {
  const metadata = objectOf(value['metadata']);
  const finalizers = listOf(metadata['finalizers']);
  const all = finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer];
  const spec = { ...defaults, ...objectOf(value['spec']) };
  return { ...value, metadata: { ...metadata, finalizers: all }, spec, status: { phase: 'Pending' } };
}

const modes: Record<string, string> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

function access(value: JsonObject): string {
  return listOf(at(value, 'spec', 'accessModes'))
    .map((mode) => modes[textOf(mode)] ?? textOf(mode))
    .join(',');
}

function state(value: JsonObject): string {
  return at(value, 'metadata', 'deletionTimestamp') === undefined
    ? textOf(at(value, 'status', 'phase'))
    : 'Terminating';
}

function claim(value: JsonObject): string {
  const reference = objectOf(at(value, 'spec', 'claimRef'));
  return reference['name'] === undefined ? '' : `${textOf(reference['namespace'])}/${textOf(reference['name'])}`;
}

const name = column('Name', (value) => at(value, 'metadata', 'name') ?? '');
const age = column('Age', (value, now) => since(at(value, 'metadata', 'creationTimestamp'), now));
const mode = wide('VolumeMode', (value) => textOf(at(value, 'spec', 'volumeMode')) || '<unset>');
const attributes = column('VolumeAttributesClass', (value) => {
  return textOf(at(value, 'spec', 'volumeAttributesClassName')) || '<unset>';
});

/** The source never changes; the node affinity is set once. */
function validateVolume(value: JsonObject, write: Write): FieldError[] {
  if (!write.old) return [];
  const before = at(write.old, 'spec', 'nodeAffinity');
  const errors: FieldError[] = [];
  if (before !== undefined && !deepEqual(before, at(value, 'spec', 'nodeAffinity'))) {
    errors.push(invalidValue('spec.nodeAffinity', at(value, 'spec', 'nodeAffinity'), 'field is immutable'));
  }
  if (!deepEqual(at(write.old, 'spec', 'csi'), at(value, 'spec', 'csi'))) {
    errors.push(
      forbiddenField('spec.persistentvolumesource', 'spec.persistentvolumesource is immutable after creation'),
    );
  }
  return errors;
}

export const persistentVolumes: Resource = resource({
  version: 'v1',
  plural: 'persistentvolumes',
  kind: 'PersistentVolume',
  namespaced: false,
  shortNames: ['pv'],
  schema: persistentVolumeSchema,
  subresources: ['status'],
  returnsDeleted: true,
  validate: validateVolume,
  prepare: (value, write: Write) => {
    const defaults = { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' };
    return write.old ? value : protect(value, 'kubernetes.io/pv-protection', defaults);
  },
  columns: [
    name,
    column('Capacity', (value) => textOf(at(value, 'spec', 'capacity', 'storage'))),
    column('Access Modes', access),
    column('Reclaim Policy', (value) => textOf(at(value, 'spec', 'persistentVolumeReclaimPolicy'))),
    column('Status', state),
    column('Claim', claim),
    column('StorageClass', (value) => textOf(at(value, 'spec', 'storageClassName'))),
    attributes,
    column('Reason', (value) => textOf(at(value, 'status', 'reason'))),
    age,
    mode,
  ],
});

export const persistentVolumeClaims: Resource = resource({
  version: 'v1',
  plural: 'persistentvolumeclaims',
  kind: 'PersistentVolumeClaim',
  namespaced: true,
  shortNames: ['pvc'],
  schema: persistentVolumeClaimSchema,
  subresources: ['status'],
  returnsDeleted: true,
  prepare: (value, write: Write) =>
    write.old ? value : protect(value, 'kubernetes.io/pvc-protection', { volumeMode: 'Filesystem' }),
  columns: [
    name,
    column('Status', state),
    column('Volume', (value) => textOf(at(value, 'spec', 'volumeName'))),
    column('Capacity', (value) => textOf(at(value, 'status', 'capacity', 'storage'))),
    column('Access Modes', access),
    column('StorageClass', (value) => textOf(at(value, 'spec', 'storageClassName'))),
    attributes,
    age,
    mode,
  ],
});
