import { names } from '../../../common/well-known.ts';
import type { KubeApi } from '../../kube/api.ts';
import { pathOf, type ShippedObject } from '../../kube/shipped-objects.ts';

/** The ConfigMap for agents, and its version. */
export interface Published {
  /** The bundle; empty when there is none. */
  readonly ca: string;
  readonly urls: string;
  readonly resourceVersion: string;
}

interface ConfigMapObject {
  readonly metadata: { readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
}

function publishedBy({ metadata, data = {} }: ConfigMapObject): Published {
  const { resourceVersion } = metadata;
  return { ca: data[names.caKey] ?? '', urls: data[names.controllerUrlsKey] ?? '', resourceVersion };
}

/** @throws KubeError */
export async function readPublished(api: KubeApi, object: ShippedObject): Promise<Published> {
  return publishedBy(await api.call<ConfigMapObject>({ verb: 'get', path: pathOf(object) }));
}

/**
 * Writes the given keys and leaves the others. Guarded by the version that was read. Safe to repeat.
 * @throws KubeError, a conflict after a concurrent write
 */
export async function publish(
  api: KubeApi,
  object: ShippedObject,
  before: Published,
  change: { readonly ca?: string; readonly urls?: string },
): Promise<Published> {
  const data = {
    ...(change.ca === undefined ? {} : { [names.caKey]: change.ca }),
    ...(change.urls === undefined ? {} : { [names.controllerUrlsKey]: change.urls }),
  };
  const body = { metadata: { resourceVersion: before.resourceVersion }, data };
  return publishedBy(await api.call<ConfigMapObject>({ verb: 'patch', patch: 'merge', path: pathOf(object), body }));
}
