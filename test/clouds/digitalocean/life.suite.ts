import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../common/process/clock.ts';
import { parseName } from '../../../controller/clouds/digitalocean/names.ts';
import { type NodeObject, taintKeys } from '../../kit/world/scenario.ts';
import { type ControllerProcess, prepareController } from '../aws/controller-process.ts';
import { type ListeningFake, listen } from '../fake-http.ts';
import type { FakeAccount } from './fake/fake-account.ts';
import { createFakeDigitalOcean, token } from './fake/fake-digitalocean.ts';
import type { FakeDroplet } from './fake/fake-droplets.ts';

const services = '/api/v1/namespaces/default/services';
const shutdown = 'node.cloudprovider.kubernetes.io/shutdown';

describe('the shipped controller on a fake DigitalOcean', () => {
  let fake: FakeAccount;
  let served: ListeningFake;
  let droplets: FakeDroplet[];
  let controller: ControllerProcess;

  before(async () => {
    fake = createFakeDigitalOcean(systemClock());
    fake.activeMs = 3000;
    fake.busyMs = 1000;
    served = await listen(fake);
    droplets = ['node-1', 'node-2'].map((name) => fake.addDroplet(name));
    const configText = `DO_ACCESS_TOKEN: ${token}\nDO_CLUSTER_VPC_ID: ${fake.vpc}\n`;
    controller = await prepareController({ cloud: 'digitalocean', configText, env: { DO_OVERRIDE_URL: served.url } });
    for (const { name } of droplets) await controller.kubelet(name).start();
    controller.start();
  });
  after(async () => {
    await controller?.stop();
    await served?.close();
  });

  const wait = <T>(what: string, probe: () => Promise<T | undefined | false>, ms = 60_000) =>
    controller.until(what, ms, probe);
  const changes = () => fake.calls.filter(({ method }) => method !== 'GET').length;
  const balancer = () => [...fake.balancers.values()][0];
  async function nodeNamed(name: string): Promise<NodeObject | undefined> {
    const { status, body } = await controller.rest.call('GET', `/api/v1/nodes/${name}`);
    return status === 200 ? body : undefined;
  }
  async function service() {
    return (await controller.rest.call('GET', `${services}/web`)).body;
  }

  it('initialises its nodes', async () => {
    for (const { id, name } of droplets) {
      const node = await wait(`${name} has a providerID`, async () => {
        const seen = await nodeNamed(name);
        return seen?.spec.providerID !== undefined && seen;
      });
      assert.equal(node.spec.providerID, `digitalocean://${id}`);
      assert.equal(node.metadata.labels['topology.kubernetes.io/region'], 'nyc3');
      assert.equal(node.metadata.labels['node.kubernetes.io/instance-type'], 's-2vcpu-2gb');
    }
  });

  it('gives a Service a load balancer with both nodes, and shows its address', async () => {
    await controller.rest.must('POST', services, {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } },
      spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ name: 'http', port: 80 }] },
    });
    const ingress = await wait('the Service shows an address', async () => {
      const shown = (await service())?.status?.loadBalancer?.ingress;
      return shown?.length > 0 && shown;
    });
    await wait('both nodes are its droplets', async () => balancer()?.wire.droplet_ids.length === 2);
    assert.equal(ingress[0].ip, balancer()!.address.ip);
    assert.equal(parseName(balancer()!.wire.name)?.service, 'default/web');
  });

  it('changes nothing after a restart with nothing changed', async () => {
    const before = changes();
    await controller.stopProcess();
    const heard = fake.calls.length;
    controller.start();
    await wait('it has read the load balancers', async () =>
      fake.calls.slice(heard).some(({ path }) => path === '/v2/load_balancers'),
    );
    await sleep(8000);
    assert.equal(changes(), before);
  });

  it('puts a port back that a person removed, and follows one that the Service gets', async () => {
    const { wire } = balancer()!;
    wire.forwarding_rules = [];
    await wait('the port is back', async () => balancer()!.wire.forwarding_rules.length === 1);
    const found = await service();
    const ports = [...found.spec.ports, { name: 'https', port: 443 }];
    await controller.rest.must('PUT', `${services}/web`, { ...found, spec: { ...found.spec, ports } });
    await wait('there are two ports', async () => balancer()!.wire.forwarding_rules.length === 2);
  });

  it('plan finds nothing to do, and check nothing that it could not do', async () => {
    const plan = await controller.command('plan', '--exit-code');
    assert.equal(plan.code, 0, plan.output);
    const check = await controller.command('check', '-o', 'json');
    assert.equal(check.code, 0, check.output);
    const lines = JSON.parse(check.output) as { name: string; ok: boolean }[];
    for (const name of ['droplets', 'VPC', 'load balancers', 'writing'])
      assert.ok(
        lines.some((line) => line.name.includes(name) && line.ok),
        check.output,
      );
  });

  it('deletes the load balancer with its Service', async () => {
    await controller.rest.must('DELETE', `${services}/web`);
    await wait(
      'the Service has gone',
      async () => (await controller.rest.call('GET', `${services}/web`)).status === 404,
    );
    assert.equal(fake.balancers.size, 0);
  });

  it('marks the node of a droplet that is off', async () => {
    const { name } = droplets[1]!;
    droplets[1]!.status = 'off';
    controller.kubelet(name).stop();
    await wait('it carries the taint', async () => taintKeys(await nodeNamed(name)).includes(shutdown), 90_000);
  });

  it('leaves every node when its token is refused, and shows no token in its log', async () => {
    fake.fault = () => ({ status: 401, body: { id: 'unauthorized', message: 'Unable to authenticate you' } });
    await sleep(5000);
    fake.fault = undefined;
    for (const { name } of droplets) assert.ok(await nodeNamed(name));
    assert.ok(!(await readFile(controller.logFile, 'utf8')).includes(token));
  });
});
