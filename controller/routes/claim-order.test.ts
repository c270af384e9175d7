import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { InformerEvent } from '../kube/informer.ts';
import type { NodeView } from '../model/node-view.ts';
import { exampleNode } from '../model/testing/example-node.ts';
import { createClaimOrder } from './claim-order.ts';

it('counts the Nodes that show their pod ranges after the cache was filled, each range once', () => {
  let tell: (event: InformerEvent<NodeView>) => void = () => {};
  const nodes = {
    synced: false,
    subscribe(handler: typeof tell) {
      tell = handler;
    },
  };
  const order = createClaimOrder(nodes);
  const node = (uid: string, ...podCIDRs: readonly string[]) => exampleNode({ name: uid, uid, podCIDRs });
  const added = (object: NodeView) => tell({ type: 'added', key: object.name, object });
  const updated = (old: NodeView, object: NodeView) => tell({ type: 'updated', key: old.name, old, object });
  added(node('first', '10.244.0.0/24'));
  nodes.synced = true;
  added(node('empty'));
  added(node('joined', '10.244.1.0/24'));
  updated(node('empty'), node('empty', '10.244.1.0/24'));
  updated(node('joined', '10.244.1.0/24'), node('joined', '10.244.1.0/24'));
  const orders = () => ['first', 'joined', 'empty'].map((uid) => order.of({ uid }));
  assert.deepEqual(orders(), [0, 1, 2]);
  tell({ type: 'deleted', key: 'joined', old: node('joined', '10.244.1.0/24') });
  assert.deepEqual(orders(), [0, 0, 2]);
});
