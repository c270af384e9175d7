import type { Found, Kind } from '../../../engine/resource.ts';
import { canonical, normalCidr } from '../../ip-address.ts';
import type { Sent } from '../../sent.ts';
import { answerOf, isSameSet, usual } from './answer.ts';
import { type FoundParts, kindNames, usersOf } from './found.ts';
import type { Firewall, Shown } from './project.ts';

export interface FirewallSpec {
  readonly name: string;
  readonly description: string;
  readonly allowed: readonly { readonly protocol: string; readonly ports: readonly number[] }[];
  readonly sources: readonly string[];
  /** The load balancer's address. Undefined: a rule for health checks, from Google's own network. */
  readonly destination: string | undefined;
  /** Addresses that it must not leave out. */
  readonly serves: readonly string[];
  /** Empty: those that stand, or all machines of the network. */
  readonly targetTags: readonly string[];
}

export const firewallPath = (name: string) => `global/firewalls/${name}`;

/** A rule for the health checks, of either kind of backend. */
export const isCheckFirewall = ({ kind, key }: Found) => kind === kindNames.firewall && /-hc(-ipv6)?$/.test(key ?? '');

export function firewallKind(
  parts: FoundParts,
  checksOf: (name: string) => readonly string[],
): Kind<FirewallSpec, Shown<Firewall>> {
  const { project } = parts;
  return {
    ...usual(parts),
    kind: kindNames.firewall,
    merge: (specs) => ({ ...specs[0]!, serves: [...new Set(specs.flatMap(({ serves }) => serves))] }),
    usedBy: ({ body }) => usersOf(body, checksOf(body.name), parts),
    compare({ body: { wire } }, spec) {
      const { allowed, sources, destination, serves, targetTags, name } = spec;
      const ranges = wire.destinationRanges ?? [];
      const plain = ranges.map((range) => canonical(range.replace(/\/(32|128)$/, '')));
      const isReached =
        destination === undefined
          ? ranges.length === 0 || serves.every((ip) => plain.includes(ip))
          : plain.join() === destination;
      const fields = [
        ...(isSameSet(openings(wire), allowed.flatMap(openingsOf)) ? [] : ['ports']),
        ...(isSameSet((wire.sourceRanges ?? []).map(normal), sources.map(normal)) ? [] : ['source ranges']),
        ...(isReached ? [] : ['destination']),
        ...(targetTags.length === 0 || isSameSet(wire.targetTags ?? [], targetTags) ? [] : ['target tags']),
        ...(wire.disabled ? ['enabled'] : []),
      ];
      if (fields.length === 0) return { same: true };
      const summary = `firewall rule ${name}: ${fields.join(', ')}`;
      const next = wireOf(spec);
      // What a new rule has anyway.
      const body: Sent<Firewall> = { ...next, destinationRanges: next.destinationRanges ?? [], disabled: false };
      return { changes: [{ what: 'rule', summary, phase: 'set', body }] };
    },
    async create({ spec }, _inside, io) {
      const wire = { network: await project.networkUrl(), ...wireOf(spec) };
      return answerOf(await project.insert<Firewall>(firewallPath(spec.name), wire, io), io, parts);
    },
    async update({ body }, change, io) {
      return answerOf(await project.patch<Firewall>(body.path, change.body as Sent<Firewall>, io), io, parts);
    },
  };
}

type Allowed = NonNullable<Firewall['allowed']>[number];

function wireOf({ description, allowed, sources, destination, targetTags }: FirewallSpec) {
  return {
    description,
    sourceRanges: [...sources],
    allowed: allowed.map(({ protocol, ports }): Allowed => ({ IPProtocol: protocol, ports: rangesOf(ports) })),
    destinationRanges: destination === undefined ? undefined : [destination],
    targetTags: targetTags.length > 0 ? [...targetTags] : undefined,
  } satisfies Sent<Firewall>;
}

/** IPv6 is spelt in several ways. */
const normal = (range: string) => normalCidr(range) ?? range;

/** `tcp 80`: the classic controller wrote single ports once, and ranges since. */
function openings({ allowed }: Firewall): string[] {
  return (allowed ?? []).flatMap(({ IPProtocol, ports }) =>
    (ports ?? ['all']).flatMap((range) => {
      const [first, last = first] = range.split('-').map(Number) as [number, number?];
      return Number.isNaN(first)
        ? `${IPProtocol} ${range}`
        : countFrom(first, last).map((port) => `${IPProtocol} ${port}`);
    }),
  );
}

const countFrom = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, at) => first + at);
const openingsOf = ({ protocol, ports }: FirewallSpec['allowed'][number]) => ports.map((port) => `${protocol} ${port}`);

/** Neighbours in one: a rule has at most 100. */
export function rangesOf(ports: readonly number[]): string[] {
  const ranges: { first: number; last: number }[] = [];
  for (const port of [...new Set(ports)].sort((a, b) => a - b)) {
    const latest = ranges.at(-1);
    if (latest?.last === port - 1) latest.last = port;
    else ranges.push({ first: port, last: port });
  }
  return ranges.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`));
}
