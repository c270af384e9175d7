import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

/** Folder of the manifests, for `kubectl apply -k`. */
export const base = join(import.meta.dirname, '../../deploy/base');
export const examples = join(import.meta.dirname, '../../deploy/examples');

/** One object of the manifests. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [key: string]: unknown;
}

/** Every object of `deploy/base`, in the order of the kustomization. Throws when a file is not YAML. */
export async function readManifests(): Promise<Manifest[]> {
  const kustomization = await readYaml(join(base, 'kustomization.yaml'));
  const files = (kustomization[0] as { readonly resources: readonly string[] }).resources;
  return (await Promise.all(files.map((file) => readYaml(join(base, file))))).flat() as Manifest[];
}

/** Names of the folders under `deploy/examples`. */
export async function exampleNames(): Promise<string[]> {
  return (await readdir(examples)).sort();
}

/** The documents of one YAML file. */
export async function readYaml(file: string): Promise<unknown[]> {
  return parseAllDocuments(await readFile(file, 'utf8')).map((document) => {
    const [error] = document.errors;
    if (error) throw new Error(`${file}: ${error.message}`);
    return document.toJS() as unknown;
  });
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface Bound {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}

/** One right, in one line: `patch nodes/status` or `get configmaps/mooring-ca in kube-system`. */
export function right(
  verb: string,
  group: string,
  resource: string,
  name: string | undefined,
  namespace: string | undefined,
): string {
  const what = `${resource}${group === '' ? '' : `.${group}`}${name === undefined ? '' : ` named ${name}`}`;
  return `${verb} ${what}${namespace === undefined ? '' : ` in ${namespace}`}`;
}

/** Every right that the bindings give to a ServiceAccount, one line each. @param home its namespace */
export function rightsOf(account: string, manifests: readonly Manifest[], home = 'kube-system'): Set<string> {
  const rights = new Set<string>();
  for (const binding of manifests.filter(({ kind }) => kind === 'RoleBinding' || kind === 'ClusterRoleBinding')) {
    const { roleRef, subjects } = binding as unknown as Bound;
    const bound = subjects.some(
      ({ kind, name, namespace }) => kind === 'ServiceAccount' && name === account && namespace === home,
    );
    if (!bound) continue;
    const { namespace } = binding.metadata;
    const role = manifests.find(
      ({ kind, metadata }) =>
        kind === roleRef.kind &&
        metadata.name === roleRef.name &&
        (kind === 'ClusterRole' || metadata.namespace === namespace),
    );
    if (!role) throw new Error(`${binding.kind} ${binding.metadata.name}: there is no ${roleRef.kind} ${roleRef.name}`);
    for (const { apiGroups, resources, resourceNames, verbs } of role['rules'] as readonly Rule[]) {
      for (const group of apiGroups)
        for (const resource of resources)
          for (const verb of verbs)
            for (const name of resourceNames ?? [undefined]) rights.add(right(verb, group, resource, name, namespace));
    }
  }
  return rights;
}
