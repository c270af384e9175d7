import { errorFields } from '../../common/process/log.ts';
import { isNotFound } from '../kube/api.ts';
import { readNode } from '../nodes/write-node.ts';
import type { IpamContext } from './ipam-context.ts';
import type { Owner } from './range-allocator.ts';

/**
 * Finds owners of ranges whose Node is gone without an event: neither this audit nor the one before knows the Node, and
 * the API server does not either.
 *
 * @param forget returns whether a range was released
 * @returns one audit, which answers whether a range was released, and never throws
 */
export function createMissedDeletions(
  { api, log, nodes }: Pick<IpamContext, 'api' | 'log' | 'nodes'>,
  owners: () => Iterable<Owner>,
  forget: (owner: Owner) => boolean,
): () => Promise<boolean> {
  let missingBefore: ReadonlySet<string> = new Set();
  return async () => {
    const unseen = [...owners()].filter(({ name, uid }) => nodes.get(name)?.uid !== uid);
    let freed = false;
    for (const owner of unseen.filter(({ uid }) => missingBefore.has(uid))) {
      try {
        if ((await readNode(api, owner.name)).uid !== owner.uid) freed = forget(owner) || freed;
      } catch (error) {
        if (isNotFound(error)) freed = forget(owner) || freed;
        else log.debug('Node not read', { node: owner.name, ...errorFields(error) });
      }
    }
    missingBefore = new Set(unseen.map(({ uid }) => uid));
    return freed;
  };
}
