import ipaddr from 'ipaddr.js';
import type { NodeAddress } from '../../../common/instance.ts';
import type { AnswerFields } from '../answer-fields.ts';
import type { Cidr } from '../gcfg.ts';

export interface AddressRules {
  readonly internal: readonly Cidr[];
  readonly external: readonly Cidr[];
}

const localRanges: ReadonlySet<string> = new Set(['loopback', 'linkLocal', 'unspecified', 'multicast', 'broadcast']);

/**
 * Of each family the first InternalIP and the first ExternalIP that the guest agent reports for the VM's own NICs, so
 * that addresses of pods and of bridges inside the guest are none. Pure.
 */
export function guestAddresses(vm: AnswerFields, { internal, external }: AddressRules): readonly NodeAddress[] {
  const reported = (vm.optionalObject('nics')?.optionalObjects('nic') ?? [])
    .flatMap((nic) => nic.optionalObject('reported_devices')?.optionalObjects('reported_device') ?? [])
    .flatMap((device) => device.optionalObject('ips')?.optionalObjects('ip') ?? [])
    .flatMap((ip) => {
      const text = ip.optionalText('address') ?? '';
      return ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text) ? [ipaddr.parse(text)] : [];
    })
    .filter((ip) => !localRanges.has(ip.range()));
  const addresses: NodeAddress[] = [];
  for (const type of ['InternalIP', 'ExternalIP'] as const)
    for (const family of ['ipv4', 'ipv6'] as const) {
      const first = reported.find((ip) => ip.kind() === family && typeOf(ip, internal, external) === type);
      if (first !== undefined) addresses.push({ type, address: first.toString() });
    }
  return addresses;
}

function typeOf(ip: ipaddr.IPv4 | ipaddr.IPv6, internal: readonly Cidr[], external: readonly Cidr[]) {
  const isIn = (ranges: readonly Cidr[]) =>
    ranges.some(([range, bits]) => range.kind() === ip.kind() && ip.match([range, bits]));
  if (isIn(external)) return 'ExternalIP';
  return internal.length === 0 || isIn(internal) ? 'InternalIP' : undefined;
}
