import { isConflict, isNotFound, type KubeApi } from '../kube/api.ts';
import { nodePath } from '../kube/node-path.ts';
import type { NodeView } from '../model/node-view.ts';

export type DeleteOutcome = 'deleted' | 'already-gone' | 'changed';

/**
 * Deletes exactly this Node object in exactly this state. UID and resourceVersion are preconditions, so a Node that was
 * re-created, or whose status changed in between, stays (`changed`). Throws a KubeError for any other failure. Safe to
 * repeat.
 */
export async function deleteNode(api: KubeApi, node: NodeView): Promise<DeleteOutcome> {
  try {
    await api.call({
      verb: 'delete',
      path: nodePath(node.name),
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid: node.uid, resourceVersion: node.resourceVersion },
      },
    });
    return 'deleted';
  } catch (error) {
    if (isNotFound(error)) return 'already-gone';
    if (isConflict(error)) return 'changed';
    throw error;
  }
}
