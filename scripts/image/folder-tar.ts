import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Options of GNU tar by which the same content gives the same bytes, whoever packs it and when. */
const reproducible = [
  '--sort=name',
  '--mtime=@0',
  '--owner=0',
  '--group=0',
  '--numeric-owner',
  '--format=ustar',
  '--mode=u+rw,go=u-w',
];

/** A tar of everything below a folder. */
export async function tarOfFolder(folder: string): Promise<Buffer> {
  const options = { encoding: 'buffer', maxBuffer: 2 ** 30 } as const;
  const { stdout } = await promisify(execFile)('tar', [...reproducible, '--create', '-C', folder, '.'], options);
  return stdout;
}
