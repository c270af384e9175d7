import { forbidden } from '../api-error.ts';
import { at, type JsonObject, objectOf, textOf } from '../json.ts';
import { namespaceSchema } from '../schema/node-schema.ts';
import { type Resource, resource, type Write } from '../store/resource.ts';
import { column, since } from '../view/column.ts';

function prepare(value: JsonObject, write: Write): JsonObject {
  const metadata = objectOf(value['metadata']);
  const name = textOf(metadata['name']);
  const labels = { ...objectOf(metadata['labels']), 'kubernetes.io/metadata.name': name };
  const labelled = { ...value, metadata: { ...metadata, labels } };
  if (!write.old) return { ...labelled, spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } };
  if (write.subresource === 'finalize') return labelled;
  return { ...labelled, spec: write.old['spec'] ?? {} };
}

/** Namespaces stay Terminating until a client removes `kubernetes` from `spec.finalizers` through `/finalize`. */
export const namespaces: Resource = resource({
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
  shortNames: ['ns'],
  schema: namespaceSchema,
  subresources: ['status', 'finalize'],
  returnsDeleted: true,
  nameRule: 'label',
  prepare,
  fields: (value) => ({ 'status.phase': textOf(at(value, 'status', 'phase')) }),
  columns: [
    column('Name', (value) => at(value, 'metadata', 'name') ?? ''),
    column('Status', (value) => at(value, 'status', 'phase') ?? ''),
    column('Age', (value, now) => since(at(value, 'metadata', 'creationTimestamp'), now)),
  ],
});

const undeletable = new Set(['default', 'kube-system', 'kube-public']);

/** Throws 403 for the namespaces a cluster cannot be without. */
export function refuseDeletion(name: string): void {
  if (undeletable.has(name)) throw forbidden(namespaces, name, 'this namespace may not be deleted');
}
