import { names } from '../../../common/well-known.ts';
import { isNotFound, type KubeApi } from '../../kube/api.ts';
import type { CertificateState } from './plan.ts';
import { type SecretData, secretData } from './secret.ts';

const collection = `/api/v1/namespaces/${names.namespace}/secrets`;
const path = `${collection}/${names.certificates}`;

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

/** Undefined when it does not exist. @throws KubeError */
export async function readSecret(api: KubeApi): Promise<StoredSecret | undefined> {
  try {
    return stored(await api.call<SecretObject>({ verb: 'get', path }));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/**
 * Writes the state over the version that was read, or creates the Secret where there was none.
 * @throws KubeError, a conflict when another replica was first
 */
export async function writeSecret(
  api: KubeApi,
  before: StoredSecret | undefined,
  state: CertificateState,
): Promise<StoredSecret> {
  const data = secretData(state);
  if (before) {
    const body = { metadata: { resourceVersion: before.resourceVersion }, data };
    return stored(await api.call<SecretObject>({ verb: 'patch', patch: 'merge', path, body }));
  }
  const metadata = { name: names.certificates, namespace: names.namespace };
  const present = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));
  const body = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data: present };
  return stored(await api.call<SecretObject>({ verb: 'create', path: collection, body }));
}
