import type { Report } from '../../common/report.ts';
import type { AddressView } from '../model/node-view.ts';
import { addressKey, droppedAddresses } from './addresses.ts';

/** Two reads of the cloud closer together than this count as one. */
export const secondReadMs = 10_000;

export interface ConfirmedAddresses {
  /** To be written: the desired ones, then those whose removal is not confirmed yet. Undefined: the Node's stay. */
  readonly addresses: readonly AddressView[] | undefined;
  /** Another read is needed. */
  readonly pending: boolean;
}

/**
 * Confirms the removal of addresses from initialised Nodes. One answer of the cloud may be stale or incomplete, so an
 * address is removed only when a second read, or the Node's own report, does not list it either.
 */
export interface AddressRemovals {
  /**
   * Notes which of `current` are missing in `desired`.
   *
   * @param readAtMs when `desired` was read from the cloud, monotonic
   */
  confirm(
    nodeName: string,
    current: readonly AddressView[],
    desired: readonly AddressView[],
    readAtMs: number,
    report: Report | undefined,
  ): ConfirmedAddresses;
  forget(nodeName: string): void;
}

export function createAddressRemovals(): AddressRemovals {
  const firstMissingMs = new Map<string, Map<string, number>>();

  return {
    forget: (nodeName) => firstMissingMs.delete(nodeName),
    confirm(nodeName, current, desired, readAtMs, report) {
      const left = droppedAddresses(current, desired);
      if (left.length === 0) {
        firstMissingMs.delete(nodeName);
        return { addresses: desired, pending: false };
      }
      const isLacking = lackedBy(report);
      const before = firstMissingMs.get(nodeName);
      const now = new Map<string, number>();
      const kept: AddressView[] = [];
      for (const each of left) {
        const key = addressKey(each);
        const firstAt = before?.get(key) ?? readAtMs;
        if (readAtMs - firstAt >= secondReadMs || isLacking(each)) continue;
        now.set(key, firstAt);
        kept.push(each);
      }
      if (now.size > 0) firstMissingMs.set(nodeName, now);
      else firstMissingMs.delete(nodeName);
      return { addresses: [...desired, ...kept], pending: kept.length > 0 };
    },
  };
}

/** Whether a report from a working metadata service lists addresses of a type, but not this one. */
function lackedBy(report: Report | undefined): (address: AddressView) => boolean {
  const reported = (report?.metadata.ok && report.instance?.addresses) || [];
  const [types, keys] = [new Set<string>(reported.map(({ type }) => type)), new Set(reported.map(addressKey))];
  return (address) => types.has(address.type) && !keys.has(addressKey(address));
}
