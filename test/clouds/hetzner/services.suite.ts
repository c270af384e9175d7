import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../common/process/clock.ts';
import { type ControllerProcess, prepareController } from '../aws/controller-process.ts';
import { type ListeningFake, listen } from '../fake-http.ts';
import { createFakeHetzner, token } from './fake-hetzner.ts';
import type { FakeHetzner } from './fake-project.ts';

const services = '/api/v1/namespaces/default/services';

describe('the shipped controller and Services on a fake Hetzner Cloud', () => {
  let fake: FakeHetzner;
  let served: ListeningFake;
  let controller: ControllerProcess;

  before(async () => {
    fake = createFakeHetzner(systemClock());
    served = await listen(fake);
    const network = fake.addNetwork('k8s');
    const nodes = ['node-1', 'node-2'].map((name) => fake.addServer(name, { network: network.id }));
    const configText = `HCLOUD_TOKEN: ${token}\nHCLOUD_NETWORK: k8s\nHCLOUD_LOAD_BALANCERS_LOCATION: fsn1\n`;
    controller = await prepareController({ cloud: 'hcloud', configText, env: { HCLOUD_ENDPOINT: `${served.url}/v1` } });
    for (const { name } of nodes) await controller.kubelet(name).start();
    controller.start();
  });
  after(async () => {
    await controller?.stop();
    await served?.close();
  });

  const wait = <T>(what: string, probe: () => Promise<T | undefined | false>) => controller.until(what, 60_000, probe);
  const changes = () =>
    fake.calls.filter(({ method, path }) => method !== 'GET' && path.includes('/load_balancers')).length;
  const balancer = () => [...fake.balancers.values()][0];
  async function service(name: string) {
    const { body } = await controller.rest.call('GET', `${services}/${name}`);
    return body;
  }

  it('gives a Service a load balancer with both nodes, and shows its addresses', async () => {
    await controller.rest.must('POST', services, {
      ...{ apiVersion: 'v1', kind: 'Service' },
      metadata: { name: 'web', annotations: { 'load-balancer.hetzner.cloud/use-private-ip': 'true' } },
      spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ name: 'http', port: 80 }] },
    });
    const ingress = await wait('the Service shows an address', async () => {
      const shown = (await service('web'))?.status?.loadBalancer?.ingress;
      return shown?.length > 0 && shown;
    });
    await wait('both nodes are targets', async () => balancer()?.targets.length === 2);
    const { ipv4, ipv6, privateNets, targets, services: ports } = balancer()!;
    assert.deepEqual(
      ingress.map(({ ip }: { readonly ip: string }) => ip),
      [ipv4, ipv6, privateNets[0]!.ip],
    );
    assert.ok(targets.every(({ use_private_ip }) => use_private_ip));
    assert.deepEqual(
      ports.map(({ listen_port }) => listen_port),
      [80],
    );
  });

  it('changes nothing after a restart with nothing changed', async () => {
    const before = changes();
    await controller.stopProcess();
    const heard = fake.calls.length;
    controller.start();
    await wait('it has read the load balancers', async () =>
      fake.calls.slice(heard).some(({ path }) => path === '/v1/load_balancers'),
    );
    await sleep(8000);
    assert.equal(changes(), before);
  });

  it('restores a port that a person removed, and adds one that the Service gets', async () => {
    const one = balancer()!;
    one.services = [];
    await wait('the port is back', async () => one.services.length === 1);
    const found = await service('web');
    const ports = [...found.spec.ports, { name: 'https', port: 443 }];
    await controller.rest.must('PUT', `${services}/web`, { ...found, spec: { ...found.spec, ports } });
    await wait('there are two ports', async () => one.services.length === 2);
  });

  it('deletes the load balancer with its Service', async () => {
    await controller.rest.must('DELETE', `${services}/web`);
    await wait(
      'the Service has gone',
      async () => (await controller.rest.call('GET', `${services}/web`)).status === 404,
    );
    assert.equal(fake.balancers.size, 0);
  });
});
