import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import {
  type FakeAnswer,
  type FakeMetadata,
  startFakeMetadata,
  treeAnswer,
} from '../../agent/testing/fake-metadata.ts';
import { systemClock } from '../../common/process/clock.ts';
import { createHttp } from '../../common/process/http.ts';
import { archiveOf, type KubeletPackage, makePackage, sha256 } from '../../scripts/kubelet-package.ts';
import type { ApiUnderTest } from '../conformance/api-under-test.ts';
import { startEmbeddedApi } from '../conformance/embedded-api.ts';
import { commandBlocks } from '../docs/blocks.ts';
import { kubeadmDropIn, kubeletService } from './harness/kubeadm.ts';
import { bootMachine, type Machine, whyNoMachine } from './harness/machine.ts';
import { withContents } from './harness/packages.ts';

const skip = await whyNoMachine();
const awsTree = JSON.parse(await readFile(join(import.meta.dirname, '../../agent/metadata/fixtures/aws.json'), 'utf8'));
const awsId = '--provider-id=aws:///eu-west-3a/i-0aa11bb22cc33dd44';
const kubeadmArgs =
  '--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf ' +
  '--config=/var/lib/kubelet/config.yaml';

const page = await readFile(join(import.meta.dirname, '../../deploy/kubelet/README.md'), 'utf8');

/** The block of the page that has these words, for this machine's processor. */
function pageCommands(words: string): string[] {
  const { commands } = commandBlocks(page.replaceAll('linux-x64', `linux-${process.arch}`)).find((block) =>
    block.commands.join('\n').includes(words),
  )!;
  return [...commands];
}

/** Writes its arguments, one start a line, and stays. */
const kubelet = '#!/bin/sh\nprintf "%s\\n" "$*" >>/var/log/kubelet-starts\nexec sleep 100000\n';

/** The whole way on a machine with a systemd of its own; the tests build on each other, as the days of a machine do. */
describe('a machine with systemd and kubeadm', skip === undefined ? {} : { skip }, () => {
  let machine: Machine;
  let metadata: FakeMetadata;
  let made: KubeletPackage;
  let metadataIs: 'up' | 'down' = 'up';
  const inside = () => `/root/${made.name}`;

  const answer = (path: string): FakeAnswer => {
    if (metadataIs === 'down') return { status: 503 };
    return path === '/latest/api/token' ? 'token' : treeAnswer(awsTree)({ method: 'GET', path, headers: {} });
  };

  before(async () => {
    metadata = await startFakeMetadata(({ path }) => answer(path));
    // The real Node, in an archive that is not worth compressing.
    made = await makePackage({ architecture: process.arch === 'arm64' ? 'arm64' : 'x64' });
    machine = await bootMachine();
    // /usr is this machine's own and read-only.
    const ours = (text: string) => text.replaceAll('/usr/bin/kubelet', '/opt/kubelet');
    await machine.write('/opt/kubelet', kubelet, 0o755);
    await machine.write('/etc/systemd/system/kubelet.service', ours(kubeletService));
    await machine.write('/etc/systemd/system/kubelet.service.d/10-kubeadm.conf', ours(kubeadmDropIn));
    await machine.write(
      '/etc/systemd/system/kubelet.service.d/05-log.conf',
      '[Service]\nStandardError=append:/var/log/kubelet.log\n',
    );
    await machine.write('/var/lib/kubelet/kubeadm-flags.env', 'KUBELET_KUBEADM_ARGS="--v=1"\n');
    await machine.write('/etc/default/kubelet', 'KUBELET_EXTRA_ARGS=\'--node-labels=a=b --x="y z"\'\n');
    const archive = archiveOf(made, 0);
    await machine.write(`/root/${made.name}.tar.gz`, archive);
    await machine.write(`/root/${made.name}.tar.gz.sha256`, `${sha256(archive)}  ${made.name}.tar.gz\n`);
    await must('systemctl daemon-reload');
  });
  after(async () => {
    await machine?.stop();
    await metadata?.close();
  });

  async function must(command: string): Promise<string> {
    const { code, stdout, stderr } = await machine.sh(command);
    assert.equal(code, 0, `${command}: ${stdout}${stderr}\n${await machine.read('/var/log/kubelet.log')}`);
    return stdout + stderr;
  }

  const starts = async () => (await machine.read('/var/log/kubelet-starts')).split('\n').slice(0, -1);

  async function restarted(): Promise<string> {
    const before = (await starts()).length;
    await must('systemctl restart kubelet');
    for (let tries = 0; tries < 100 && (await starts()).length === before; tries += 1) await wait(50);
    assert.equal((await starts()).length, before + 1);
    return (await starts()).at(-1) ?? '';
  }

  /** Arguments of the kubelet up to those that the drop-in gives; blanks in quotes were one argument. */
  const usual = `${kubeadmArgs} --v=1 --node-labels=a=b --x=y z`;

  test('installs from the archive without a network, by the commands of its page', async () => {
    const [restart, ...commands] = pageCommands('sha256sum').reverse();
    const said = await must(`cd /root && unshare --net sh -e -c '${commands.reverse().join('\n')}'`);
    assert.equal(restart, 'systemctl restart kubelet');
    assert.match(said, /installed 0\.1\.0/);
    assert.doesNotMatch(said, /does not name/);
    await machine.write(
      '/etc/mooring/kubelet.conf',
      `MOORING_AGENT_ARGS="--cloud=aws --metadata-url=${metadata.url}"\nMOORING_TIMEOUT=2\n`,
    );
    const settings = await must('systemctl show kubelet --property=EnvironmentFiles');
    assert.match(settings, /kubeadm-flags\.env.*\/etc\/default\/kubelet.*kubelet\.conf.*\/run\/mooring\/kubelet\.env/s);
    assert.equal(await must('systemd-analyze verify kubelet.service'), '');
  });

  test('starts the kubelet as before without an answer', async () => {
    metadataIs = 'down';
    assert.equal(await restarted(), usual);
    assert.equal(await machine.read('/run/mooring/kubelet.env'), '');
    assert.match(
      await machine.read('/var/log/kubelet.log'),
      /status 503.*the kubelet starts without arguments of ours/s,
    );
  });

  test('gives the kubelet the providerID after its other arguments, once at each start', async () => {
    metadataIs = 'up';
    assert.equal(await restarted(), `${usual} ${awsId}`);
    assert.equal(await restarted(), `${usual} ${awsId}`);
    await machine.write('/etc/default/kubelet', 'KUBELET_EXTRA_ARGS=--v=7\n');
    assert.equal(await restarted(), `${kubeadmArgs} --v=1 --v=7 ${awsId}`);
    await must('rm /etc/default/kubelet');
    assert.equal(await restarted(), `${kubeadmArgs} --v=1 ${awsId}`);
  });

  test('keeps everything when the metadata service goes away', async () => {
    metadataIs = 'down';
    assert.equal(await restarted(), `${kubeadmArgs} --v=1 ${awsId}`);
  });

  test('starts no kubelet without a required answer, and one as soon as the answer comes', async () => {
    await must('rm -r /run/mooring');
    const text = await machine.read('/etc/mooring/kubelet.conf');
    await machine.write('/etc/mooring/kubelet.conf', `${text}MOORING_REQUIRED=true\n`);
    const before = await starts();
    assert.notEqual((await machine.sh('systemctl restart kubelet')).code, 0);
    assert.deepEqual(await starts(), before);
    assert.match(await must('systemctl show kubelet --property=ActiveState,SubState'), /auto-restart/);
    metadataIs = 'up';
    assert.equal(await restarted(), `${kubeadmArgs} --v=1 ${awsId}`);
    await machine.write('/etc/mooring/kubelet.conf', text);
  });

  test('gives a kubelet without kubeadm the arguments in a variable of its own', async () => {
    const settings = await machine.read('/etc/mooring/kubelet.conf');
    await machine.write('/etc/mooring/kubelet.conf', `${settings}MOORING_VARIABLE=MOORING_KUBELET_ARGS\n`);
    assert.match(await must(`${inside()}/install.sh`), /does not name \$MOORING_KUBELET_ARGS: see README\.md/);
    const plain = '/etc/systemd/system/kubelet.service.d/50-plain.conf';
    await machine.write(plain, '[Service]\nExecStart=\nExecStart=/opt/kubelet --plain $MOORING_KUBELET_ARGS\n');
    assert.doesNotMatch(await must(`${inside()}/install.sh`), /does not name/);
    assert.equal(await restarted(), `--plain ${awsId}`);
    await machine.write('/etc/mooring/kubelet.conf', settings);
    await must(`rm ${plain} && systemctl daemon-reload`);
    assert.equal(await restarted(), `${kubeadmArgs} --v=1 ${awsId}`);
  });

  test('stops an upgrade on a full or read-only disk without harm', async () => {
    await must(
      'mkdir /opt/small /opt/fixed && mount -t tmpfs -o size=8m tmpfs /opt/small && mount -t tmpfs -o ro tmpfs ' +
        '/opt/fixed',
    );
    const full = await machine.sh(`${inside()}/install.sh --root /opt/small`);
    assert.equal(full.code, 1);
    assert.match(full.stderr, /No space left/);
    assert.equal(await must('find /opt/small ! -type d ! -name installed'), '');
    const fixed = await machine.sh(`${inside()}/install.sh --root /opt/fixed`);
    assert.equal(fixed.code, 1);
    assert.match(fixed.stderr, /cannot write in \/opt\/mooring: choose another folder/);
    await must('/opt/mooring/current/install.sh verify && systemd-analyze verify kubelet.service');
    await must('umount /opt/small /opt/fixed');
  });

  test('applies an upgrade at the next start, while the kubelet runs on', async () => {
    const before = await starts();
    const newer = withContents(made, { VERSION: '0.2.0-linux-x64\n' });
    await machine.write('/root/newer.tar.gz', archiveOf({ ...newer, name: 'newer' }, 0));
    await must('cd /root && tar xzf newer.tar.gz && newer/install.sh && rm -r newer newer.tar.gz');
    assert.deepEqual(await starts(), before);
    assert.match(
      await must('readlink /opt/mooring/current && ls /opt/mooring/releases'),
      /^releases\/0\.2\.0\S+\n0\.2\.0\S+\n$/,
    );
    assert.equal(await restarted(), `${kubeadmArgs} --v=1 ${awsId}`);
  });

  describe('whose Node is deleted', () => {
    let api: ApiUnderTest;
    let close: () => void;
    let ask: (method: string, path: string, body?: string) => Promise<number>;

    before(async () => {
      api = await startEmbeddedApi();
      const client = createHttp({ clock: systemClock(), tls: { ca: api.caPem } });
      close = client.close;
      ask = async (method, path, body) => {
        const headers = { authorization: `Bearer ${api.adminToken}`, 'content-type': 'application/json' };
        const url = `${api.url}/api/v1${path}`;
        return (await client.http({ method, url, headers, timeoutMs: 10_000, ...(body === undefined ? {} : { body }) }))
          .status;
      };
      const node = JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-7' } });
      assert.equal(await ask('POST', '/nodes', node), 201);
      await machine.write('/etc/kubernetes/kubelet.conf', api.kubeconfig(api.nodeToken('node-7')), 0o600);
      const settings = await machine.read('/etc/mooring/kubelet.conf');
      const quick =
        '--node-name=node-7 --answers=2 --interval=100ms --after-boot=0s --after-start=0s --log-level=debug';
      await machine.write('/etc/mooring/kubelet.conf', `${settings}MOORING_REREGISTER_ARGS="${quick}"\n`);
      await machine.write(
        '/etc/systemd/system/mooring-reregister.service.d/log.conf',
        '[Service]\nStandardError=append:/var/log/reregister.log\n',
      );
      await machine.write(
        '/etc/systemd/system/mooring-reregister.timer.d/quick.conf',
        '[Timer]\nOnBootSec=\nOnUnitInactiveSec=\nOnActiveSec=0\nOnUnitInactiveSec=300ms\nRandomizedDelaySec=0\n' +
          'AccuracySec=1ms\n',
      );
    });
    after(async () => {
      close?.();
      await api?.stop();
    });

    const log = () => machine.read('/var/log/reregister.log');
    /** How often it has looked, or found that it must not. */
    const looks = async () => (await log()).split(/ fresh=false | not looking /).length - 1;

    async function afterLooks(count: number): Promise<void> {
      const from = await looks();
      for (let tries = 0; tries < 300 && (await looks()) < from + count; tries += 1) await wait(100);
      assert.ok((await looks()) >= from + count, await log());
    }

    test('keeps the kubelet running at each run of the timer while the Node is there', async () => {
      const before = (await starts()).length;
      await must(`cd /root && ${pageCommands('--reregister').join('\n')}`);
      assert.match(await must('systemctl is-enabled mooring-reregister.timer'), /^enabled/);
      assert.equal(await must('systemd-analyze verify mooring-reregister.service mooring-reregister.timer'), '');
      await afterLooks(3);
      assert.equal((await starts()).length, before);
    });

    test('restarts the kubelet once when the Node is deleted', async () => {
      const before = (await starts()).length;
      assert.equal(await ask('DELETE', '/nodes/node-7'), 200);
      for (let tries = 0; tries < 300 && (await starts()).length === before; tries += 1) await wait(100);
      await afterLooks(3);
      const now = await starts();
      assert.equal(now.length, before + 1);
      assert.equal(now.at(-1), `${kubeadmArgs} --v=1 ${awsId}`);
    });

    test('restarts nothing without an API server, and never starts a stopped kubelet', async () => {
      await must('rm -r /run/mooring-reregister/restarts.json');
      await api.stop();
      const before = (await starts()).length;
      await afterLooks(3);
      assert.match(await log(), /the kubelet is left alone reason=.*ECONNREFUSED/);
      await must('systemctl stop kubelet');
      await afterLooks(2);
      assert.equal((await starts()).length, before);
      assert.match((await machine.sh('systemctl is-active kubelet')).stdout, /^inactive/);
    });
  });

  test('lets the kubelet start when Mooring was removed by hand', async () => {
    await must('rm -r /run/mooring && mv /opt/mooring /opt/elsewhere');
    assert.equal(await restarted(), `${kubeadmArgs} --v=1`);
    await must('mv /opt/elsewhere /opt/mooring');
    assert.equal(await restarted(), `${kubeadmArgs} --v=1 ${awsId}`);
  });

  test('leaves only changed files after uninstall, and the kubelet starts as before', async () => {
    const { code, stderr } = await machine.sh('/opt/mooring/current/install.sh uninstall');
    assert.equal(code, 0);
    assert.match(stderr, /^install\.sh: \/etc\/mooring\/kubelet\.conf was changed since it was written: it stays\n$/);
    const left = await must('find /opt /etc /run/mooring* -path "*ooring*" ! -type d 2>/dev/null; true');
    assert.deepEqual(left.trim().split('\n').sort(), [
      '/etc/mooring/kubelet.conf',
      '/etc/systemd/system/mooring-reregister.service.d/log.conf',
      '/etc/systemd/system/mooring-reregister.timer.d/quick.conf',
    ]);
    assert.doesNotMatch((await machine.sh('systemctl list-timers --all')).stdout, /mooring/);
    assert.equal(await restarted(), `${kubeadmArgs} --v=1`);
  });
});
