import type { Log } from '../../common/process/log.ts';
import { names } from '../../common/well-known.ts';
import { isNotFound, KubeError } from './api.ts';

/**
 * An object that the manifests ship empty and the controller fills. The controller has no permission to create it:
 * permission to create Secrets would include bootstrap tokens, and for ConfigMaps `aws-auth`.
 */
export interface ShippedObject {
  readonly kind: 'Secret' | 'ConfigMap';
  readonly namespace: string;
  readonly name: string;
}

/** @param namespace that Mooring is installed in */
export function shippedObjectsIn(namespace: string) {
  return {
    certificates: { kind: 'Secret', namespace, name: names.certificates },
    published: { kind: 'ConfigMap', namespace, name: names.certificates },
    routeRecords: { kind: 'ConfigMap', namespace, name: names.routeRecords },
  } as const satisfies Record<string, ShippedObject>;
}

/** As RBAC and paths name it. */
export function resourceOf({ kind }: ShippedObject): string {
  return kind === 'Secret' ? 'secrets' : 'configmaps';
}

export function pathOf(object: ShippedObject): string {
  return `/api/v1/namespaces/${object.namespace}/${resourceOf(object)}/${object.name}`;
}

/** The command that creates it again, empty. Applying the manifests does the same. */
export function restoreCommand({ kind, namespace, name }: ShippedObject): string {
  const type = kind === 'Secret' ? 'secret generic' : 'configmap';
  return `kubectl -n ${namespace} create ${type} ${name}`;
}

/** Reports missing shipped objects: changes in the log, and the state in a metric. */
export interface ShippedObjects {
  readonly objects: ReturnType<typeof shippedObjectsIn>;
  /** Runs a read or write of the object. @throws KubeError, with the command that restores a missing object */
  use<R>(object: ShippedObject, call: () => Promise<R>): Promise<R>;
  observe(object: ShippedObject, present: boolean): void;
}

export interface ShippedObjectsReport {
  readonly log: Log;
  readonly missing: { set(labels: { readonly kind: string; readonly name: string }, value: number): void };
}

/**
 * @param namespace that Mooring is installed in
 * @param report undefined: report by errors only, for commands that run once
 */
export function createShippedObjects(namespace: string, report?: ShippedObjectsReport): ShippedObjects {
  const missing = new Set<ShippedObject>();

  function observe(object: ShippedObject, present: boolean): void {
    const { kind, name } = object;
    report?.missing.set({ kind, name }, present ? 0 : 1);
    if (present === !missing.has(object)) return;
    if (present) missing.delete(object);
    else missing.add(object);
    if (present) report?.log.info('an object of the manifests has been restored', { ...object });
    else report?.log.error('an object of the manifests is missing', { ...object, restore: restoreCommand(object) });
  }

  return {
    objects: shippedObjectsIn(namespace),
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
  const { kind, namespace, name } = object;
  const remedy = `apply the manifests, or run "${restoreCommand(object)}"`;
  const message = `${kind} ${name} is missing in ${namespace}, and the controller may not create it: ${remedy}`;
  return new KubeError({ status: 404, reason: 'NotFound', message, cause });
}
