import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve as resolvePath } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { cloudModules } from '../controller/clouds/registry.ts';
import { startEmbeddedApi } from '../test/conformance/embedded-api.ts';
import { type Build, buildAll } from './build.ts';
import { packagesOnDemand } from './left-out.ts';
import { bundledPackages } from './licenses.ts';

describe('the build', () => {
  let folder: string;
  let built: Build;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-build-'));
    built = await buildAll(folder);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const clouds = [...cloudModules.keys()];
  const packages = [...packagesOnDemand.keys()];

  /** Files that went into an output, as paths from the repository. */
  function inputs(name: string): string[] {
    const metafile = built.get(name);
    assert.ok(metafile, `${name} was not built`);
    return Object.keys(metafile.inputs);
  }

  /** What an output asks for when it runs, node's own modules left out. */
  function required(name: string): string[] {
    const [output] = Object.values(built.get(name)?.outputs ?? {});
    const asked = (output?.imports ?? []).filter(({ external }) => external).map(({ path }) => path);
    return [...new Set(asked.filter((path) => path.startsWith('.')))].sort();
  }

  async function run(program: string, args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    return new Promise((resolve) => {
      const env = { PATH: process.env['PATH'] };
      execFile(
        process.execPath,
        [resolvePath(folder, program), ...args],
        { env, timeout: 30_000 },
        (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      );
    });
  }

  test('makes one file a program and one a cloud of the registry', () => {
    assert.deepEqual(
      [...built.keys()].sort(),
      [
        'agent.cjs',
        'attestation.cjs',
        ...clouds.map((cloud) => `clouds/${cloud}.cjs`),
        'contract.cjs',
        'controller.cjs',
        'kubectl-mooring.cjs',
        ...packages.map((name) => `packages/${name}.cjs`),
        'ui-page.cjs',
      ].sort(),
    );
  });

  test('the agent holds no Kubernetes client, no cloud SDK, no server framework and nothing of the controller', () => {
    const unwanted = inputs('agent.cjs').filter((path) =>
      /node_modules\/(@kubernetes|@aws-sdk|@smithy|fastify|@fastify|yaml|@peculiar)\/|^controller\//.test(path),
    );
    assert.deepEqual(unwanted, []);
    assert.deepEqual(required('agent.cjs'), []);
  });

  test('the plugin of kubectl needs no other file, and has every command but run', async () => {
    assert.deepEqual(required('kubectl-mooring.cjs'), []);
    const alone = await mkdtemp(join(tmpdir(), 'plugin-'));
    try {
      const plugin = join(alone, 'kubectl-mooring');
      await copyFile(join(folder, 'kubectl-mooring.cjs'), plugin);
      const { stdout } = await run(plugin, ['--help']);
      assert.match(stdout, /^Usage: kubectl mooring COMMAND/m);
      assert.match(stdout, /^ {2}explain /m);
      assert.doesNotMatch(stdout, /^ {2}run /m);
      const check = await run(plugin, ['check', '--cloud-provider=aws', '--cloud-provider=gce', '--kubeconfig=/none']);
      assert.equal(check.code, 2);
      assert.match(check.stderr, /kubectl mooring check: --kubeconfig: kubeconfig \/none: there is no such file/);
    } finally {
      await rm(alone, { recursive: true });
    }
  });

  test("the file of aws describes the shapes that are used, not all of EC2's", async () => {
    const text = await readFile(join(folder, 'clouds/aws.cjs'), 'utf8');
    assert.match(text, /"DescribeInstancesRequest"/);
    assert.doesNotMatch(text, /"AcceptAddressTransferRequest"/);
    const [output] = Object.values(built.get('clouds/aws.cjs')!.outputs);
    assert.deepEqual(
      Object.keys(output!.inputs).filter((path) => path.includes('/dist-cjs/')),
      [],
    );
  });

  test('the controller holds no cloud and no SDK, and loads each from its own file', () => {
    const unwanted = inputs('controller.cjs').filter((path) =>
      /node_modules\/(@aws-sdk|@smithy|pkijs)\/|^controller\/clouds\/[^/]+\/|^agent\//.test(path),
    );
    assert.deepEqual(unwanted, []);
    assert.deepEqual(
      required('controller.cjs'),
      [
        './attestation.cjs',
        './contract.cjs',
        ...clouds.map((cloud) => `./clouds/${cloud}.cjs`),
        ...packages.map((name) => `./packages/${name}.cjs`),
        './ui-page.cjs',
      ].sort(),
    );
  });

  test('a package that is loaded on demand has what the controller uses of it', () => {
    const load = createRequire(import.meta.url);
    const typeOf = (name: string, key: string) => typeof load(join(folder, `packages/${name}.cjs`))[key];
    const used = [
      ['node-fetch', 'default'],
      ['jsonpath-plus', 'JSONPath'],
      ['openid-client', 'discovery'],
      ['openid-client', 'refreshTokenGrant'],
      ['yaml', 'parse'],
    ] as const;
    for (const [name, key] of used) assert.equal(typeOf(name, key), 'function', `${key} of ${name}`);
  });

  test('one copy of one YAML parser serves the controller and all clouds', () => {
    const files = ['controller.cjs', ...clouds.map((cloud) => `clouds/${cloud}.cjs`)];
    const having = files.filter((name) => inputs(name).some((path) => /node_modules\/(js-)?yaml\//.test(path)));
    assert.deepEqual(having, []);
  });

  test('the page of ui is one file of a script, a style and markup, with none of what builds it', async () => {
    const load = createRequire(import.meta.url);
    const { html, script, style, icon } = await load(join(folder, 'ui-page.cjs')).readPageFiles();
    assert.deepEqual([...String(html).matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address).sort(), [
      'icon.svg',
      'main.js',
      'page.css',
    ]);
    assert.doesNotMatch(html, /<script>|<style|style=| on\w+=/);
    assert.match(script, /EventSource\("updates"\)/);
    assert.match(style, /prefers-reduced-motion/);
    assert.match(icon, /^<svg/);
    assert.ok(script.length + style.length < 64 * 1024, `${script.length + style.length} bytes`);
    const others = [...inputs('ui-page.cjs'), ...inputs('controller.cjs')].filter((path) =>
      /node_modules\/(esbuild|puppeteer|axe)|^scripts\//.test(path),
    );
    assert.deepEqual(others, []);
    assert.deepEqual(
      inputs('controller.cjs').filter((path) => path.includes('/ui/page/')),
      [],
    );
  });

  test("a cloud's file holds no other cloud and no Kubernetes client", () => {
    for (const cloud of clouds) {
      const unwanted = inputs(`clouds/${cloud}.cjs`).filter((path) => {
        const folderOfCloud = /^controller\/clouds\/([^/]+)\//.exec(path)?.[1];
        return (
          (folderOfCloud !== undefined && folderOfCloud !== cloud) || /node_modules\/(@kubernetes|fastify)\//.test(path)
        );
      });
      assert.deepEqual(unwanted, [], cloud);
    }
  });

  test('contains ASCII alone: one letter beyond Latin-1 doubles what V8 keeps of the text', async () => {
    for (const name of built.keys()) {
      const found = /.{0,40}[^\p{ASCII}].{0,40}/u.exec(await readFile(join(folder, name), 'utf8'))?.[0];
      assert.equal(found, undefined, name);
    }
  });

  test('nothing of the tests ships', () => {
    for (const name of built.keys()) {
      const unwanted = inputs(name).filter((path) => /^test\/|\.test\.ts$|^[^n].*\/testing\//.test(path));
      assert.deepEqual(unwanted, [], name);
    }
  });

  test('bundles none of the generated clients of client-node with the controller', () => {
    const unwanted = inputs('controller.cjs').filter((path) =>
      /client-node\/dist\/gen\/|node_modules\/(undici|ws)\//.test(path),
    );
    assert.deepEqual(
      unwanted.filter((path) => !path.endsWith('/rxjsStub.js')),
      [],
    );
  });

  test('the built controller speaks to an API server by token and by exec plugin', async () => {
    const api = await startEmbeddedApi();
    try {
      const byToken = join(folder, 'by-token');
      await api.writeKubeconfig(byToken);
      const document = parse(await readFile(byToken, 'utf8'));
      const credential = {
        apiVersion: 'client.authentication.k8s.io/v1',
        kind: 'ExecCredential',
        status: { token: api.adminToken },
      };
      const exec = {
        apiVersion: credential.apiVersion,
        interactiveMode: 'Never',
        command: '/bin/echo',
        args: [JSON.stringify(credential)],
      };
      const byPlugin = join(folder, 'by-plugin');
      await writeFile(byPlugin, stringify({ ...document, users: [{ name: document.users[0].name, user: { exec } }] }));
      for (const kubeconfig of [byToken, byPlugin]) {
        const { code, stderr } = await run('controller.cjs', [
          'explain',
          'node',
          'nobody',
          `--kubeconfig=${kubeconfig}`,
        ]);
        assert.match(stderr, /there is no Node nobody/);
        assert.equal(code, 1);
      }
    } finally {
      await api.stop();
    }
  });

  test('the built controller serves the page', async () => {
    const api = await startEmbeddedApi();
    const kubeconfig = join(folder, 'of-the-page');
    await api.writeKubeconfig(kubeconfig);
    const child = spawn(process.execPath, [join(folder, 'controller.cjs'), 'ui', `--kubeconfig=${kubeconfig}`]);
    try {
      const printed = await new Promise<Buffer>((resolve, reject) => {
        child.stdout.once('data', resolve);
        child.once('exit', (code) => reject(new Error(`ended with ${code}`)));
      });
      const url = String(printed).trim();
      const page = await fetch(url);
      assert.equal(page.status, 200);
      assert.match(await page.text(), /<script defer src="main.js">/);
      assert.match(await (await fetch(`${url}main.js`)).text(), /EventSource/);
    } finally {
      child.removeAllListeners('exit');
      child.kill();
      await api.stop();
    }
  });

  test('names the missing file when the controller is asked for a cloud that is not beside it', async () => {
    const alone = await mkdtemp(join(tmpdir(), 'mooring-alone-'));
    try {
      for (const file of ['controller.cjs', 'contract.cjs']) await copyFile(join(folder, file), join(alone, file));
      const kubeconfig = join(alone, 'kubeconfig');
      const named = (kind: string, value: object) => [{ name: 'x', [kind]: value }];
      const clusters = named('cluster', { server: 'https://127.0.0.1:1' });
      const contexts = named('context', { cluster: 'x', user: 'x' });
      const users = named('user', { token: 'x' });
      const config = { apiVersion: 'v1', kind: 'Config', clusters, contexts, users, 'current-context': 'x' };
      await writeFile(kubeconfig, stringify(config));
      const args = ['run', '--cloud-provider=aws', `--kubeconfig=${kubeconfig}`];
      const { code, stderr } = await run(join(alone, 'controller.cjs'), args);
      assert.equal(code, 2);
      assert.equal(
        stderr,
        'mooring-controller run: --cloud-provider aws: clouds/aws.cjs is not beside the program, expected the whole ' +
          'of what was built\n',
      );
    } finally {
      await rm(alone, { recursive: true, force: true });
    }
  });

  test('ships packages whose terms allow it, and passes their notices on', async () => {
    const allowed = /^(MIT|ISC|0BSD|Apache-2\.0|BSD-[23]-Clause|BlueOak-1\.0\.0|Unlicense)$/;
    const packages = await bundledPackages(join(import.meta.dirname, '..'), built.values());
    const notices = await readFile(join(folder, 'third-party-licenses.txt'), 'utf8');
    assert.ok(packages.length > 50);
    for (const { name, version, license } of packages) {
      assert.match(license, allowed, name);
      assert.ok(notices.includes(`${name} ${version} (${license})\n`), name);
    }
  });

  test('the built programs run', async () => {
    const help = await run('controller.cjs', ['--help']);
    assert.equal(help.code, 0, help.stderr);
    assert.match(help.stdout, /explain/);
    const providerId = await run('agent.cjs', ['provider-id', '--help']);
    assert.equal(providerId.code, 0, providerId.stderr);
    assert.match(providerId.stdout, /--metadata-url/);
  });

  test('the built controller recognises an error that a cloud throws', async () => {
    const config = join(folder, 'cloud.yaml');
    await writeFile(config, 'bogus: 1\n');
    const { code, stderr } = await run('controller.cjs', [
      'check',
      '--cloud-provider=simulated',
      `--cloud-config=${config}`,
    ]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /unknown key "bogus"/);
  });
});
