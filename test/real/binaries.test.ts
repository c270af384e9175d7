import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { cacheFolder, compareVersions, findBinaries } from './binaries.ts';

const silent = () => {};

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'mooring-binaries-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function program(path: string, text = ''): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
}

test('KUBEBUILDER_ASSETS is used, and kubectl of PATH comes before the one beside the servers', async (t) => {
  const [assets, path] = [await folder(t), await folder(t)];
  for (const name of ['kube-apiserver', 'etcd', 'kubectl']) await program(join(assets, name));
  const env = { KUBEBUILDER_ASSETS: assets, PATH: path };
  const beside = await findBinaries(env, silent);
  assert.equal(beside.found?.kubectl, join(assets, 'kubectl'));
  await program(join(path, 'kubectl'));
  const own = await findBinaries(env, silent);
  assert.equal(own.found?.kubectl, join(path, 'kubectl'));
  assert.equal(own.found?.etcd, join(assets, 'etcd'));
});

test('KUBEBUILDER_ASSETS without the servers is an error without a fallback', async (t) => {
  const assets = await folder(t);
  await program(join(assets, 'etcd'));
  const result = await findBinaries({ KUBEBUILDER_ASSETS: assets, PATH: '' }, silent);
  assert.deepEqual(result, { found: undefined, reason: `KUBEBUILDER_ASSETS=${assets} lacks kube-apiserver` });
});

test('the cache folder is used when it is filled', async (t) => {
  const env = { XDG_CACHE_HOME: await folder(t), PATH: '' };
  const cache = await cacheFolder(env);
  await mkdir(cache, { recursive: true });
  for (const name of ['kube-apiserver', 'etcd']) await program(join(cache, name));
  const { found } = await findBinaries(env, silent);
  assert.equal(found?.kubeApiserver, join(cache, 'kube-apiserver'));
  assert.equal(found?.kubectl, undefined);
});

test('names the required go where there is none, or an older one', async (t) => {
  const [cache, path] = [await folder(t), await folder(t)];
  const env = { XDG_CACHE_HOME: cache, PATH: path };
  const without = await findBinaries(env, silent);
  assert.match(without.found === undefined ? without.reason : '', /no go on PATH to build them \(1\.26\.0 or newer\)/);
  await program(join(path, 'go'), 'echo go1.22.3');
  const older = await findBinaries(env, silent);
  assert.match(older.found === undefined ? older.reason : '', /go 1\.22\.3 is older than 1\.26\.0$/);
});

test('the programs that go builds get the names of the servers in the cache', async (t) => {
  const [cache, path] = [await folder(t), await folder(t)];
  const fake = [
    'if [ "$1" = env ]; then echo go1.26.9; exit; fi',
    'while [ "$1" != -o ]; do shift; done',
    'for name in server kube-apiserver kubectl; do echo "#!/bin/sh" > "$2$name"; /bin/chmod +x "$2$name"; done',
  ];
  await program(join(path, 'go'), fake.join('\n'));
  const said: string[] = [];
  const { found } = await findBinaries({ XDG_CACHE_HOME: cache, PATH: path }, (line) => said.push(line));
  assert.equal(found?.etcd, join(await cacheFolder({ XDG_CACHE_HOME: cache }), 'etcd'));
  assert.match(said[0] ?? '', /^building kube-apiserver, etcd and kubectl 1\.\d+\.\d+ with go/);
});

test('a build that fails is a reason and leaves no partial cache', async (t) => {
  const [cache, path] = [await folder(t), await folder(t)];
  await program(join(path, 'go'), 'if [ "$1" = env ]; then echo go1.26.9; exit; fi; exit 3');
  const env = { XDG_CACHE_HOME: cache, PATH: path };
  const result = await findBinaries(env, silent);
  assert.match(result.found === undefined ? result.reason : '', /^building them failed: go build .* \(exit code 3\)$/);
  assert.deepEqual(await readdir(await cacheFolder(env)), []);
});

test('versions are compared by number', () => {
  assert.equal(compareVersions('1.26.10', '1.26.9'), 1);
  assert.equal(compareVersions('1.26', '1.26.0'), 0);
  assert.equal(compareVersions('1.9', '1.26.0'), -1);
  assert.equal(compareVersions('1.27rc1', '1.26.0'), 1);
});
