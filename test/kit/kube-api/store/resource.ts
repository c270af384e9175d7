import type { Clock } from '../../../../common/process/clock.ts';
import type { Random } from '../../../../common/process/random.ts';
import type { FieldError } from '../api-error.ts';
import type { JsonObject } from '../json.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import type { Column } from '../view/column.ts';
import type { Store, Stored } from './store.ts';

/** What a kind's rules may ask of the server they run in. */
export interface World {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** A new version 4 UUID. */
  readonly uuid: () => string;
}

/** One write as a kind's rules see it. */
export interface Write {
  readonly world: World;
  readonly namespace: string;
  /** Undefined on create. */
  readonly old: JsonObject | undefined;
  readonly subresource: string;
}

/** Another shape of the same stored object (events have two). */
export interface Conversion {
  readonly toStored: (value: JsonObject) => JsonObject;
  readonly fromStored: (value: JsonObject) => JsonObject;
}

/** Everything the server knows of one resource. Functions here never do I/O and never change their arguments. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly schema: ObjectSchema;
  /** Name of the collection that holds the objects. */
  readonly storage: string;
  readonly subresources: readonly string[];
  /** `metadata.generation` counts changes of the spec. */
  readonly generation: boolean;
  /** PUT of an absent object creates it. */
  readonly createOnUpdate: boolean;
  /** DELETE answers with the object, not with a Status. */
  readonly returnsDeleted: boolean;
  /** Writes use up this many revisions of the server's own, when objects come and go. */
  readonly bookkeeping: number;
  readonly nameRule: 'subdomain' | 'label' | 'path';
  /** Names end in 63 characters at most. */
  readonly fields: (value: JsonObject) => Record<string, string>;
  readonly columns: readonly Column[];
  /** Defaults, allocations and what clients may not set; runs before validation. */
  readonly prepare: (value: JsonObject, write: Write) => JsonObject;
  readonly validate: (value: JsonObject, write: Write) => FieldError[];
  /** Refusals that are no validation: admission. Throws ApiError. */
  readonly admit: (value: JsonObject, write: Write) => void;
  /** Told after each write that was stored; `value` undefined = gone. */
  readonly settled: (value: Stored | undefined, old: Stored | undefined, world: World) => void;
  readonly conversion: Conversion | undefined;
}

type Given = Pick<Resource, 'version' | 'plural' | 'kind' | 'namespaced' | 'schema'> & Partial<Resource>;

/** Fills in what most resources share. */
export function resource(given: Given): Resource {
  const group = given.group ?? '';
  return {
    singular: given.kind.toLowerCase(),
    shortNames: [],
    categories: [],
    storage: group === '' ? given.plural : `${group}/${given.plural}`,
    subresources: [],
    generation: false,
    createOnUpdate: false,
    returnsDeleted: false,
    bookkeeping: 0,
    nameRule: 'subdomain',
    fields: () => ({}),
    columns: [],
    prepare: (value) => value,
    validate: () => [],
    admit: () => {},
    settled: () => {},
    conversion: undefined,
    ...given,
    group,
  };
}

/** `v1`, `coordination.k8s.io/v1`. */
export function groupVersion(of: { group: string; version: string }): string {
  return of.group === '' ? of.version : `${of.group}/${of.version}`;
}
