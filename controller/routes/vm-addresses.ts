import type { Clock } from '../../common/process/clock.ts';
import { type InstanceRef, type Lookup, refKey } from '../clouds/cloud.ts';
import type { Cidr } from '../model/cidr.ts';
import type { NodeView } from '../model/node-view.ts';
import { answeringCloud } from '../model/ownership.ts';
import { holds } from '../model/route-bounds.ts';
import type { Resolver } from '../nodes/resolve.ts';
import type { VmAddress } from './allowed-ranges.ts';

/**
 * Addresses of VMs inside the pod ranges of the cluster; in most clusters there are none. A kubelet writes the
 * addresses of its Node, so each of them counts only when the cloud confirms it. Otherwise a Node could block the
 * ranges of others.
 */
export interface VmAddresses {
  /** Looks up addresses that are new or were confirmed long ago. Never throws. */
  refresh(): Promise<void>;
  /** The confirmed addresses, by the last answers. */
  counted(): readonly VmAddress[];
}

export interface VmAddressesParts {
  readonly clock: Clock;
  readonly nodes: { values(): Iterable<NodeView> };
  readonly resolver: Resolver;
  readonly clusterCidrs: readonly Cidr[];
  parse(text: string): Cidr | undefined;
}

interface Answer {
  readonly counts: boolean;
  readonly askAgainAtMs: number;
}

const answeredMs = 1_800_000;
const unansweredMs = 30_000;

export function createVmAddresses(parts: VmAddressesParts): VmAddresses {
  const { clock, nodes, resolver, clusterCidrs, parse } = parts;
  /** By providerID and address. */
  let answers = new Map<string, Answer>();

  const rangeOf = (address: string) => parse(`${address}/${address.includes(':') ? 128 : 32}`);

  function* inside(): Iterable<{ readonly node: NodeView; readonly address: Cidr; readonly key: string }> {
    for (const node of nodes.values())
      for (const { type, address: text } of node.addresses) {
        const address = type === 'InternalIP' ? rangeOf(text) : undefined;
        if (address === undefined || !clusterCidrs.some((cluster) => holds(cluster, address))) continue;
        yield { node, address, key: `${node.providerID} ${address.text}` };
      }
  }

  async function refresh(): Promise<void> {
    const now = clock.monotonic();
    const found = [...inside()];
    const next = new Map<string, Answer>();
    const due = new Map<string, typeof found>();
    for (const each of found) {
      const known = answers.get(each.key);
      if (known) next.set(each.key, known);
      const scope = answeringCloud(each.node, resolver.configured)?.scope;
      if (scope === undefined || (known && now < known.askAgainAtMs)) continue;
      due.set(scope, [...(due.get(scope) ?? []), each]);
    }
    answers = next;
    await Promise.all([...due].map(([scope, asked]) => ask(scope, asked)));
  }

  async function ask(
    scope: string,
    asked: readonly { readonly node: NodeView; readonly address: Cidr; readonly key: string }[],
  ): Promise<void> {
    const refOf = ({ providerID }: NodeView): InstanceRef => ({ by: 'providerID', providerID });
    const lookups = await resolver.lookupsOf(scope)?.lookupAll(asked.map(({ node }) => refOf(node)));
    const now = clock.monotonic();
    for (const { node, address, key } of asked) {
      const lookup = lookups?.get(refKey(refOf(node)));
      const unanswered = lookup === undefined || lookup.state === 'unknown';
      answers.set(key, {
        counts: unanswered ? (answers.get(key)?.counts ?? false) : hasAddress(lookup, address),
        askAgainAtMs: now + (unanswered ? unansweredMs : answeredMs),
      });
    }
  }

  function hasAddress(lookup: Lookup, { text }: Cidr): boolean {
    return lookup.state === 'found' && lookup.instance.addresses.some(({ address }) => rangeOf(address)?.text === text);
  }

  return {
    refresh,
    counted: () =>
      [...inside()].flatMap(({ node, address, key }) =>
        answers.get(key)?.counts ? [{ node: node.name, address }] : [],
      ),
  };
}
