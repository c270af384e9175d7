import { type JsonObject, objectOf } from '../json.ts';
import { groupVersion, type Resource } from '../store/resource.ts';
import type { Stored } from '../store/store.ts';
import type { View } from './view.ts';

/** Head of the table that `kubectl get` prints. */
export function columnDefinitions(resource: Resource): JsonObject[] {
  return resource.columns.map(({ name, type, format, priority }) => ({
    name,
    type,
    format,
    description: '',
    priority,
  }));
}

/** One row: cells, and what the client asked to have of the object itself. */
export function tableRow(resource: Resource, stored: Stored, view: View, now: number): JsonObject {
  const cells = resource.columns.map((column) => column.cell(stored.value, now));
  if (view.include === 'None') return { cells };
  if (view.include === 'Metadata') {
    const metadata = objectOf(stored.value['metadata']);
    return { cells, object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata } };
  }
  const value = resource.conversion ? resource.conversion.fromStored(stored.value) : stored.value;
  return { cells, object: { kind: resource.kind, apiVersion: groupVersion(resource), ...value } };
}
