import type { InformerEvent } from '../kube/informer.ts';
import { type AddressView, isUninitialized, type NodeView } from '../model/node-view.ts';
import { canonicalAddress } from './addresses.ts';

/**
 * Which Nodes hold which IP address, including addresses that are being written and have not come back through the
 * cache yet.
 */
export interface AddressHolders {
  /** Records a change in the cache. */
  observe(event: InformerEvent<NodeView>): void;
  /**
   * Claims the IP addresses for the node, all of them or none. On a conflict it returns the first address that another
   * Node, which `alive` confirms, held before this one, and that holder.
   */
  take(
    node: Pick<NodeView, 'name' | 'createdAtMs'>,
    addresses: readonly AddressView[],
    alive: (nodeName: string) => boolean,
  ): { readonly address: string; readonly holder: string } | undefined;
  /** The node is gone. */
  release(nodeName: string): void;
}

/** The claim of one Node to one address. */
interface Holding {
  readonly nodeName: string;
  readonly createdAtMs: number;
  /**
   * A counter: when the Node claimed the address, or was first observed initialised with it. Undefined while the Node
   * is not initialised.
   */
  readonly since: number | undefined;
  /** The Node had the address when it was first observed, so its age is unknown. */
  readonly atFirstObservation: boolean;
}

/**
 * A kubelet may write any address into its Node. The Node that was first initialised with it wins, then the older Node.
 */
function precedes(one: Holding, other: Holding): boolean {
  if (one.since === undefined || other.since === undefined) {
    if (one.since !== other.since) return one.since !== undefined;
  } else if (!(one.atFirstObservation && other.atFirstObservation)) return one.since < other.since;
  if (one.createdAtMs !== other.createdAtMs) return one.createdAtMs < other.createdAtMs;
  return one.nodeName < other.nodeName;
}

function ips(addresses: readonly AddressView[]): string[] {
  return addresses
    .filter(({ type }) => type === 'InternalIP' || type === 'ExternalIP')
    .map(({ address }) => canonicalAddress(address));
}

export function createAddressHolders(): AddressHolders {
  /** By address, then by name of the Node. */
  const holdersOf = new Map<string, Map<string, Holding>>();
  const heldBy = new Map<string, readonly string[]>();
  let count = 0;

  function release(nodeName: string): void {
    for (const address of heldBy.get(nodeName) ?? []) {
      const holders = holdersOf.get(address);
      holders?.delete(nodeName);
      if (holders?.size === 0) holdersOf.delete(address);
    }
    heldBy.delete(nodeName);
  }

  /** Makes these the only addresses of the Node. An address that it held before keeps its earlier claim. */
  function hold(holding: Holding, addresses: readonly string[]): void {
    const { nodeName } = holding;
    const held = new Map(addresses.map((address) => [address, holdersOf.get(address)?.get(nodeName)]));
    release(nodeName);
    if (addresses.length > 0) heldBy.set(nodeName, addresses);
    for (const [address, before] of held) {
      const holders = holdersOf.get(address) ?? new Map<string, Holding>();
      holdersOf.set(address, holders.set(nodeName, before?.since === undefined ? holding : before));
    }
  }

  return {
    release,
    observe(event) {
      if (event.type === 'deleted') return release(event.key);
      const node = event.object;
      const shown = ips(node.addresses);
      // A Node without addresses may be older than the write in progress.
      if (shown.length === 0) return;
      const since = isUninitialized(node) ? undefined : ++count;
      const atFirstObservation = event.type === 'added';
      hold({ nodeName: event.key, createdAtMs: node.createdAtMs, since, atFirstObservation }, shown);
    },
    take({ name, createdAtMs }, addresses, alive) {
      const requested = ips(addresses);
      const asking = { nodeName: name, createdAtMs, since: undefined, atFirstObservation: false };
      for (const address of requested) {
        const holders = holdersOf.get(address);
        const own = holders?.get(name) ?? asking;
        for (const [holder, holding] of holders ?? []) {
          if (holder !== name && precedes(holding, own) && alive(holder)) return { address, holder };
        }
      }
      hold({ ...asking, since: ++count }, requested);
      return undefined;
    },
  };
}
