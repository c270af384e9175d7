import type { NodeView } from '../model/node-view.ts';

/** How many changes one line of the log has. */
const namedAtMost = 20;

/** What a Node says of its instance, by the name of each part. Conditions and annotations tell why, not what. */
function partsOf({ providerID, addresses, labels, taints }: NodeView): ReadonlyMap<string, string> {
  return new Map([
    ['providerID', providerID],
    ['addresses', addresses.map(({ type, address }) => `${type} ${address}`).join(', ')],
    ...taints.map(({ key, value = '', effect }): [string, string] => [`taint ${key}`, `${value}:${effect}`]),
    ...Object.entries(labels).map(([key, value]): [string, string] => [`label ${key}`, value]),
  ]);
}

/** What changed on a Node, for the log: `label a: b -> c`, and `none` for what was not there or is no more. Pure. */
export function nodeChanges(before: NodeView, after: NodeView): string[] {
  const [old, now] = [partsOf(before), partsOf(after)];
  const named = [...new Set([...old.keys(), ...now.keys()])].filter((name) => old.get(name) !== now.get(name));
  return named.slice(0, namedAtMost).map((name) => `${name}: ${old.get(name) || 'none'} -> ${now.get(name) || 'none'}`);
}
