import type { KubeApi, KubeObject } from './api.ts';

/** The namespace whose UID is the cluster's: it is made with the cluster and lives as long. */
const namespace = 'kube-system';

/** Reads what proves that a cloud's resource belongs to this cluster: the UID of the namespace kube-system. Throws a KubeError. */
export async function readClusterUid(api: KubeApi): Promise<string> {
  const { metadata } = await api.call<KubeObject>({ verb: 'get', path: `/api/v1/namespaces/${namespace}` });
  return metadata.uid;
}
