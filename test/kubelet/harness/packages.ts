import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { type KubeletPackage, makePackage, sha256 } from '../../../scripts/kubelet-package.ts';

/** A small file that stands for the Node binary: runs the Node of this process. */
export const smallNode = Buffer.from(`#!/bin/sh\nexec ${process.execPath} "$@"\n`);

/** The package of these sources, with a small file in place of the Node binary. */
export function smallPackage(): Promise<KubeletPackage> {
  return makePackage({ architecture: process.arch === 'arm64' ? 'arm64' : 'x64', node: smallNode });
}

/** The same package with other contents, and sums that fit them. */
export function withContents(made: KubeletPackage, contents: Readonly<Record<string, string>>): KubeletPackage {
  const files = made.files
    .filter(({ path }) => path !== 'SHA256SUMS')
    .map((file) =>
      contents[file.path] === undefined ? file : { ...file, content: Buffer.from(contents[file.path] ?? '') },
    );
  const sums = files.map(({ path, content }) => `${sha256(content)}  ${path}\n`).join('');
  return { ...made, files: [{ path: 'SHA256SUMS', mode: 0o644, content: Buffer.from(sums) }, ...files] };
}

/** Writes a package as if it had been unpacked. Answers its folder. */
export async function unpacked({ name, files }: KubeletPackage, folder: string): Promise<string> {
  for (const { path, mode, content } of files) {
    await mkdir(dirname(join(folder, name, path)), { recursive: true });
    await writeFile(join(folder, name, path), content, { mode });
  }
  return join(folder, name);
}

export async function folderOf(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-kubelet-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
