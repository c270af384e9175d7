import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../common/process/clock.ts';
import { conditionOf, type NodeObject, taintKeys } from '../../kit/world/scenario.ts';
import { type ControllerProcess, clusterCidr, prepareController } from '../aws/controller-process.ts';
import { type ListeningFake, listen } from '../fake-http.ts';
import { createFakeHetzner, robotUser, token } from './fake-hetzner.ts';
import type { FakeNetwork } from './fake-networks.ts';
import type { FakeHetzner } from './fake-project.ts';
import type { FakeServer } from './fake-servers.ts';

const uninitialized = 'node.cloudprovider.kubernetes.io/uninitialized';
const shutdown = 'node.cloudprovider.kubernetes.io/shutdown';

describe('the shipped controller on a fake Hetzner Cloud', () => {
  let fake: FakeHetzner;
  let served: ListeningFake;
  let network: FakeNetwork;
  let servers: FakeServer[];
  let controller: ControllerProcess;

  before(async () => {
    fake = createFakeHetzner(systemClock());
    served = await listen(fake);
    network = fake.addNetwork('k8s');
    servers = ['node-1', 'node-2', 'node-3'].map((name) => fake.addServer(name, { network: network.id }));
    const configText = `HCLOUD_TOKEN: ${token}\nHCLOUD_NETWORK: k8s\n`;
    const env = { HCLOUD_ENDPOINT: `${served.url}/v1` };
    // As the classic controller's manifests have it.
    controller = await prepareController({ cloud: 'hcloud', configText, env });
    for (const { name } of servers) await controller.kubelet(name).start();
    controller.start();
  });
  after(async () => {
    await controller?.stop();
    await served?.close();
  });

  async function nodeNamed(name: string): Promise<NodeObject | undefined> {
    const { status, body } = await controller.rest.call('GET', `/api/v1/nodes/${name}`);
    return status === 200 ? body : undefined;
  }
  const changes = () => fake.calls.filter(({ method }) => method !== 'GET').map(({ path }) => path);
  const wait: ControllerProcess['until'] = (...args) => controller.until(...args);

  it('initialises its nodes, and creates routes for their pods', async () => {
    for (const { id, name, privateNets } of servers) {
      const node = await wait(`${name} is a node with a network`, 60_000, async () => {
        const seen = await nodeNamed(name);
        return conditionOf(seen, 'NetworkUnavailable')?.status === 'False' ? seen : undefined;
      });
      assert.ok(!taintKeys(node).includes(uninitialized));
      assert.equal(node.spec.providerID, `hcloud://${id}`);
      assert.equal(node.metadata.labels['topology.kubernetes.io/zone'], 'fsn1-dc14');
      assert.equal(node.metadata.labels['node.kubernetes.io/instance-type'], 'cpx11');
      assert.equal(node.metadata.labels['instance.hetzner.cloud/provided-by'], 'cloud');
      const gateway = privateNets[0]!.ip;
      assert.ok(network.routes.some((route) => route.gateway === gateway && route.destination === node.spec.podCIDR));
    }
    assert.equal(changes().length, 3);
  });

  it('changes nothing after a restart with nothing changed', async () => {
    await controller.stopProcess();
    const heard = fake.calls.length;
    controller.start();
    await wait('it has looked at everything', 60_000, async () =>
      fake.calls.slice(heard).some(({ path }) => path === `/v1/networks/${network.id}`),
    );
    await sleep(8000);
    assert.equal(changes().length, 3);
  });

  it('has an empty plan, and a check without missing rights', async () => {
    const routes = ['--configure-cloud-routes', `--cluster-cidr=${clusterCidr}`];
    const plan = await controller.command('plan', '--exit-code', ...routes);
    assert.equal(plan.code, 0, plan.output);
    const check = await controller.command('check', '-o', 'json');
    assert.equal(check.code, 0, check.output);
    const lines = JSON.parse(check.output) as { name: string; ok: boolean }[];
    for (const name of ['servers', 'network', 'writing'])
      assert.ok(
        lines.some((line) => line.name.includes(name) && line.ok),
        check.output,
      );
    assert.equal(network.routes.length, 3);
  });

  it('marks the node of a server that is off', async () => {
    const { name } = servers[1]!;
    servers[1]!.status = 'off';
    controller.kubelet(name).stop();
    await wait('it carries the taint', 90_000, async () => taintKeys(await nodeNamed(name)).includes(shutdown));
  });

  it('leaves every node and route when its token is refused', async () => {
    const body = { error: { code: 'unauthorized', message: 'unable to authenticate' } };
    fake.fault = () => ({ status: 401, body });
    await sleep(5000);
    fake.fault = undefined;
    for (const { name } of servers) assert.ok(await nodeNamed(name));
    assert.equal(network.routes.length, 3);
  });

  // An absent server's Node is deleted once it is five minutes old.
  const skip = process.env['MOORING_NIGHTLY'] === '1' ? false : 'five minutes: MOORING_NIGHTLY=1 runs it';
  it('deletes the node and the route of a deleted server', { skip }, async () => {
    const { id, name } = servers[2]!;
    fake.deleteServer(id);
    controller.kubelet(name).stop();
    await wait('its node is gone', 480_000, async () => (await nodeNamed(name)) === undefined);
    await wait('its route is gone', 60_000, async () => network.routes.length === 2);
    assert.ok(await nodeNamed(servers[0]!.name));
  });

  it('shows no credential in its log', async () => {
    const log = await readFile(controller.logFile, 'utf8');
    assert.ok(!log.includes(token) && !log.includes(robotUser.password));
  });
});
