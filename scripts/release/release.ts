import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { version } from '../../common/version.ts';
import { buildImages, imageCache } from '../image/build-images.ts';
import { readLock } from '../image/debian-packages.ts';
import { fetchRuntime, runtimeCache } from '../image/runtime.ts';
import { archiveOf, type KubeletPackage, makePackage, sha256 } from '../kubelet-package.ts';
import { singleFile } from '../render-base.ts';
import { makeWindowsPackage } from '../windows/windows-package.ts';
import { chartArchive } from './chart-archive.ts';
import { signFile } from './cosign.ts';
import { krewManifest, pluginArchive } from './kubectl-plugin.ts';
import { provenanceOf, repositoryUri } from './provenance.ts';
import { releaseNotes } from './release-notes.ts';
import { npmComponents, sbomOf } from './sbom.ts';

/**
 * `npm run release [-- --key=FILE]`: everything of a release, into `dist/release`: images, chart, manifests, packages
 * for the kubelet and for Windows, plugin of kubectl, bills of materials, notes, provenance and sums, and the signature
 * of the sums where a key of cosign is given. The same commit gives the same files, but the signature.
 */

const root = join(import.meta.dirname, '../..');

const help = `Usage: npm run release [-- OPTIONS]

  --key=FILE         sign SHA256SUMS with this key of cosign; its password is in COSIGN_PASSWORD
  --cosign=PROGRAM   cosign 3 (default: cosign)
  --builder=URI      who builds, for the provenance (default: https://mooring.dev/builder/local)
  --url=URL          where the files will be downloaded from, for the manifest of krew
  --uncommitted      build although the checkout has changes that are not committed
`;

interface ReleaseOptions {
  readonly folder: string;
  readonly key?: string | undefined;
  readonly cosign: string;
  readonly builder: string;
  readonly url?: string | undefined;
  readonly uncommitted: boolean;
  say(line: string): void;
}

async function makeRelease({ folder, key, cosign, builder, url, uncommitted, say }: ReleaseOptions): Promise<void> {
  const commit = await git('rev-parse', 'HEAD');
  const changed = await git('status', '--porcelain');
  if (changed !== '' && !uncommitted)
    throw new Error(`the checkout has changes that are not committed; commit them, or give --uncommitted:\n${changed}`);
  const notes = releaseNotes(await readFile(join(root, 'CHANGELOG.md'), 'utf8'), version);
  if (notes.title !== version) say(`CHANGELOG.md has no section [${version}]: the notes are those of [${notes.title}]`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const write = async (name: string, content: string | Uint8Array) => {
    await writeFile(join(folder, name), content);
    say(name);
  };
  const writeJson = (name: string, value: object) => write(name, `${JSON.stringify(value, undefined, 2)}\n`);

  say('building the images');
  const debian = await readLock();
  const npm = await npmComponents();
  const cache = imageCache(process.env);
  const images = await buildImages(folder, cache);
  for (const image of images) {
    say(`${image.name}@${image.digest}`);
    await writeJson(`${image.name}-${version}.cdx.json`, sbomOf(image, npm, debian));
  }
  const digests = Object.fromEntries(images.map(({ name, digest }) => [name.replace('mooring-', ''), digest]));
  await write(`mooring-${version}.tgz`, await chartArchive(digests));
  await write('mooring.yaml', await singleFile());
  for (const [platform, architecture] of [
    ['amd64', 'x64'],
    ['arm64', 'arm64'],
  ] as const) {
    const made = await makePackage({ architecture, runtime: await fetchRuntime(platform, runtimeCache(cache)) });
    await write(`${made.name}.tar.gz`, archiveOf(made));
  }
  const windows = await windowsPackage(runtimeCache(cache));
  await write(`${windows.name}.tar.gz`, archiveOf(windows));
  const plugin = await pluginArchive();
  await write(`kubectl-mooring-${version}.tar.gz`, plugin);
  if (url === undefined) say('no manifest for krew: no --url');
  else await write('krew-mooring.yaml', await krewManifest(url, plugin));
  await write('RELEASE-NOTES.md', notes.text);

  const files = await sumsOf(folder);
  const packageLock = sha256(await readFile(join(root, 'package-lock.json')));
  const remote = await git('config', '--get', 'remote.origin.url').catch(() => 'https://mooring.dev/mooring');
  const repository = repositoryUri(remote);
  await writeJson(
    'provenance.json',
    provenanceOf({ version, repository, commit, files, packageLock, debian, builder }),
  );
  const sums = [...(await sumsOf(folder))].map(([name, sum]) => `${sum}  ${name}\n`);
  await write('SHA256SUMS', sums.join(''));
  if (key === undefined) return say('not signed: no --key');
  await signFile(cosign, key, join(folder, 'SHA256SUMS'));
  say('SHA256SUMS.sigstore.json');
}

async function windowsPackage(cache: string): Promise<KubeletPackage> {
  const [linux, runtime] = [await fetchRuntime('amd64', cache), await fetchRuntime('windows-amd64', cache)];
  return makeWindowsPackage({
    node: await readFile(join(runtime, 'bin/node.exe')),
    nodeLicense: await readFile(join(linux, 'LICENSE')),
  });
}

/** SHA-256 of each file, by name. */
async function sumsOf(folder: string): Promise<Map<string, string>> {
  const names = (await readdir(folder)).sort();
  return new Map(
    await Promise.all(names.map(async (name) => [name, sha256(await readFile(join(folder, name)))] as const)),
  );
}

async function git(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', args, { cwd: root });
  return stdout.trim();
}

const { values } = parseArgs({
  options: {
    key: { type: 'string' },
    cosign: { type: 'string', default: 'cosign' },
    builder: { type: 'string', default: 'https://mooring.dev/builder/local' },
    url: { type: 'string' },
    uncommitted: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) console.log(help);
else
  try {
    await makeRelease({ ...values, folder: join(root, 'dist/release'), say: (line) => console.log(line) });
  } catch (error) {
    console.error(`release: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
