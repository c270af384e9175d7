/** Reads `length` bytes of a volume. Throws where it ends before. */
export type ReadAt = (offset: number, length: number) => Promise<Buffer>;

/** A file or folder of a volume, by where it begins. */
export interface VolumeEntry {
  readonly name: string;
  readonly isFolder: boolean;
  /** Block or cluster. */
  readonly start: number;
  /** Bytes; 0 for a folder where the file system does not have it. */
  readonly size: number;
}

/** A file system that can be read. */
export interface FileTree {
  entries(folder: VolumeEntry): Promise<readonly VolumeEntry[]>;
  content(file: VolumeEntry): Promise<Buffer>;
  readonly root: VolumeEntry;
}

/** No folder that is read has more. */
export const maxFolderBytes = 256 * 1024;

/** The image is not as its file system demands. The message has nothing of its content. */
export class BadVolume extends Error {
  override readonly name = 'BadVolume';
}

/**
 * The bytes of a file; undefined where there is none.
 *
 * @throws BadVolume for more than `maxBytes` and for a damaged volume
 */
export async function fileOf(tree: FileTree, path: string, maxBytes: number): Promise<Buffer | undefined> {
  let entry: VolumeEntry | undefined = tree.root;
  for (const name of path.split('/')) {
    if (!entry?.isFolder) return undefined;
    entry = (await tree.entries(entry)).find((one) => one.name === name);
  }
  if (entry === undefined || entry.isFolder) return undefined;
  if (entry.size > maxBytes) throw new BadVolume(`${path} exceeds ${maxBytes} bytes`);
  return tree.content(entry);
}
