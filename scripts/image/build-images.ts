import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Metafile } from 'esbuild';
import { version } from '../../common/version.ts';
import { type Build, buildAll } from '../build.ts';
import { type BundledPackage, bundledPackages, printNotices } from '../licenses.ts';
import { type Architecture, currentPackages, lockFile, readLock } from './debian-packages.ts';
import { architectures, type ImageConfig, type Layer, layerOf, ociArchive } from './oci-archive.ts';
import { writeBase } from './root-file-system.ts';

/**
 * `npm run images`: both images for all platforms, as archives in the OCI image layout, without a daemon. The runtime
 * comes from npm's registry, libraries and authorities from Debian, each pinned. The same commit gives the same bytes.
 * `--lock` pins the current packages of Debian instead.
 *
 * Needs dpkg-deb and GNU tar.
 */

const root = join(import.meta.dirname, '../..');

export interface Image {
  readonly name: string;
  /** Paths below the build's folder. */
  readonly files: readonly string[];
  readonly user: string;
  readonly entrypoint: readonly string[];
  /** Of every program that is run in a container; the options of the entry point win. */
  readonly nodeOptions?: string;
}

/**
 * Of both programs. With one arena of glibc instead of one for each thread, a leader whose 5,000 Nodes join at once
 * peaks 16 MiB lower (`bench -- memory`).
 */
export const memoryEnvironment = { MALLOC_ARENA_MAX: '1' } as const;

export const images: readonly Image[] = [
  {
    name: 'mooring-agent',
    files: ['agent.cjs'],
    user: '0:0',
    entrypoint: ['node', '--lite-mode', '--max-old-space-size=24', '--max-semi-space-size=1', '/app/agent.cjs'],
  },
  {
    name: 'mooring-controller',
    files: ['attestation.cjs', 'contract.cjs', 'controller.cjs', 'ui-page.cjs', 'clouds', 'packages'],
    user: '65532:65532',
    entrypoint: [
      'node',
      '--max-semi-space-size=1',
      '--max-old-space-size-percentage=50',
      '--optimize-for-size',
      '/app/controller.cjs',
    ],
    // For what is run beside the controller in its pod.
    nodeOptions: '--max-semi-space-size=1 --max-old-space-size=96',
  },
];

function configOf({ name, user, entrypoint, nodeOptions }: Image): ImageConfig {
  return {
    User: user,
    Entrypoint: entrypoint,
    Cmd: ['run'],
    WorkingDir: '/app',
    Env: [
      'PATH=/usr/local/bin',
      'SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt',
      ...Object.entries(memoryEnvironment).map(([key, value]) => `${key}=${value}`),
      ...(nodeOptions === undefined ? [] : [`NODE_OPTIONS=${nodeOptions}`]),
    ],
    Labels: {
      'org.opencontainers.image.title': name,
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': 'Apache-2.0',
    },
  };
}

/**
 * Writes `NAME-VERSION.oci.tar` of each image into a folder. Safe to repeat.
 *
 * @returns name, file, digest of the image, its compressed size on each platform, and what is in it
 */
export async function buildImages(folder: string, cache: string): Promise<BuiltImage[]> {
  const work = await mkdtemp(join(tmpdir(), 'mooring-images-'));
  try {
    const dist = join(work, 'dist');
    const build = await buildAll(dist);
    const lock = await readLock();
    const bases = new Map<Architecture, Layer>();
    for (const architecture of architectures) {
      const base = join(work, architecture);
      await writeBase(base, architecture, lock[architecture], cache);
      bases.set(architecture, await layerOf(base));
    }
    await mkdir(folder, { recursive: true });
    const built: BuiltImage[] = [];
    for (const image of images) {
      const packages = await bundledPackages(root, metafilesOf(build, image));
      const own = await layerOf(await appFolder(join(work, image.name), dist, image, packages));
      const layers = Object.fromEntries(architectures.map((each) => [each, [bases.get(each)!, own]]));
      const { archive, digest } = await ociArchive(
        `${image.name}:${version}`,
        configOf(image),
        layers as Record<Architecture, Layer[]>,
        '1970-01-01T00:00:00Z',
      );
      const file = join(folder, `${image.name}-${version}.oci.tar`);
      await writeFile(file, archive);
      const sizes = architectures.map((each) => [each, sizeOf(bases.get(each)!) + sizeOf(own)] as const);
      built.push({ name: image.name, file, digest, sizes: Object.fromEntries(sizes), packages });
    }
    return built;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

export interface BuiltImage {
  readonly name: string;
  readonly file: string;
  readonly digest: string;
  /** Compressed, in bytes. */
  readonly sizes: Readonly<Record<string, number>>;
  /** Of npm, in its bundles. */
  readonly packages: readonly BundledPackage[];
}

function metafilesOf(build: Build, { files }: Image): Metafile[] {
  const isInside = (path: string) => files.some((file) => path === file || path.startsWith(`${file}/`));
  return [...build].filter(([path]) => isInside(path)).map(([, metafile]) => metafile);
}

const sizeOf = ({ compressed }: Layer) => compressed.length;

async function appFolder(
  folder: string,
  dist: string,
  { files }: Image,
  packages: readonly BundledPackage[],
): Promise<string> {
  const app = join(folder, 'app');
  for (const file of files) await cp(join(dist, file), join(app, file), { recursive: true });
  await mkdir(join(app, 'licenses'));
  await writeFile(join(app, 'licenses/third-party'), printNotices(packages));
  return folder;
}

/** Where downloads are kept between builds. */
export function imageCache(env: NodeJS.ProcessEnv): string {
  return join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'mooring/image');
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { lock: { type: 'boolean', default: false } } });
  if (values.lock) {
    const entries = await Promise.all(architectures.map(async (each) => [each, await currentPackages(each)]));
    const text = `${JSON.stringify(Object.fromEntries(entries), undefined, 2)}\n`;
    const changed = text !== (await readFile(lockFile, 'utf8').catch(() => ''));
    await writeFile(lockFile, text);
    console.log(changed ? 'deploy/image/debian.json has newer packages' : 'deploy/image/debian.json is up to date');
  } else {
    const folder = join(root, 'dist/images');
    for (const { name, file, digest, sizes } of await buildImages(folder, imageCache(process.env))) {
      const each = Object.entries(sizes).map(([on, bytes]) => `${on} ${(bytes / 1e6).toFixed(1)} MB`);
      console.log(`${name}@${digest} (${each.join(', ')}): ${file}`);
    }
  }
}
