import { annotations } from '../../common/well-known.ts';
import type { AddressView, NodeView } from '../model/node-view.ts';
import { parseRecord } from '../model/scope-record.ts';
import type { DesiredNode } from './desired-node.ts';

/** How many changes one line of the log has. */
const namedAtMost = 20;

const shown = (addresses: readonly AddressView[]) =>
  addresses.map(({ type, address }) => `${type} ${address}`).join(', ');

/**
 * What a write changes on a Node, for the log: `label a: b -> c`, and `none` for what was not there or is no more.
 * Conditions tell why, not what, and are left out. Pure.
 */
export function nodeChanges(node: NodeView, desired: DesiredNode): string[] {
  const { providerID = node.providerID, addresses = node.addresses } = desired;
  const recorded = parseRecord(node.annotations[annotations.instance]);
  const record = parseRecord(desired.record);
  const parts: readonly (readonly [string, string | null | undefined, string | null | undefined])[] = [
    ['providerID', node.providerID, providerID],
    ['scope', recorded?.scope, record?.scope],
    ['incarnation', recorded?.incarnation, record?.incarnation],
    ['addresses', shown(node.addresses), shown(addresses)],
    ...Object.entries(desired.labels).map(([key, value]) => [`label ${key}`, node.labels[key], value] as const),
  ];
  return parts
    .filter(([, before, after]) => (before ?? '') !== (after ?? ''))
    .slice(0, namedAtMost)
    .map(([name, before, after]) => `${name}: ${before || 'none'} -> ${after || 'none'}`);
}
