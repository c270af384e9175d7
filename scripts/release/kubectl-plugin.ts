import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { version } from '../../common/version.ts';
import { bundlePlugin } from '../bundle.ts';
import { sha256 } from '../kubelet-package.ts';
import { bundledPackages, printNotices } from '../licenses.ts';
import { tarOf } from '../tar.ts';

const root = join(import.meta.dirname, '../..');

/** The plugin of kubectl with its licences, as an archive. The same sources give the same bytes. */
export async function pluginArchive(): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-plugin-'));
  try {
    const file = join(folder, 'kubectl-mooring.cjs');
    const metafile = await bundlePlugin(file);
    const notices = printNotices(await bundledPackages(root, [metafile]));
    const entries = [
      { path: 'LICENSE', mode: 0o644, content: await readFile(join(root, 'LICENSE')) },
      { path: 'kubectl-mooring.cjs', mode: 0o755, content: await readFile(file) },
      { path: 'third-party-licenses.txt', mode: 0o644, content: Buffer.from(notices) },
    ];
    return gzipSync(tarOf(entries), { level: 9 });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * The manifest with which krew installs the archive.
 *
 * @param url of the folder from which the files of the release are downloaded
 */
export async function krewManifest(url: string, archive: Uint8Array): Promise<string> {
  const template = await readFile(join(root, 'deploy/krew/mooring.yaml'), 'utf8');
  const text = template.replace(/^#.*\n/, '').replaceAll('VERSION', version);
  return text.replace('URL', url.replace(/\/$/, '')).replace('SHA256', sha256(archive));
}
