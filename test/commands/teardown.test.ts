import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { runProgram } from '../../common/process/program.ts';
import { controllerProgram } from '../../controller/commands/program.ts';
import { type KubeApiServer, startKubeApi } from '../kit/kube-api/start-kube-api.ts';

describe('teardown', () => {
  let folder: string;
  let api: KubeApiServer;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-teardown-'));
    api = await startKubeApi();
    await writeFile(join(folder, 'admin'), api.kubeconfig());
    await writeFile(join(folder, 'empty.conf'), '');
  });
  after(async () => {
    await api.stop();
    await rm(folder, { recursive: true });
  });

  async function teardown(line: string) {
    const { signal } = new AbortController();
    const program = controllerProgram({
      clock: systemClock(),
      random: Math.random,
      signal,
      ask: async () => undefined,
    });
    const said = { out: '', err: '' };
    const code = await runProgram(program, {
      argv: ['teardown', ...line.replaceAll('{folder}', folder).split(' ')],
      env: { KUBECONFIG: join(folder, 'admin'), AWS_EC2_METADATA_DISABLED: 'true', HOME: folder },
      stdout: (text) => {
        said.out += text;
      },
      stderr: (text) => {
        said.err += text;
      },
    });
    return { code, ...said };
  }

  for (const [line, ...clouds] of [
    ['--cloud-provider=simulated --yes', /simulated is report-only \(no --cloud-config/],
    ['--cloud-provider=openstack --cloud-config={folder}/empty.conf --yes', /openstack is report-only \(no OpenStack/],
    ['--cloud-provider=aws -o json', /aws is report-only \(no AWS credential/],
    [
      '--cloud-provider=simulated --cloud-provider=hetzner --report-only=simulated',
      /hetzner is report-only \(no HCLOUD_TOKEN/,
    ],
    ['--cloud-provider=simulated --cloud-provider=hetzner', /simulated is report-only/, /hetzner is report-only/],
  ] as const)
    it(`fails where a cloud has no credential, and names it: ${line}`, async () => {
      const { code, out, err } = await teardown(line);
      assert.deepEqual([code, out], [1, '']);
      for (const cloud of clouds) assert.match(err, cloud);
      assert.match(err, /nothing of it can be found\. .*--report-only=/);
      assert.doesNotMatch(err, /to remove/);
    });

  it('goes on without a cloud that --report-only names', async () => {
    const { code, err } = await teardown('--cloud-provider=hetzner --cloud-provider=oci --report-only=hcloud --yes');
    assert.equal(code, 0, err);
    assert.match(err, /^0 to remove, 0 stay$/m);
  });

  it('refuses a cloud in --report-only that it does not serve', async () => {
    const { code, err } = await teardown('--cloud-provider=hetzner --report-only=aws --yes');
    assert.equal(code, 2);
    assert.match(err, /--report-only: "aws", expected one of hetzner/);
  });
});
