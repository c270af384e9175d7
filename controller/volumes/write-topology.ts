import type { KubeApi } from '../kube/api.ts';
import type { TopologyChange } from './topology.ts';
import type { VolumeView } from './volume-view.ts';

/** Of PersistentVolumes. */
export const volumesPath = '/api/v1/persistentvolumes';

/** One patch, guarded by the resourceVersion of the view. Throws a KubeError. */
export async function writeTopology(
  api: KubeApi,
  { name, uid, resourceVersion }: VolumeView,
  { labels, terms }: TopologyChange,
): Promise<void> {
  const body = {
    metadata: { uid, resourceVersion, ...(Object.keys(labels).length > 0 && { labels }) },
    ...(terms && { spec: { nodeAffinity: { required: { nodeSelectorTerms: terms } } } }),
  };
  const path = `${volumesPath}/${encodeURIComponent(name)}`;
  await api.call({ verb: 'patch', path, patch: 'merge', answer: 'metadata', body });
}
