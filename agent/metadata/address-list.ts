import type { NodeAddress, NodeAddressType } from '../../common/instance.ts';

/** Collects addresses in order, without duplicates of (type, address). */
export interface AddressList {
  add(type: NodeAddressType, address: string | undefined): void;
  readonly all: readonly NodeAddress[];
}

export function createAddressList(): AddressList {
  const all: NodeAddress[] = [];
  const seen = new Set<string>();
  return {
    all,
    add(type, address) {
      if (address === undefined || address === '' || seen.has(`${type} ${address}`)) return;
      seen.add(`${type} ${address}`);
      all.push({ type, address });
    },
  };
}
