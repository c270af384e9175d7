import type { InformerEvent } from '../kube/informer.ts';
import { canonicalAddress } from './addresses.ts';
import type { AddressView, NodeView } from './node-view.ts';

/** Which Nodes hold which IP address, including addresses that are being written and have not come back through the cache yet. */
export interface AddressHolders {
  /** Takes note of a change in the cache. */
  observe(event: InformerEvent<NodeView>): void;
  /** Takes the IP addresses for the node, all of them or none; answers the first that another Node holds for which `alive` says yes. */
  take(
    nodeName: string,
    addresses: readonly AddressView[],
    alive: (nodeName: string) => boolean,
  ): { readonly address: string; readonly holder: string } | undefined;
  /** The node is gone. */
  release(nodeName: string): void;
}

function ips(addresses: readonly AddressView[]): string[] {
  return addresses
    .filter(({ type }) => type === 'InternalIP' || type === 'ExternalIP')
    .map(({ address }) => canonicalAddress(address));
}

export function createAddressHolders(): AddressHolders {
  const holdersOf = new Map<string, ReadonlySet<string>>();
  const heldBy = new Map<string, readonly string[]>();

  function release(nodeName: string): void {
    for (const address of heldBy.get(nodeName) ?? []) {
      const left = new Set(holdersOf.get(address));
      left.delete(nodeName);
      if (left.size === 0) holdersOf.delete(address);
      else holdersOf.set(address, left);
    }
    heldBy.delete(nodeName);
  }

  function hold(nodeName: string, addresses: readonly string[]): void {
    release(nodeName);
    if (addresses.length > 0) heldBy.set(nodeName, addresses);
    for (const address of addresses) holdersOf.set(address, new Set(holdersOf.get(address)).add(nodeName));
  }

  return {
    release,
    observe(event) {
      if (event.type === 'deleted') return release(event.key);
      const shown = ips(event.object.addresses);
      // A Node that shows none may be older than what is being written on it.
      if (shown.length > 0) hold(event.key, shown);
    },
    take(nodeName, addresses, alive) {
      const wanted = ips(addresses);
      for (const address of wanted) {
        for (const holder of holdersOf.get(address) ?? []) {
          if (holder !== nodeName && alive(holder)) return { address, holder };
        }
      }
      hold(nodeName, wanted);
      return undefined;
    },
  };
}
