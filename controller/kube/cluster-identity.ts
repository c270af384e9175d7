import type { KubeApi, KubeObject } from './api.ts';

/** The namespace whose UID identifies the cluster: it is created with the cluster and exists as long. */
const namespace = 'kube-system';

/** Reads the UID of the namespace kube-system, which marks the cloud resources of this cluster. Throws a KubeError. */
export async function readClusterUid(api: KubeApi): Promise<string> {
  const { metadata } = await api.call<KubeObject>({ verb: 'get', path: `/api/v1/namespaces/${namespace}` });
  return metadata.uid;
}
