import type { KubeApi } from '../../kube/api.ts';
import { pathOf, type ShippedObject } from '../../kube/shipped-objects.ts';
import type { CertificateState } from './certificate-plan.ts';
import { type SecretData, secretData } from './secret.ts';

export interface StoredSecret {
  readonly data: SecretData;
  readonly resourceVersion: string;
}

interface SecretObject {
  readonly metadata: { readonly resourceVersion: string };
  readonly data?: SecretData;
}

function stored({ metadata, data = {} }: SecretObject): StoredSecret {
  return { data, resourceVersion: metadata.resourceVersion };
}

/** @throws KubeError */
export async function readSecret(api: KubeApi, object: ShippedObject): Promise<StoredSecret> {
  return stored(await api.call<SecretObject>({ verb: 'get', path: pathOf(object) }));
}

/**
 * Writes the state, guarded by the version that was read.
 * @throws KubeError, a conflict after a concurrent write
 */
export async function writeSecret(
  api: KubeApi,
  object: ShippedObject,
  before: StoredSecret,
  state: CertificateState,
): Promise<StoredSecret> {
  const body = { metadata: { resourceVersion: before.resourceVersion }, data: secretData(state) };
  return stored(await api.call<SecretObject>({ verb: 'patch', patch: 'merge', path: pathOf(object), body }));
}
