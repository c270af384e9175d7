import type { Machine } from '../machine.ts';
import { askGuestinfoOnWindows } from '../metadata/guestinfo.ts';
import type { Dmi } from '../metadata/source.ts';
import { type QueryRegistry, type RegistryValue, registryValues } from './registry.ts';
import { readSmbios } from './smbios.ts';

/** The firmware's table, which the driver of SMBIOS copies at boot. Only administrators may read it everywhere. */
const tableKey = 'HKLM\\SYSTEM\\CurrentControlSet\\Services\\mssmbios\\Data';
/** Some of its texts, which everybody may read. */
const textKey = 'HKLM\\HARDWARE\\DESCRIPTION\\System\\BIOS';
/** The kubelet takes its systemUUID from here (pkg/kubelet/winstats in Kubernetes). */
const uuidKey = 'HKLM\\SYSTEM\\HardwareConfig';
/** A counter of boots; the kubelet's bootID on Windows. */
const bootKey = 'HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Memory Management\\PrefetchParameters';

const texts: readonly (readonly [field: keyof Dmi, value: string])[] = [
  ['sysVendor', 'systemmanufacturer'],
  ['productName', 'systemproductname'],
  ['productVersion', 'systemversion'],
  ['biosVendor', 'biosvendor'],
  ['biosVersion', 'biosversion'],
];
const uuidShape = /^\{?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\}?$/i;

/** A machine with Windows, by its registry alone. */
export function windowsMachine(query: QueryRegistry): Machine {
  async function valuesOf(key: string, name?: string): Promise<ReadonlyMap<string, RegistryValue>> {
    return registryValues((await query(key, name)) ?? '');
  }
  const one = async (key: string, name: string) => (await valuesOf(key, name)).get(name.toLowerCase());

  return {
    place: textKey,
    guestinfo: askGuestinfoOnWindows,
    async dmi() {
      const [table, shown, config] = await Promise.all([
        one(tableKey, 'SMBiosData'),
        valuesOf(textKey),
        one(uuidKey, 'LastConfig'),
      ]);
      const fallback = texts.flatMap(([field, name]): [keyof Dmi, string][] => {
        const { type, data } = shown.get(name) ?? {};
        return type === 'REG_SZ' && data ? [[field, data]] : [];
      });
      const uuid = uuidShape.exec(config?.data ?? '')?.[1]?.toLowerCase();
      return {
        ...Object.fromEntries(fallback),
        ...(uuid === undefined ? {} : { productUuid: uuid }),
        ...(table?.type === 'REG_BINARY' ? readSmbios(bytesOf(table.data)) : {}),
      };
    },
    async bootId() {
      const { type, data = '' } = (await one(bootKey, 'BootId')) ?? {};
      return type === 'REG_DWORD' && /^0x[0-9a-f]{1,8}$/i.test(data) ? String(Number(data)) : undefined;
    },
  };
}

/** None where the text is not hex throughout: half a table would be another machine's. */
function bytesOf(hex: string): Buffer {
  return /^(?:[0-9a-f]{2})*$/i.test(hex) ? Buffer.from(hex, 'hex') : Buffer.alloc(0);
}
