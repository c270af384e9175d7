import type { FieldError } from '../api-error.ts';
import { invalidValue } from '../field-error.ts';
import { at, type JsonObject, textOf } from '../json.ts';
import { leaseSchema } from '../schema/event-schema.ts';
import { type Resource, resource } from '../store/resource.ts';
import { column, since } from '../view/column.ts';

function validate(value: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const duration = at(value, 'spec', 'leaseDurationSeconds');
  if (typeof duration === 'number' && duration <= 0) {
    errors.push(invalidValue('spec.leaseDurationSeconds', duration, 'must be greater than 0'));
  }
  const transitions = at(value, 'spec', 'leaseTransitions');
  if (typeof transitions === 'number' && transitions < 0) {
    errors.push(invalidValue('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
  }
  return errors;
}

/** PUT creates an absent Lease, also with a resourceVersion in the body. */
export const leases: Resource = resource({
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
  schema: leaseSchema,
  createOnUpdate: true,
  validate,
  columns: [
    column('Name', (value) => at(value, 'metadata', 'name') ?? ''),
    column('Holder', (value) => textOf(at(value, 'spec', 'holderIdentity'))),
    column('Age', (value, now) => since(at(value, 'metadata', 'creationTimestamp'), now)),
  ],
});
