import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeRest } from './kube-rest.ts';

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/**
 * The path of each kind, and whether it has a namespace. Workloads are left out: the sandbox runs the programs itself.
 */
const collections: Readonly<Record<string, { readonly path: string; readonly namespaced: boolean }>> = {
  ServiceAccount: { path: '/api/v1', namespaced: true },
  ConfigMap: { path: '/api/v1', namespaced: true },
  Secret: { path: '/api/v1', namespaced: true },
  Role: { path: '/apis/rbac.authorization.k8s.io/v1', namespaced: true },
  RoleBinding: { path: '/apis/rbac.authorization.k8s.io/v1', namespaced: true },
  ClusterRole: { path: '/apis/rbac.authorization.k8s.io/v1', namespaced: false },
  ClusterRoleBinding: { path: '/apis/rbac.authorization.k8s.io/v1', namespaced: false },
};

const folder = join(import.meta.dirname, '../../../deploy/base');

/** One object of the manifests and the collection that it is created in. */
export interface ShippedObject {
  readonly path: string;
  readonly body: object;
  /** `Role/mooring-controller`. */
  readonly title: string;
}

/** The accounts, rights and data objects of the shipped manifests, in the order of their files. */
export function readShippedObjects(): ShippedObject[] {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.yaml') && file !== 'kustomization.yaml')
    .sort();
  return files
    .flatMap((file) => parseAllDocuments(readFileSync(join(folder, file), 'utf8')))
    .flatMap((document) => {
      const manifest = document.toJS() as Manifest | null;
      const collection = manifest && collections[manifest.kind];
      if (!manifest || !collection) return [];
      const namespace = manifest.metadata.namespace ?? 'kube-system';
      const path =
        `${collection.path}${collection.namespaced ? `/namespaces/${namespace}` : ''}/` +
        `${manifest.kind.toLowerCase()}s`;
      const body = collection.namespaced ? { ...manifest, metadata: { ...manifest.metadata, namespace } } : manifest;
      return [{ path, body, title: `${manifest.kind}/${manifest.metadata.name}` }];
    });
}

/**
 * Creates the accounts, rights, Secret and ConfigMaps of the shipped manifests where they are missing, so that the
 * controllers run with exactly the rights of a real installation.
 */
export async function applyManifests(rest: KubeRest): Promise<string[]> {
  const shipped = readShippedObjects();
  for (const { path, body, title } of shipped) {
    const made = await rest.call('POST', path, body);
    if (made.status !== 201 && made.status !== 409) throw new Error(`${title}: ${made.status} ${made.body?.message}`);
  }
  return shipped.map(({ title }) => title);
}

/** A token of a ServiceAccount, as the kubelet would project it into a pod. */
export async function serviceAccountToken(
  rest: KubeRest,
  account: { readonly namespace: string; readonly name: string },
  options: { readonly audience?: string; readonly pod?: { readonly name: string; readonly uid: string } } = {},
): Promise<string> {
  const spec = {
    ...(options.audience === undefined ? {} : { audiences: [options.audience] }),
    expirationSeconds: 3600,
    ...(options.pod === undefined ? {} : { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', ...options.pod } }),
  };
  const path = `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`;
  const answer = await rest.must('POST', path, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec });
  return answer.status.token;
}
