import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { version } from '../../common/version.ts';
import { type KubeletPackage, sha256 } from '../kubelet-package.ts';
import { bundledPackages, printNotices } from '../licenses.ts';
import type { TarEntry } from '../tar.ts';
import { agentExecutable } from './agent-executable.ts';

const root = join(import.meta.dirname, '../..');
const source = join(root, 'deploy/windows');

export interface WindowsPackageOptions {
  /** node.exe of the version that runs this. */
  readonly node: Uint8Array;
  /** Of Node, in the package for Linux: that for Windows has none. */
  readonly nodeLicense: Uint8Array;
}

/**
 * What a Windows node gets: the agent as one program, the scripts for its kubelet, and a Dockerfile with which the
 * unpacked folder becomes an image. The same sources give the same bytes.
 */
export async function makeWindowsPackage({ node, nodeLicense }: WindowsPackageOptions): Promise<KubeletPackage> {
  const { program, metafile } = await agentExecutable(node);
  const notices = printNotices(await bundledPackages(root, [metafile]));
  const own = ['Dockerfile', 'install.ps1', 'provider-id.ps1'];
  const files: TarEntry[] = [
    ...(await Promise.all(own.map(async (path) => entry(path, await readFile(join(source, path)))))),
    entry('VERSION', Buffer.from(`${version}-windows-amd64\n`)),
    entry('licenses/mooring', await readFile(join(root, 'LICENSE'))),
    entry('licenses/node', nodeLicense),
    entry('licenses/third-party', Buffer.from(notices)),
    entry('mooring-agent.exe', program, 0o755),
  ];
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  const sums = files.map(({ path, content }) => `${sha256(content)}  ${path}\n`).join('');
  return {
    name: `mooring-windows-${version}-amd64`,
    files: [entry('SHA256SUMS', Buffer.from(sums)), ...files],
  };
}

function entry(path: string, content: Uint8Array, mode = 0o644): TarEntry {
  return { path, mode, content };
}
