import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from './machine.ts';
import { askGuestinfo } from './metadata/guestinfo.ts';
import type { Dmi } from './metadata/source.ts';

const files = {
  sysVendor: 'sys/class/dmi/id/sys_vendor',
  productName: 'sys/class/dmi/id/product_name',
  productVersion: 'sys/class/dmi/id/product_version',
  productSerial: 'sys/class/dmi/id/product_serial',
  productUuid: 'sys/class/dmi/id/product_uuid',
  biosVendor: 'sys/class/dmi/id/bios_vendor',
  biosVersion: 'sys/class/dmi/id/bios_version',
  boardAssetTag: 'sys/class/dmi/id/board_asset_tag',
  chassisAssetTag: 'sys/class/dmi/id/chassis_asset_tag',
  hypervisorUuid: 'sys/hypervisor/uuid',
} as const satisfies Record<keyof Dmi, string>;

/** A machine with Linux. @param root of the file system */
export function linuxMachine(root: string): Machine {
  return {
    place: join(root, 'sys/class/dmi/id'),
    dmi: () => readDmi(root),
    bootId: () => readBootId(root),
    guestinfo: askGuestinfo,
  };
}

const lowerCased: ReadonlySet<string> = new Set(['productUuid', 'hypervisorUuid']);

/**
 * Reads the firmware's description of the machine from eleven one-line files; a library would start `dmidecode` for the
 * same. A missing or unreadable file (uuid and serial need root) leaves its field out. Never throws.
 *
 * @param root of the file system
 */
export async function readDmi(root = '/'): Promise<Dmi> {
  const entries = await Promise.all(
    Object.entries(files).map(async ([name, file]) => {
      const text = await readLine(join(root, file));
      return [name, lowerCased.has(name) ? text.toLowerCase() : text] as const;
    }),
  );
  return Object.fromEntries(entries.filter(([, text]) => text !== ''));
}

/** Kernel boot id of the machine; undefined where there is none. */
export async function readBootId(root = '/'): Promise<string | undefined> {
  return (await readLine(join(root, 'proc/sys/kernel/random/boot_id'))) || undefined;
}

async function readLine(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch {
    return '';
  }
}
