import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freePorts } from '../kit/free-ports.ts';
import { type KubeApiServer, startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { controllerMain } from '../kit/world/shortened.ts';
import { aws, azure, type ClassicController, huaweicloud, openstack, vsphere } from './fixtures/cases.ts';

let api: KubeApiServer;
let folder: string;

before(async () => {
  api = await startKubeApi();
  folder = await mkdtemp(join(tmpdir(), 'mooring-drop-in-'));
  await api.writeKubeconfig(join(folder, 'kubeconfig'));
});

after(async () => {
  await api.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Run {
  /** Lines of stdout. */
  readonly log: string[];
  readonly stderr: string;
  readonly code: number | null;
}

/**
 * Starts the shipped program with the recorded arguments, as a kubelet would (variables expanded, configuration
 * mounted), and ends it once it leads. A kubeconfig and free ports replace what a Pod has and this machine lacks.
 */
async function start(recorded: ClassicController, extra: readonly string[] = []): Promise<Run> {
  const mounted = join(folder, 'cloud.conf');
  if (recorded.config) await writeFile(mounted, recorded.config.text);
  const expanded = recorded.args.map((text) =>
    text
      .replace(/\$\((\w+)\)/g, (_, name: string) => recorded.env[name] ?? '')
      .replace(recorded.config?.path ?? '\0', mounted),
  );
  const { report, secure } = await freePorts('report', 'secure');
  const ports = [`--report-address=127.0.0.1:${report}`, `--secure-port=${secure}`];
  const args = [
    controllerMain,
    ...expanded,
    `--kubeconfig=${join(folder, 'kubeconfig')}`,
    ...ports,
    `--leader-elect-resource-name=${recorded.project.split('/')[1]}`,
    ...extra,
  ];
  // No cloud of theirs is here to ask: nothing leaves this machine.
  const nowhere = { AWS_ENDPOINT_URL: 'http://127.0.0.1:1', AWS_EC2_METADATA_DISABLED: 'true' };
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: folder, ...nowhere, ...recorded.env };
  const child = spawn(process.execPath, args, { env });
  const log: string[] = [];
  let stderr = '';
  let rest = '';
  child.stdout.on('data', (part: Buffer) => {
    const lines = (rest + part).split('\n');
    rest = lines.pop() ?? '';
    log.push(...lines);
    if (lines.some((line) => line.includes('"msg":"leading"'))) child.kill('SIGTERM');
  });
  child.stderr.on('data', (part: Buffer) => {
    stderr += part;
  });
  const hard = setTimeout(() => child.kill('SIGKILL'), 30_000);
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  clearTimeout(hard);
  return { log, stderr, code };
}

function messages(run: Run): string[] {
  return run.log.map((line) => JSON.parse(line).msg);
}

describe("arguments of the clouds' own controllers", () => {
  it("accepts the arguments of AWS's controller, and names those without meaning here", async () => {
    const run = await start(aws);
    assert.equal(run.code, 0, run.stderr + run.log.join('\n'));
    assert.ok(messages(run).includes('leading'));
    assert.match(run.log.join('\n'), /"msg":"cloud is report-only until it tells its account","cloud":"aws"/);
    assert.match(run.stderr, /--use-service-account-credentials/);
    assert.doesNotMatch(run.stderr, /--configure-cloud-routes/);
  });

  it("accepts the arguments of OpenStack's controller with the cloud.conf that its plugins share", async () => {
    const run = await start(openstack);
    assert.equal(run.code, 0, run.stderr + run.log.join('\n'));
    assert.ok(messages(run).includes('leading'));
    assert.match(run.log.join('\n'), /"msg":"cloud is report-only until it tells its account","cloud":"openstack"/);
    assert.match(run.stderr, /--address/);
  });

  it("accepts the arguments of Azure's controller, and logs what is missing for pod ranges", async () => {
    const run = await start(azure);
    assert.equal(run.code, 0, run.stderr + run.log.join('\n'));
    assert.ok(messages(run).includes('leading'));
    assert.match(run.log.join('\n'), /"msg":"cloud is report-only until it tells its account","cloud":"azure"/);
    assert.match(run.log.join('\n'), /--allocate-node-cidrs has no effect: nodeipam is not named/);
    assert.doesNotMatch(run.log.join('\n'), /unknown keys/);
  });

  it("accepts the arguments of Huawei Cloud's controller with its cloud config", async () => {
    const run = await start(huaweicloud);
    assert.equal(run.code, 0, run.stderr + run.log.join('\n'));
    assert.ok(messages(run).includes('leading'));
    assert.match(run.log.join('\n'), /"msg":"cloud is report-only until it tells its account","cloud":"huaweicloud"/);
  });

  it("accepts the arguments of vSphere's controller once its Secret is mounted as files, as it says", async () => {
    const bare = await start(vsphere);
    assert.equal(bare.code, 2);
    assert.match(bare.stderr, /no credential for 127\.0\.0\.1; .*secrets-directory .*reads no Secret through the API/);
    const secrets = join(folder, 'secrets');
    await mkdir(secrets);
    for (const server of ['127.0.0.1', '127.0.0.2'])
      for (const key of ['username', 'password']) await writeFile(join(secrets, `${server}.${key}`), 'example\n');
    const run = await start({ ...vsphere, env: { VSPHERE_SECRETS_DIRECTORY: secrets } });
    assert.equal(run.code, 0, run.stderr + run.log.join('\n'));
    assert.ok(messages(run).includes('leading'));
    assert.match(run.log.join('\n'), /"msg":"cloud is report-only until it tells its account","cloud":"vsphere"/);
  });

  it('refuses arguments in one line that would weaken leader election or access', async () => {
    for (const flag of [
      '--enable-leader-migration=true',
      '--authentication-skip-lookup=true',
      '--client-ca-file=/etc/ca.crt',
    ]) {
      const run = await start(huaweicloud, [flag]);
      assert.equal(run.code, 2);
      const errors = run.stderr.split('\n').filter((line) => line !== '' && !line.includes('warning'));
      assert.equal(errors.length, 1, run.stderr);
      assert.match(errors[0] ?? '', new RegExp(flag.split('=')[0] ?? ''));
    }
  });
});
