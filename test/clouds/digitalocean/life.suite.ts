import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseName } from '../../../controller/clouds/digitalocean/names.ts';
import { planStep, restartStep } from '../life/life-steps.ts';
import { lifeSuite } from '../life/life-suite.ts';
import { openDigitalOceanLife } from './life-cloud.ts';

const services = '/api/v1/namespaces/default/services';

lifeSuite('a fake DigitalOcean', [openDigitalOceanLife], (stage) => {
  const balancer = () => [...stage().clouds[0]!.fake.balancers.values()][0];
  const service = async () => (await stage().controller.rest.call('GET', `${services}/web`)).body;

  it('gives a Service a load balancer with all nodes, and shows its address', async () => {
    const { controller, wait, machines } = stage();
    await controller.rest.must('POST', services, {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } },
      spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ name: 'http', port: 80 }] },
    });
    const ingress = await wait('the Service shows an address', async () => {
      const shown = (await service())?.status?.loadBalancer?.ingress;
      return shown?.length > 0 && shown;
    });
    await wait('all nodes are its droplets', async () => balancer()?.wire.droplet_ids.length === machines.length);
    assert.equal(ingress[0].ip, balancer()!.address.ip);
    assert.equal(parseName(balancer()!.wire.name)?.service, 'default/web');
  });

  it('changes nothing of the load balancer after a restart', () => restartStep.run(stage()));

  it('has nothing to plan with the load balancer', () => planStep.run(stage()));

  it('puts a port back that a person removed, and follows one that the Service gets', async () => {
    const { controller, wait } = stage();
    balancer()!.wire.forwarding_rules = [];
    await wait('the port is back', async () => balancer()!.wire.forwarding_rules.length === 1);
    const found = await service();
    const ports = [...found.spec.ports, { name: 'https', port: 443 }];
    await controller.rest.must('PUT', `${services}/web`, { ...found, spec: { ...found.spec, ports } });
    await wait('there are two ports', async () => balancer()!.wire.forwarding_rules.length === 2);
  });

  it('deletes the load balancer with its Service', async () => {
    const { controller, wait, clouds } = stage();
    await controller.rest.must('DELETE', `${services}/web`);
    await wait(
      'the Service has gone',
      async () => (await controller.rest.call('GET', `${services}/web`)).status === 404,
    );
    assert.equal(clouds[0]!.fake.balancers.size, 0);
  });
});
