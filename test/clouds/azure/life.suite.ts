import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../common/process/clock.ts';
import { conditionOf, type NodeObject, taintKeys } from '../../kit/world/scenario.ts';
import { type ControllerProcess, clusterCidr, prepareController } from '../aws/controller-process.ts';
import { type ListeningFake, listen } from '../fake-http.ts';
import { azureJson } from './azure-world.ts';
import { createFakeAzure, type FakeAzure } from './fake/fake-azure.ts';
import { application } from './fake/fake-login.ts';
import type { FakeTable, FakeVm } from './fake/fake-state.ts';

const uninitialized = 'node.cloudprovider.kubernetes.io/uninitialized';
const shutdown = 'node.cloudprovider.kubernetes.io/shutdown';

describe('the shipped controller on a fake Azure', () => {
  let fake: FakeAzure;
  let served: ListeningFake;
  let table: FakeTable;
  let vms: FakeVm[];
  let controller: ControllerProcess;

  before(async () => {
    fake = createFakeAzure(systemClock());
    fake.pageSize = 2;
    fake.operationMs = 500;
    served = await listen(fake);
    table = fake.addTable('pods');
    const [pool, flex] = [fake.addSet('pool', 'Uniform'), fake.addSet('flex', 'Flexible')];
    vms = [fake.addVm('node-1'), fake.addVm('', { set: pool }), fake.addVm('node-3', { set: flex })];
    const configText = JSON.stringify({ ...azureJson, resourceManagerEndpoint: served.url });
    controller = await prepareController({ cloud: 'azure', configText, env: {} });
    for (const { computerName } of vms) await controller.kubelet(computerName).start();
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
  const writes = () => fake.calls.filter(({ method }) => method === 'PUT').length;
  it('initialises a Node of each kind of VM, and creates routes for their pods', async () => {
    for (const { id, computerName: name, interfaces } of vms) {
      const node = await controller.until(`${name} is a node with a network`, 60_000, async () => {
        const seen = await nodeNamed(name);
        return conditionOf(seen, 'NetworkUnavailable')?.status === 'False' ? seen : undefined;
      });
      assert.ok(!taintKeys(node).includes(uninitialized));
      assert.equal(node.spec.providerID, `azure://${id}`);
      assert.equal(node.metadata.labels['topology.kubernetes.io/zone'], 'westeurope-1');
      assert.equal(node.metadata.labels['topology.kubernetes.io/region'], 'westeurope');
      assert.equal(node.metadata.labels['node.kubernetes.io/instance-type'], 'Standard_D2s_v5');
      const properties = { addressPrefix: node.spec.podCIDR, nextHopType: 'VirtualAppliance' };
      const nextHopIpAddress = interfaces[0]!.configurations[0]!.address;
      const route = table.routes.find((one) => String(one['name']).startsWith(`${name}____`));
      assert.deepEqual(route?.['properties'], { ...properties, nextHopIpAddress });
    }
    assert.equal(table.routes.length, 3);
  });

  it('changes nothing after a restart with nothing changed', async () => {
    await controller.stopProcess();
    const [heard, before] = [fake.calls.length, writes()];
    controller.start();
    await controller.until('it has looked at the route table', 60_000, async () =>
      fake.calls.slice(heard).some(({ path }) => path.toLowerCase() === table.id.toLowerCase()),
    );
    await sleep(8000);
    assert.equal(writes(), before);
  });

  it('has an empty plan, and a check without missing rights', async () => {
    const routes = ['--configure-cloud-routes', `--cluster-cidr=${clusterCidr}`];
    const plan = await controller.command('plan', '--exit-code', ...routes);
    assert.equal(plan.code, 0, plan.output);
    const check = await controller.command('check', '-o', 'json');
    assert.equal(check.code, 0, check.output);
    const lines = JSON.parse(check.output) as { name: string; ok: boolean }[];
    for (const name of ['virtual machines', 'permissions in rg', 'route table'])
      assert.ok(
        lines.some((line) => line.name.includes(name) && line.ok),
        check.output,
      );
  });

  it('marks the node of a VM that is deallocated', async () => {
    const { computerName: name } = vms[1]!;
    vms[1]!.power = 'deallocated';
    controller.kubelet(name).stop();
    await controller.until('it carries the taint', 90_000, async () =>
      taintKeys(await nodeNamed(name)).includes(shutdown),
    );
  });

  it('leaves every node and route when its credential is refused', async () => {
    const body = { error: { code: 'InvalidAuthenticationToken', message: 'The access token is invalid.' } };
    fake.fault = () => ({ status: 401, body });
    await sleep(5000);
    fake.fault = undefined;
    for (const { computerName } of vms) assert.ok(await nodeNamed(computerName));
    assert.equal(table.routes.length, 3);
  });

  // An absent VM's Node is deleted once it is five minutes old.
  const skip = process.env['MOORING_NIGHTLY'] === '1' ? false : 'five minutes: MOORING_NIGHTLY=1 runs it';
  it('deletes the node and the route of a deleted VM', { skip }, async () => {
    const { id, computerName: name } = vms[2]!;
    fake.deleteVm(id);
    controller.kubelet(name).stop();
    await controller.until('its node is gone', 480_000, async () => (await nodeNamed(name)) === undefined);
    await controller.until('its route is gone', 60_000, async () => table.routes.length === 2);
    assert.ok(await nodeNamed(vms[0]!.computerName));
  });

  it('shows no credential and no token in its log', async () => {
    const log = await readFile(controller.logFile, 'utf8');
    assert.ok(!log.includes(application.secret) && !log.includes('fake.azure-token'));
    assert.ok(fake.login.issued > 0);
  });
});
