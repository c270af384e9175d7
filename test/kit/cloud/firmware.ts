import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SimulatedInstance } from './instance.ts';

/** The files by which a guest knows its machine, by their paths below the root of its file system. */
export function firmwareFiles(instance: SimulatedInstance): Readonly<Record<string, string>> {
  const dmi = 'sys/class/dmi/id';
  // One boot per incarnation, so that a rebuilt VM shows another boot id.
  const hex = createHash('sha256').update(instance.incarnation).digest('hex');
  const bootId =
    `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-` + `${hex.slice(20, 32)}`;
  return {
    [`${dmi}/sys_vendor`]: 'Mooring Simulated Cloud',
    [`${dmi}/product_name`]: instance.type,
    ...(instance.smbiosUuid !== undefined && { [`${dmi}/product_uuid`]: instance.smbiosUuid }),
    'proc/sys/kernel/random/boot_id': bootId,
  };
}

/**
 * Writes them below `root`, which an agent of this instance gets as `--system-root` on another machine. Safe to repeat.
 */
export async function writeFirmware(root: string, instance: SimulatedInstance): Promise<void> {
  for (const [path, text] of Object.entries(firmwareFiles(instance))) {
    const file = join(root, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `${text}\n`);
  }
}
