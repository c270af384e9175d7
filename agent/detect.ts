import type { Dmi, SourceKind } from './metadata/source.ts';

export type Detection =
  | { readonly ok: true; readonly kind: SourceKind }
  /** Contains the firmware's facts and the flag that decides. */
  | { readonly ok: false; readonly message: string };

export interface DetectOptions {
  /** Where the firmware's facts were read from, for the message. */
  readonly place?: string;
  /** The machine has a volume with the label of a NoCloud seed. */
  readonly hasSeed?: boolean;
}

/**
 * Detects the cloud of this machine from its firmware, and where that is of no cloud, from its cloud-init volume. Never
 * guesses: with no candidate, or with two, the detection fails. Pure.
 */
export function detectCloud(
  kinds: Iterable<SourceKind>,
  dmi: Dmi,
  { place = '/sys/class/dmi/id', hasSeed = false }: DetectOptions = {},
): Detection {
  const all = [...kinds];
  const known = all.filter((kind) => kind.detect(dmi));
  // VMs of clouds have such volumes, too.
  const candidates = known.length === 0 && hasSeed ? all.filter(({ cloud }) => cloud === 'nocloud') : known;
  const [only, ...others] = candidates;
  if (only !== undefined && others.length === 0) return { ok: true, kind: only };
  const names = all.map(({ cloud }) => cloud).join(', ');
  const found = only === undefined ? 'no known cloud' : `${candidates.map(({ cloud }) => cloud).join(' and ')} alike`;
  const message = `the firmware fits ${found}: ${seen(dmi, place)}; name the cloud with --cloud (${names})`;
  return { ok: false, message };
}

/** The world-readable fields first; without the serial, which may be a licence or an account. */
function seen(dmi: Dmi, place: string): string {
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['sys_vendor', dmi.sysVendor],
    ['product_name', dmi.productName],
    ['product_version', dmi.productVersion],
    ['bios_vendor', dmi.biosVendor],
    ['bios_version', dmi.biosVersion],
    ['board_asset_tag', dmi.boardAssetTag],
    ['chassis_asset_tag', dmi.chassisAssetTag],
  ];
  const shown = facts.flatMap(([name, value]) => (value === undefined ? [] : `${name}=${JSON.stringify(value)}`));
  const text = shown.length === 0 ? `there is no DMI in ${place}` : shown.join(' ');
  const uuid = dmi.productUuid ?? dmi.hypervisorUuid;
  return startsWithEc2(uuid) ? `${text} (a UUID that begins with "ec2" proves nothing by itself)` : text;
}

/** In either byte order: little-endian firmware swaps the first group. */
function startsWithEc2(uuid: string | undefined): boolean {
  return uuid !== undefined && (uuid.startsWith('ec2') || /^[0-9a-f]{4}2[0-9a-f]ec/.test(uuid));
}
