import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { type FakeAnswer, hang, startFakeMetadata, treeAnswer } from '../../agent/testing/fake-metadata.ts';
import type { KubeletPackage } from '../../scripts/kubelet-package.ts';
import { folderOf, smallPackage, unpacked, withContents } from './harness/packages.ts';
import { run } from './harness/run.ts';

const fixtures = join(import.meta.dirname, '../../agent/metadata/fixtures');
const awsTree = JSON.parse(await readFile(join(fixtures, 'aws.json'), 'utf8'));
const awsId = '--provider-id=aws:///eu-west-3a/i-0aa11bb22cc33dd44';
const drive = `--cloud=openstack --config-drive=${join(fixtures, 'config-drive')}`;
const driveId = '--provider-id=openstack:///5c1d9d1e-1111-4222-8333-944444444444';

describe('provider-id.sh', () => {
  let made: KubeletPackage;
  before(async () => {
    made = await smallPackage();
  });

  type Environment = Readonly<Record<string, string>>;

  /** A node on which the package is unpacked, and a kubelet that is started as systemd does. */
  async function nodeOf(context: TestContext, packed = made) {
    const folder = await folderOf(context);
    const home = await unpacked(packed, folder);
    const script = join(home, 'bin/provider-id.sh');
    const state = join(folder, 'run');
    const file = join(state, 'kubelet.env');
    const read = () => readFile(file, 'utf8').catch(() => undefined);

    /** The environment with the file on top, as a shell reads it, whose rules for double quotes are systemd's. */
    async function withFile(env: Environment): Promise<Environment> {
      if ((await read()) === undefined) return env;
      const { stdout } = await run('sh', ['-c', `set -a; . "$1"; env -0`, 'sh', file], { env });
      return Object.fromEntries(
        stdout.split('\0').flatMap((line) => {
          const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(line) ?? [];
          return name === undefined || name === 'PWD' ? [] : [[name, value ?? '']];
        }),
      );
    }

    /** Both commands of the drop-in, each with the environment as it is by then. `env` is what the other files hold. */
    async function start(env: Environment = {}) {
      const base = { MOORING_RUN: state, ...env };
      const reset = await run(script, ['reset'], { env: await withFile(base) });
      const write = await run(script, ['write'], { env: await withFile(base) });
      const final = await withFile(base);
      const leftovers = (await readdir(state).catch(() => [])).filter((name) => name.startsWith('.'));
      assert.deepEqual(leftovers, []);
      return {
        code: write.code,
        stderr: reset.stderr + write.stderr,
        stdout: write.stdout,
        extra: final['KUBELET_EXTRA_ARGS'],
        env: final,
      };
    }
    return { folder, home, state, file, script, read, start };
  }

  async function metadata(context: TestContext, answer: (path: string) => FakeAnswer): Promise<string> {
    const service = await startFakeMetadata(({ path }) => answer(path));
    context.after(() => service.close());
    return service.url;
  }

  const aws = (path: string): FakeAnswer =>
    path === '/latest/api/token' ? 'token' : treeAnswer(awsTree)({ method: 'GET', path, headers: {} });

  /** A package whose agent is a shell script. */
  const withAgent = (body: string) => withContents(made, { 'bin/node': `#!/bin/sh\n${body}\n` });

  test("gives the kubelet the providerID of the machine's metadata service", async (context) => {
    const { start, read } = await nodeOf(context);
    const url = await metadata(context, aws);
    const { code, extra, stderr, stdout } = await start({ MOORING_AGENT_ARGS: `--cloud=aws --metadata-url=${url}` });
    assert.deepEqual([code, stdout, extra], [0, '', awsId]);
    assert.equal(stderr, `mooring: the kubelet gets ${awsId}\n`);
    assert.match((await read()) ?? '', /^# boot [0-9a-f-]{36}\n/);
  });

  test('adds host name and addresses where configured', async (context) => {
    const { start } = await nodeOf(context);
    const { extra } = await start({ MOORING_AGENT_ARGS: `${drive} --with=hostname-override,node-ip` });
    assert.equal(extra, `${driveId} --hostname-override=node-7 --node-ip=10.30.0.7,2001:db8:1:0:f816:3eff:fe00:1`);
  });

  test('keeps the content of the variable, byte for byte, and never adds twice', async (context) => {
    const { start } = await nodeOf(context, withAgent(`echo '${driveId}'`));
    for (const given of [
      '--v=2',
      `--node-labels=a=b --feature-gates="A=true" --x='y z'`,
      '--a=$HOME --b=`id` --c=\\$(id) --d="\\"" --e=%n',
      '#x',
      'öé',
    ]) {
      for (let starts = 0; starts < 3; starts += 1) {
        assert.equal((await start({ KUBELET_EXTRA_ARGS: given })).extra, `${given} ${driveId}`);
      }
    }
    // As after a person edited the file that the variable comes from.
    assert.equal((await start({ KUBELET_EXTRA_ARGS: '--v=4' })).extra, `--v=4 ${driveId}`);
    assert.equal((await start()).extra, driveId);
  });

  test('keeps any printable text', async (context) => {
    const { start } = await nodeOf(context, withAgent(`echo '${driveId}'`));
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1, maxLength: 40 }), async (given) => {
        assert.equal((await start({ KUBELET_EXTRA_ARGS: given })).extra, `${given} ${driveId}`);
      }),
      { numRuns: 15 },
    );
  });

  test("keeps a person's arguments of the kubelet, in kubeadm's variable too", async (context) => {
    const { start } = await nodeOf(context);
    const MOORING_AGENT_ARGS = `${drive} --with=node-ip`;
    const own = await start({ MOORING_AGENT_ARGS, KUBELET_EXTRA_ARGS: '--provider-id=openstack:///mine' });
    assert.match(own.extra ?? '', /^--provider-id=openstack:\/\/\/mine --node-ip=10\.30\.0\.7,\S+$/);
    assert.match(own.stderr, /--provider-id is among the kubelet's own arguments already/);
    const kubeadm = await start({ MOORING_AGENT_ARGS, KUBELET_KUBEADM_ARGS: '--node-ip 10.0.0.1 --v=2' });
    assert.equal(kubeadm.extra, driveId);
  });

  test('fills a variable of its own for a kubelet without kubeadm', async (context) => {
    const { start } = await nodeOf(context);
    const { env } = await start({ MOORING_AGENT_ARGS: drive, MOORING_VARIABLE: 'MOORING_KUBELET_ARGS' });
    assert.equal(env['MOORING_KUBELET_ARGS'], driveId);
    assert.equal(env['KUBELET_EXTRA_ARGS'], undefined);
  });

  test('writes nothing when in doubt, says why, and lets the kubelet start unless told otherwise', async (context) => {
    const dmi = await folderOf(context);
    await mkdir(join(dmi, 'sys/class/dmi/id'), { recursive: true });
    await writeFile(join(dmi, 'sys/class/dmi/id/sys_vendor'), 'QEMU\n');
    const hanging = await metadata(context, () => hang);
    const contradicting = await metadata(context, (path) =>
      path === '/latest/meta-data/instance-id' ? 'i-0ffffffffffffffff' : aws(path),
    );
    for (const [args, reason] of [
      ['--cloud=aws --metadata-url=http://127.0.0.1:1', /ECONNREFUSED/],
      [`--cloud=aws --metadata-url=${hanging}`, /was given up/],
      [`--system-root=${dmi}`, /fits no known cloud: sys_vendor="QEMU"; name the cloud/],
      [`--cloud=aws --metadata-url=${contradicting}`, /instance-id: "i-0ffffffffffffffff", expected/],
      ['--cloud=nonsense', /--cloud: "nonsense", expected one of/],
    ] as const) {
      const { start, read } = await nodeOf(context);
      const env = { MOORING_AGENT_ARGS: args, MOORING_TIMEOUT: '1', KUBELET_EXTRA_ARGS: '--v=2' };
      const free = await start(env);
      assert.deepEqual([free.code, free.extra, await read()], [0, '--v=2', undefined], free.stderr);
      assert.match(free.stderr, reason);
      assert.match(free.stderr, /the kubelet starts without arguments of ours/);
      const bound = await start({ ...env, MOORING_REQUIRED: 'true' });
      assert.deepEqual([bound.code, await read()], [1, undefined], bound.stderr);
      assert.match(bound.stderr, /MOORING_REQUIRED=true: the kubelet does not start/);
    }
  });

  test('ends an agent that never ends', async (context) => {
    const { start, read } = await nodeOf(context, withAgent('trap "" TERM\nwhile :; do sleep 1; done'));
    const { code, stderr } = await start({ MOORING_TIMEOUT: '1' });
    assert.deepEqual([code, await read()], [0, undefined]);
    assert.match(stderr, /the agent did not end within 4 s/);
  });

  test('drops output of an agent that is not plain arguments of ours', async (context) => {
    for (const printed of [
      '',
      'aws:///eu-west-3a/i-0aa11bb22cc33dd44',
      '--provider-id=',
      '--node-ip=10.0.0.1',
      '--node-ip=10.0.0.1\n--provider-id=x:///y',
      '--provider-id=x:///y\n--provider-id=x:///z',
      '--provider-id=x:///y\n--config=/tmp/evil',
      '--provider-id=x:///y --config=/tmp/evil',
      '--provider-id=x:///$(reboot)',
      '--provider-id=x:///`id`',
      '--provider-id="x:///y"',
      "--provider-id='x:///y'",
      '--provider-id=x:///y\\z',
      '--provider-id=x:///ü',
      '--provider-id=x:///y\t',
      `--provider-id=x:///${'y'.repeat(3000)}`,
    ]) {
      const { start, read, home } = await nodeOf(context, withAgent('cat "$0.out"'));
      await writeFile(join(home, 'bin/node.out'), `${printed}\n`);
      const { code, stderr } = await start();
      assert.deepEqual([code, await read()], [0, undefined], printed);
      assert.match(stderr, /the agent printed something else than arguments/, printed);
    }
  });

  test('passes on the providerID of an Azure resource group with parentheses', async (context) => {
    const id =
      '--provider-id=azure:///subscriptions/1/resourceGroups/my_(old)-group.1/providers/Microsoft.Compute/' +
      'virtualMachines/a';
    const { start } = await nodeOf(context, withAgent(`echo '${id}'`));
    assert.equal((await start({ KUBELET_EXTRA_ARGS: '--v=2' })).extra, `--v=2 ${id}`);
  });

  test('keeps the answer of this boot while the metadata service is away, and no other', async (context) => {
    const { start, file, read } = await nodeOf(context);
    let up = true;
    const url = await metadata(context, (path) => (up ? aws(path) : { status: 500 }));
    const env = { MOORING_AGENT_ARGS: `--cloud=aws --metadata-url=${url}`, MOORING_TIMEOUT: '1' };
    assert.equal((await start(env)).extra, awsId);
    up = false;
    for (let starts = 0; starts < 2; starts += 1) {
      const { extra, stderr } = await start({ ...env, KUBELET_EXTRA_ARGS: `--v=${starts}` });
      assert.equal(extra, `--v=${starts} ${awsId}`);
      assert.match(stderr, /what it said earlier in this boot still holds/);
    }
    const text = (await read()) ?? '';
    await writeFile(file, text.replace(/^# boot .*/, '# boot 00000000-0000-4000-8000-000000000000'));
    const { extra, code } = await start(env);
    assert.deepEqual([code, extra, await read()], [0, undefined, undefined]);
  });

  test('trusts neither of two answers in one boot, unless the settings changed', async (context) => {
    const { start, home, read, state } = await nodeOf(context, withAgent('cat "$0.out"'));
    const say = (text: string) => writeFile(join(home, 'bin/node.out'), `${text}\n`);
    await say('--provider-id=x:///one');
    assert.equal((await start()).extra, '--provider-id=x:///one');
    await say('--provider-id=x:///two');
    for (let starts = 0; starts < 2; starts += 1) {
      const { extra, stderr } = await start();
      assert.deepEqual([extra, await read()], [undefined, undefined]);
      assert.match(stderr, /says --provider-id=x:\/\/\/two, but said --provider-id=x:\/\/\/one earlier in this boot/);
    }
    await say('--provider-id=x:///one');
    assert.equal((await start()).extra, '--provider-id=x:///one');
    await say('--provider-id=x:///two');
    assert.equal((await start({ MOORING_AGENT_ARGS: '--cloud=other' })).extra, '--provider-id=x:///two');
    // An address may change, and is no contradiction.
    await say('--provider-id=x:///two\n--node-ip=10.0.0.2');
    assert.match((await start({ MOORING_AGENT_ARGS: '--cloud=other' })).extra ?? '', /--node-ip=10\.0\.0\.2$/);
    assert.deepEqual(await readdir(state), ['kubelet.env']);
  });

  test('refuses settings that it cannot follow, and names them', async (context) => {
    for (const [env, reason] of [
      [{ MOORING_TIMEOUT: '90' }, /MOORING_TIMEOUT: "90", expected whole seconds from 1 to 60/],
      [{ MOORING_TIMEOUT: '30s' }, /MOORING_TIMEOUT: "30s"/],
      [{ MOORING_TIMEOUT: '0' }, /MOORING_TIMEOUT: "0"/],
      [{ MOORING_REQUIRED: 'yes' }, /MOORING_REQUIRED: "yes", expected true or false/],
      [{ MOORING_VARIABLE: 'A B' }, /MOORING_VARIABLE: "A B", expected the name of a variable/],
      [{ MOORING_VARIABLE: 'x;reboot' }, /MOORING_VARIABLE: "x;reboot"/],
      [{ KUBELET_EXTRA_ARGS: '--a\n--b' }, /KUBELET_EXTRA_ARGS has more than one line/],
      [{ MOORING_AGENT_ARGS: '--a\n--b' }, /MOORING_AGENT_ARGS: expected one line/],
    ] as const) {
      const { start, read } = await nodeOf(context, withAgent(`echo '${driveId}'`));
      const { code, stderr } = await start(env);
      assert.deepEqual([code, await read()], [0, undefined]);
      assert.match(stderr, reason);
    }
  });

  test('counts a folder without write access as a doubt', async (context) => {
    const { start, folder } = await nodeOf(context, withAgent(`echo '${driveId}'`));
    await writeFile(join(folder, 'file'), '');
    const free = await start({ MOORING_RUN: join(folder, 'file/run') });
    assert.equal(free.code, 0);
    assert.match(free.stderr, /cannot write in .*file\/run/);
    assert.equal((await start({ MOORING_RUN: join(folder, 'file/run'), MOORING_REQUIRED: 'true' })).code, 1);
  });

  test('lets the kubelet start when parts of the package are missing', async (context) => {
    const { start, home } = await nodeOf(context);
    await chmod(join(home, 'bin/node'), 0o644);
    const { code, stderr, extra } = await start();
    assert.deepEqual([code, extra], [0, undefined]);
    assert.match(stderr, /the agent does not know the providerID \(exit code 126\)/);
  });

  test("passes no variable of the kubelet's to the agent, except the one for regional providerIDs", async (context) => {
    const { start } = await nodeOf(context);
    const { extra } = await start({
      MOORING_AGENT_ARGS: `${drive} --region=RegionOne`,
      OS_CCM_REGIONAL: 'true',
      NODE_OPTIONS: '--require=/nonexistent',
      HTTP_PROXY: 'http://127.0.0.1:1',
    });
    assert.equal(extra, driveId.replace('openstack:///', 'openstack://RegionOne/'));
  });

  test('names its two commands', async (context) => {
    const { script } = await nodeOf(context);
    const { code, stderr } = await run(script, ['wriet']);
    assert.equal(code, 2);
    assert.match(stderr, /usage: .*provider-id\.sh reset\|write/);
  });
});
