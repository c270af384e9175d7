import type { Cloud } from '../../../clouds/cloud.ts';
import type { Informer, InformerEvent } from '../../../kube/informer.ts';
import type { ConfiguredCloud } from '../../../model/configured-cloud.ts';
import type { NodeView } from '../../../model/node-view.ts';
import { exampleNode } from '../../../model/testing/example-node.ts';

/** A synced cache of Nodes that a test changes. */
export interface NodeList extends Informer<NodeView> {
  synced: boolean;
  put(node: NodeView): void;
  remove(name: string): void;
}

export function nodeList(first: readonly NodeView[] = []): NodeList {
  const nodes = new Map(first.map((node) => [node.name, node]));
  const handlers: ((event: InformerEvent<NodeView>) => void)[] = [];
  const tell = (event: InformerEvent<NodeView>) => {
    for (const handler of handlers) handler(event);
  };
  return {
    synced: true,
    whenSynced: async () => {},
    get: (key) => nodes.get(key),
    values: () => nodes.values(),
    get size() {
      return nodes.size;
    },
    stalenessMs: () => 0,
    subscribe: (handler) => handlers.push(handler),
    put(node) {
      const old = nodes.get(node.name);
      nodes.set(node.name, node);
      if (old === undefined) tell({ type: 'added', key: node.name, object: node });
      else tell({ type: 'updated', key: node.name, old, object: node });
    },
    remove(name) {
      const old = nodes.get(name);
      if (old === undefined) return;
      nodes.delete(name);
      tell({ type: 'deleted', key: name, old });
    },
  };
}

/** A cloud of one region with an API. */
export function regionCloud(region: string): ConfiguredCloud {
  const accepts = (providerID: string) => providerID.startsWith(`simulated://${region}/`);
  const scope = `http://cloud/demo/${region}`;
  return { name: 'simulated', scope, accepts, selector: undefined, api: { name: 'simulated', scope } as Cloud };
}

export function idOf(name: string): string {
  return `simulated://r1/i-${name}`;
}

/** An initialised Node of region `r1`. */
export function memberNode(name: string, changes: Partial<NodeView> = {}): NodeView {
  return exampleNode({
    name,
    uid: `uid-${name}`,
    providerID: idOf(name),
    addresses: [
      { type: 'InternalIP', address: '10.0.0.1' },
      { type: 'Hostname', address: name },
    ],
    ...changes,
  });
}
