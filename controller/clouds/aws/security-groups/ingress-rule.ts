import type { IpPermission } from '@aws-sdk/client-ec2';

/**
 * One rule of a security group: who may come in, by what. EC2 keeps each combination of protocol, ports and source
 * once.
 */
export interface IngressRule {
  /** `tcp`, `udp`, `icmp`, `icmpv6`, a protocol's number, or `-1` = all. */
  readonly protocol: string;
  /** -1 where the protocol has none. For `icmp` the type. */
  readonly fromPort: number;
  /** For `icmp` the code. */
  readonly toPort: number;
  /** CIDR of either family, id of a security group, or id of a prefix list. */
  readonly source: string;
  readonly description?: string | undefined;
}

/** Equal for rules that EC2 takes for the same one; the description does not count. */
export function ruleKey({ protocol, fromPort, toPort, source }: IngressRule): string {
  return `${protocol} ${fromPort}-${toPort} ${source}`;
}

export function describeRule({ protocol, fromPort, toPort, source }: IngressRule): string {
  if (protocol === '-1') return `everything from ${source}`;
  const ports = fromPort === toPort ? `${fromPort}` : `${fromPort}-${toPort}`;
  return `${protocol} ${ports} from ${source}`;
}

/** Rules as EC2 shows them: a permission for protocol and ports, with all its sources. */
export function rulesOf(permissions: readonly IpPermission[] | undefined): IngressRule[] {
  return (permissions ?? []).flatMap((permission) => {
    const { IpProtocol: protocol = '-1', FromPort, ToPort } = permission;
    const of = (source: string | undefined, description: string | undefined): IngressRule[] =>
      source === undefined
        ? []
        : [{ protocol, fromPort: FromPort ?? -1, toPort: ToPort ?? -1, source, description: description || undefined }];
    return [
      ...(permission.IpRanges ?? []).flatMap(({ CidrIp, Description }) => of(CidrIp, Description)),
      ...(permission.Ipv6Ranges ?? []).flatMap(({ CidrIpv6, Description }) => of(CidrIpv6, Description)),
      ...(permission.UserIdGroupPairs ?? []).flatMap(({ GroupId, Description }) => of(GroupId, Description)),
      ...(permission.PrefixListIds ?? []).flatMap(({ PrefixListId, Description }) => of(PrefixListId, Description)),
    ];
  });
}

/** Rules as EC2 takes them. */
export function permissionsOf(rules: readonly IngressRule[]): IpPermission[] {
  const byPorts = new Map<string, Sources>();
  for (const { protocol, fromPort, toPort, source, description } of rules) {
    const key = `${protocol} ${fromPort} ${toPort}`;
    const held = byPorts.get(key) ?? {
      IpProtocol: protocol,
      ...(protocol === '-1' ? {} : { FromPort: fromPort, ToPort: toPort }),
      IpRanges: [],
      Ipv6Ranges: [],
      UserIdGroupPairs: [],
      PrefixListIds: [],
    };
    byPorts.set(key, held);
    const about = description === undefined ? {} : { Description: description };
    if (source.startsWith('sg-')) held.UserIdGroupPairs.push({ GroupId: source, ...about });
    else if (source.startsWith('pl-')) held.PrefixListIds.push({ PrefixListId: source, ...about });
    else if (source.includes(':')) held.Ipv6Ranges.push({ CidrIpv6: source, ...about });
    else held.IpRanges.push({ CidrIp: source, ...about });
  }
  return [...byPorts.values()].map(({ IpRanges, Ipv6Ranges, UserIdGroupPairs, PrefixListIds, ...ports }) => ({
    ...ports,
    ...(IpRanges.length > 0 && { IpRanges }),
    ...(Ipv6Ranges.length > 0 && { Ipv6Ranges }),
    ...(UserIdGroupPairs.length > 0 && { UserIdGroupPairs }),
    ...(PrefixListIds.length > 0 && { PrefixListIds }),
  }));
}

type Lists = 'IpRanges' | 'Ipv6Ranges' | 'UserIdGroupPairs' | 'PrefixListIds';
type Sources = IpPermission & { [List in Lists]-?: NonNullable<IpPermission[List]> };

/** Those of `desired` that are not there. */
export function missingRules(desired: readonly IngressRule[], there: readonly IngressRule[]): IngressRule[] {
  const keys = new Set(there.map(ruleKey));
  return desired.filter((rule) => !keys.has(ruleKey(rule)));
}
