import type { Log } from '../../common/process/log.ts';
import { names } from '../../common/well-known.ts';
import { isNotFound, KubeError } from './api.ts';

/**
 * An object that the manifests ship empty and the controller fills. The controller has no permission to create it:
 * permission to create Secrets would include bootstrap tokens, and for ConfigMaps `aws-auth`.
 */
export interface ShippedObject {
  readonly kind: 'Secret' | 'ConfigMap';
  readonly name: string;
}

export const shippedObjects = {
  certificates: { kind: 'Secret', name: names.certificates },
  published: { kind: 'ConfigMap', name: names.certificates },
  routeRecords: { kind: 'ConfigMap', name: names.routeRecords },
} as const satisfies Record<string, ShippedObject>;

/** The command that creates it again, empty. Applying the manifests does the same. */
export function restoreCommand({ kind, name }: ShippedObject): string {
  const type = kind === 'Secret' ? 'secret generic' : 'configmap';
  return `kubectl -n ${names.namespace} create ${type} ${name}`;
}

/** Reports missing shipped objects: changes in the log, and the state in a metric. */
export interface ShippedObjects {
  /** Runs a read or write of the object. @throws KubeError, with the command that restores a missing object */
  use<R>(object: ShippedObject, call: () => Promise<R>): Promise<R>;
  observe(object: ShippedObject, present: boolean): void;
}

export interface ShippedObjectsOptions {
  readonly log: Log;
  readonly missing: { set(labels: { readonly kind: string; readonly name: string }, value: number): void };
}

/** @param options undefined: report by errors only, for commands that run once */
export function createShippedObjects(options?: ShippedObjectsOptions): ShippedObjects {
  const missing = new Set<ShippedObject>();

  function observe(object: ShippedObject, present: boolean): void {
    options?.missing.set({ ...object }, present ? 0 : 1);
    if (present === !missing.has(object)) return;
    if (present) missing.delete(object);
    else missing.add(object);
    const fields = { kind: object.kind, name: object.name, namespace: names.namespace };
    if (present) options?.log.info('an object of the manifests has been restored', fields);
    else options?.log.error('an object of the manifests is missing', { ...fields, restore: restoreCommand(object) });
  }

  return {
    observe,
    async use(object, call) {
      try {
        const result = await call();
        observe(object, true);
        return result;
      } catch (error) {
        if (!isNotFound(error)) throw error;
        observe(object, false);
        throw missingObject(object, error);
      }
    },
  };
}

function missingObject(object: ShippedObject, cause: unknown): KubeError {
  const { kind, name } = object;
  const remedy = `apply the manifests, or run "${restoreCommand(object)}"`;
  const message = `${kind} ${name} is missing in ${names.namespace}, and the controller may not create it: ${remedy}`;
  return new KubeError({ status: 404, reason: 'NotFound', message, cause });
}
