import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../common/process/clock.ts';
import { prefix } from '../../../controller/clouds/azure/annotations.ts';
import { type ControllerProcess, prepareController } from '../aws/controller-process.ts';
import { type ListeningFake, listen } from '../fake-http.ts';
import { azureJson } from './azure-world.ts';
import { createFakeAzure, type FakeAzure } from './fake/fake-azure.ts';

const services = '/api/v1/namespaces/default/services';

describe('the load balancers of the shipped controller on a fake Azure', () => {
  let fake: FakeAzure;
  let served: ListeningFake;
  let controller: ControllerProcess;

  before(async () => {
    fake = createFakeAzure(systemClock());
    fake.operationMs = 500;
    served = await listen(fake);
    const vms = [fake.addVm('node-1'), fake.addVm('node-2')];
    const configText = JSON.stringify({ ...azureJson, routeTableName: '', resourceManagerEndpoint: served.url });
    controller = await prepareController({ cloud: 'azure', configText, env: {} });
    for (const { computerName } of vms) await controller.kubelet(computerName).start();
    controller.start();
  });
  after(async () => {
    await controller?.stop();
    await served?.close();
  });

  const wait = <T>(what: string, probe: () => Promise<T | undefined | false>) => controller.until(what, 60_000, probe);
  const changes = () => fake.calls.filter(({ method }) => method === 'PUT' || method === 'DELETE').length;
  const names = () => [...fake.network.resources.values()].map(({ type, name }) => `${type} ${name}`);
  const service = async (name: string) => (await controller.rest.call('GET', `${services}/${name}`)).body;

  it('give a Service a public address, and another one an internal address', async () => {
    for (const [name, annotations] of [
      ['web', {}],
      ['inside', { [`${prefix}load-balancer-internal`]: 'true' }],
    ] as const)
      await controller.rest.must('POST', services, {
        ...{ apiVersion: 'v1', kind: 'Service', metadata: { name, annotations } },
        spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ name: 'http', port: 80 }] },
      });
    for (const [name, expected] of [
      ['web', /^203\.0\.113\./],
      ['inside', /^10\.240\.0\./],
    ] as const) {
      const ip = await wait(`${name} shows an address`, async () => {
        return (await service(name))?.status?.loadBalancer?.ingress?.[0]?.ip as string | undefined;
      });
      assert.match(ip, expected);
    }
    await wait('both nodes are behind them', async () =>
      [...fake.network.resources.values()]
        .filter(({ type }) => type === 'loadBalancers')
        .every((one) => JSON.stringify(one.body).split('"ipAddress"').length === 3),
    );
  });

  it('change nothing after a restart, and have an empty plan', async () => {
    await sleep(3000);
    const before = changes();
    await controller.stopProcess();
    const heard = fake.calls.length;
    controller.start();
    await wait('it has read the load balancers', async () =>
      fake.calls.slice(heard).some(({ path }) => path.endsWith('/loadBalancers')),
    );
    await sleep(8000);
    assert.equal(changes(), before);
    const plan = await controller.command('plan', '--exit-code');
    assert.equal(plan.code, 0, plan.output);
  });

  it('are gone with their Services, with everything that was made for them', async () => {
    for (const name of ['web', 'inside']) await controller.rest.must('DELETE', `${services}/${name}`);
    await wait('nothing is left', async () => names().join() === 'networkSecurityGroups nodes');
    await wait('the Services are gone', async () => (await service('web'))?.kind !== 'Service');
  });
});
