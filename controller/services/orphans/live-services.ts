import type { KubeApi } from '../../kube/api.ts';
import { metadataOf, readPages } from '../../kube/paged-list.ts';

/**
 * UIDs of all Services that the API server has at this moment; never from a cache. Throws a KubeError.
 *
 * @param each called with every raw Service
 */
export async function liveServiceUids(
  api: KubeApi,
  signal: AbortSignal,
  each: (raw: unknown) => void = () => {},
): Promise<ReadonlySet<string>> {
  const uids = new Set<string>();
  await readPages({
    api,
    path: '/api/v1/services',
    query: {},
    pageSize: 250,
    unread: ['managedFields'],
    signal,
    onPage(items) {
      for (const raw of items) {
        const { uid } = metadataOf(raw);
        if (uid !== undefined) uids.add(uid);
        each(raw);
      }
    },
  });
  return uids;
}
