import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { version } from '../../common/version.ts';
import type { BuiltImage } from '../image/build-images.ts';
import { type Architecture, type DebianLock, debianNames } from '../image/debian-packages.ts';

const root = join(import.meta.dirname, '../..');

/** A component of CycloneDX 1.5, as far as it is read here. */
export interface Component {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly [field: string]: unknown;
}

interface Dependency {
  readonly ref: string;
  readonly dependsOn?: readonly string[];
}

interface NpmBom {
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
}

/** What npm says of every package of package-lock.json: licence, sum, address. */
export async function npmComponents(): Promise<NpmBom> {
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: root, maxBuffer: 2 ** 28 });
  return JSON.parse(stdout) as NpmBom;
}

/**
 * The parts of one image, on all its platforms, as a CycloneDX document: the packages in its bundles and no other, the
 * runtime, and the packages of Debian. The same image gives the same document. Throws where npm knows nothing of a
 * package that is in a bundle. Pure.
 */
export function sbomOf({ name, digest, packages }: BuiltImage, npm: NpmBom, debian: DebianLock): object {
  const known = new Map(npm.components.map((component) => [component['bom-ref'], component]));
  const wanted = [...packages.map((each) => `${each.name}@${each.version}`), ...runtimesOf(npm)];
  const bundled = [...new Set(wanted)].sort().map((ref) => {
    const component = known.get(ref);
    if (component === undefined) throw new Error(`${ref} is in ${name}, and npm sbom does not know it`);
    return component;
  });
  const components = [...bundled, ...systemComponents(debian)];
  const refs = new Set(components.map((component) => component['bom-ref']));
  const image = { 'bom-ref': name, type: 'container', name, version, hashes: [sha256Hash(digest.split(':')[1]!)] };
  const inside = npm.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)).sort() }))
    .sort((a, b) => (a.ref < b.ref ? -1 : 1));
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: { ...image, licenses: [{ license: { id: 'Apache-2.0' } }], purl: `pkg:oci/${name}@${digest}` },
    },
    components,
    dependencies: [{ ref: name, dependsOn: [...refs].sort() }, ...inside],
  };
}

function runtimesOf({ components }: NpmBom): string[] {
  return components.map((one) => one['bom-ref']).filter((ref) => /^node-linux-(x64|arm64)@/.test(ref));
}

function systemComponents(debian: DebianLock): Component[] {
  const all = Object.entries(debian).flatMap(([architecture, packages]) =>
    packages.map((each) => {
      const purl = `pkg:deb/debian/${each.name}@${encodeURIComponent(each.version)}`;
      const platform = debianNames[architecture as Architecture];
      const ref = `${purl}?arch=${platform}&distro=bookworm`;
      return {
        'bom-ref': ref,
        type: 'library',
        name: each.name,
        version: each.version,
        purl: ref,
        hashes: [sha256Hash(each.sha256)],
      };
    }),
  );
  return all.sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1));
}

function sha256Hash(content: string) {
  return { alg: 'SHA-256', content };
}
