import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { runProgram } from '../../common/process/program.ts';
import { ownerTags } from '../../controller/clouds/load-balancers.ts';
import { controllerProgram } from '../../controller/commands/program.ts';
import { type RunningCloud, startCloud } from '../kit/cloud/start-cloud.ts';
import { type KubeApiServer, startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { createKubeRest, type KubeRest } from '../kit/world/kube-rest.ts';

describe('teardown', () => {
  let folder: string;
  let api: KubeApiServer;
  let rest: KubeRest;
  let cloud: RunningCloud;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-teardown-'));
    api = await startKubeApi();
    rest = createKubeRest(api);
    cloud = await startCloud({ clock: systemClock(), random: Math.random });
    await writeFile(join(folder, 'admin'), api.kubeconfig());
    await writeFile(join(folder, 'empty.conf'), '');
    const config = { endpoint: cloud.url, project: 'demo', region: 'sim-1', credential: cloud.credential };
    await writeFile(join(folder, 'cloud.yaml'), JSON.stringify(config));
  });
  after(async () => {
    rest.close();
    await Promise.all([api.stop(), cloud.stop()]);
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

  it('says as JSON what is there, where it refuses for want of a terminal, or because of Services', async () => {
    const path = '/api/v1/namespaces/kube-system';
    const { metadata } = await rest.must('GET', path);
    const tags = { [ownerTags.cluster]: metadata.uid };
    const vm = cloud.model.create({ name: 'n0' });
    const route = { instanceId: vm.id, description: '', clientToken: undefined, destination: '10.1.0.0/24', tags };
    cloud.network.routes.create('demo/sim-1', route);
    const line = '--cloud-provider=simulated --cloud-config={folder}/cloud.yaml -o json';
    const asked = await teardown(line);
    assert.equal(asked.code, 2, asked.err);
    const toRemove = [{ scope: `${cloud.url}/demo/sim-1`, what: `route to 10.1.0.0/24 by simulated://sim-1/${vm.id}` }];
    assert.deepEqual(JSON.parse(asked.out), { toRemove, kept: [], services: [] });
    await rest.must('POST', '/api/v1/namespaces/default/services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { type: 'LoadBalancer', ports: [{ port: 80 }] },
    });
    const refused = await teardown(`${line} --yes`);
    assert.equal(refused.code, 1);
    assert.deepEqual(JSON.parse(refused.out), { toRemove, kept: [], services: ['default/web'] });
  });

  it('refuses a cloud in --report-only that it does not serve', async () => {
    const { code, err } = await teardown('--cloud-provider=hetzner --report-only=aws --yes');
    assert.equal(code, 2);
    assert.match(err, /--report-only: "aws", expected one of hetzner/);
  });
});
