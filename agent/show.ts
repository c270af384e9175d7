import type { Instance, Notice } from '../common/instance.ts';
import type { Dmi } from './metadata/source.ts';

/** All facts about the machine that need no credentials. */
export interface Facts {
  readonly cloud: string;
  /** How the cloud was determined. */
  readonly by: 'flag' | 'firmware';
  readonly instance: Instance;
  readonly notices: readonly Notice[];
  readonly firmware: Omit<Dmi, 'productSerial'>;
  readonly host: HostFacts;
}

export interface HostFacts {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly kernel: string;
  readonly bootId?: string;
}

/** The facts as aligned lines for people, without unknown ones. Pure. */
export function factsTable({ cloud, by, instance, notices, firmware, host }: Facts): string {
  const rows: (readonly [string, string | undefined])[] = [
    ['CLOUD', `${cloud} (by ${by})`],
    ['INSTANCE', instance.id],
    ['PROVIDER ID', instance.providerID],
    ['NAME', instance.name],
    ['REGION', instance.region],
    ['ZONE', instance.zone],
    ['TYPE', instance.type],
    ...instance.addresses.map(
      ({ type, address }, index) => [index === 0 ? 'ADDRESSES' : '', `${type} ${address}`] as const,
    ),
    ...Object.entries(instance.labels ?? {}).map(
      ([key, value], index) => [index === 0 ? 'LABELS' : '', `${key}=${value}`] as const,
    ),
    ...notices.map(({ kind, deadline, message }, index) => {
      return [index === 0 ? 'NOTICES' : '', [kind, deadline, message].filter(Boolean).join(' ')] as const;
    }),
    ['FIRMWARE', [firmware.sysVendor, firmware.productName].filter(Boolean).join(', ') || undefined],
    ['SMBIOS UUID', firmware.productUuid],
    ['HOST', `${host.cpus} CPUs, ${Math.round(host.memoryBytes / 1024 ** 2)} MiB, kernel ${host.kernel}`],
    ['BOOT ID', host.bootId],
  ];
  const shown = rows.filter(([, value]) => value !== undefined);
  const width = Math.max(...shown.map(([title]) => title.length)) + 2;
  return shown.map(([title, value]) => `${title.padEnd(width)}${value}\n`).join('');
}
