import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeRest } from './kube-rest.ts';

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Where each kind lives, and whether it has a namespace. Workloads are left out: the sandbox runs the programs itself. */
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

/**
 * Creates the accounts, rights, Secret and ConfigMaps of the shipped manifests where they are missing, so that the
 * controllers run with exactly the rights of a real installation.
 */
export async function applyManifests(rest: KubeRest): Promise<string[]> {
  const applied: string[] = [];
  for (const file of (await readdir(folder)).sort()) {
    if (!file.endsWith('.yaml') || file === 'kustomization.yaml') continue;
    for (const document of parseAllDocuments(await readFile(join(folder, file), 'utf8'))) {
      const manifest = document.toJS() as Manifest | null;
      const collection = manifest && collections[manifest.kind];
      if (!manifest || !collection) continue;
      const namespace = manifest.metadata.namespace ?? 'kube-system';
      const path = `${collection.path}${collection.namespaced ? `/namespaces/${namespace}` : ''}/${manifest.kind.toLowerCase()}s`;
      const body = collection.namespaced ? { ...manifest, metadata: { ...manifest.metadata, namespace } } : manifest;
      const made = await rest.call('POST', path, body);
      if (made.status !== 201 && made.status !== 409) {
        throw new Error(`${file}: ${manifest.kind} ${manifest.metadata.name}: ${made.status} ${made.body?.message}`);
      }
      applied.push(`${manifest.kind}/${manifest.metadata.name}`);
    }
  }
  return applied;
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
