import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CloudError } from '../../common/cloud-error.ts';
import { openFat } from './fat.ts';
import { openIso } from './iso9660.ts';
import { BadVolume, fileOf, type ReadAt } from './volume.ts';

/** Labels of cloud-init's volumes, in any case: NoCloud's first, then the config drive's. */
const labels = ['cidata', 'config-2'] as const;

/** Reads files of the machine's cloud-init volume. */
export interface SeedVolume {
  /** `cidata` is of NoCloud; OpenStack writes `config-2`, and others do, too. */
  readonly label: 'cidata' | 'config-2';
  /** `/dev/disk/by-label/cidata`, for people. */
  readonly device: string;
  /** Undefined where there is no such file. Throws a CloudError for a volume that cannot be read. */
  text(path: string): Promise<string | undefined>;
}

/**
 * The volume that cloud-init reads, by the label that the system shows for it. Undefined without one. Opens no device.
 *
 * @param root of the file system
 */
export async function findSeedVolume(
  root: string,
  { cloud, maxBytes }: { readonly cloud: string; readonly maxBytes: number },
): Promise<SeedVolume | undefined> {
  const folder = join(root, 'dev/disk/by-label');
  const names = await readdir(folder).catch((): string[] => []);
  const hits = labels.flatMap((label) =>
    names.filter((name) => name.toLowerCase() === label).map((name) => ({ label, name })),
  );
  if (hits[0] === undefined) return undefined;
  const { label, name } = hits[0];
  const alike = hits.filter((hit) => hit.label === label).length;
  const device = join(folder, name);
  return {
    label,
    device,
    async text(path) {
      const operation = `read ${path} of ${device}`;
      try {
        if (alike > 1) throw new BadVolume(`${alike} volumes are labelled ${label}, expected one`);
        return (await readFromDevice(device, path, maxBytes))?.toString('utf8');
      } catch (cause) {
        const kind = cause instanceof BadVolume ? 'Invalid' : 'Unavailable';
        const message = cause instanceof Error ? cause.message : String(cause);
        throw new CloudError({ cloud, operation, kind, message, cause });
      }
    },
  };
}

async function readFromDevice(device: string, path: string, maxBytes: number): Promise<Buffer | undefined> {
  const handle = await open(device, 'r');
  try {
    const readAt = readingAt(handle);
    const tree = (await unlessCut(openIso(readAt))) ?? (await unlessCut(openFat(readAt)));
    if (tree === undefined) throw new BadVolume('neither ISO 9660 nor FAT');
    return await fileOf(tree, path, maxBytes);
  } finally {
    await handle.close();
  }
}

function readingAt(handle: FileHandle): ReadAt {
  return async (position, length) => {
    const buffer = Buffer.alloc(length);
    const { bytesRead } = await handle.read({ buffer, position });
    if (bytesRead < length) throw new BadVolume('the volume ends before its content does');
    return buffer;
  };
}

/** A volume of the other kind may be shorter than this one's first block. */
async function unlessCut<Tree>(opening: Promise<Tree | undefined>): Promise<Tree | undefined> {
  try {
    return await opening;
  } catch (error) {
    if (error instanceof BadVolume) return undefined;
    throw error;
  }
}
