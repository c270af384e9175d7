import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateTagsCommand, DescribeInstancesCommand } from '@aws-sdk/client-ec2';
import { type AwsWorld, startAwsWorld } from './aws-world.ts';
import { type ControllerProcess, prepareController } from './controller-process.ts';
import { mutates } from './moto-proxy.ts';

const moto = process.env['MOTO_URL'];
const desired = { team: 'a', 'cost-center': '42' };

describe('the tags of instances on AWS, against moto', () => {
  let world: AwsWorld;
  let controller: ControllerProcess;
  let vms: Awaited<ReturnType<AwsWorld['createVm']>>[] = [];
  let stranger: Awaited<ReturnType<AwsWorld['createVm']>>;

  before(async () => {
    assert.ok(moto, 'MOTO_URL');
    world = await startAwsWorld({ server: moto, kind: 'nlb' });
    const tags = Object.entries(desired).map(([key, value]) => `${key}=${value}`);
    controller = await prepareController(world, {
      flags: ['--controllers=tagging', `--tags=${tags.join()}`, '--node-status-update-frequency=5s'],
    });
    stranger = await world.createVm();
    vms = [await world.createVm(), await world.createVm(), await world.createVm()];
    for (const { name } of vms) await controller.kubelet(name).start();
    controller.start();
  });
  after(async () => {
    await controller?.stop();
    await world?.close();
  });

  const idOf = (providerID: string) => providerID.slice(providerID.lastIndexOf('/') + 1);
  async function tagsOf(vm: { providerID: string }): Promise<Record<string, string>> {
    const request = new DescribeInstancesCommand({ InstanceIds: [idOf(vm.providerID)] });
    const { Reservations } = await world.clients.ec2.send(request);
    const { Tags = [] } = Reservations![0]!.Instances![0]!;
    const others = Tags.filter(({ Key }) => Key !== world.network.tagKey);
    return Object.fromEntries(others.map(({ Key = '', Value = '' }) => [Key, Value]));
  }
  const has = async (vm: { providerID: string }, tags: Record<string, string>) =>
    JSON.stringify(Object.entries(await tagsOf(vm)).sort()) === JSON.stringify(Object.entries(tags).sort());
  const changes = () =>
    world.proxy.calls.filter((call) => mutates(call) && /Tags$/.test(call.action)).map(({ action }) => action);
  async function events(reason: string): Promise<string[]> {
    const { body } = await controller.rest.call('GET', '/api/v1/namespaces/default/events');
    const all = body.items as { reason: string; message: string }[];
    return all.filter((one) => one.reason === reason).map(({ message }) => message);
  }

  it('tags the instances of its nodes, in fewer calls than nodes, and no other instance', async () => {
    for (const vm of vms) await controller.until(`${vm.name} has the tags`, 60_000, () => has(vm, desired));
    assert.ok(changes().length <= 2, changes().join());
    assert.ok(await has(stranger, {}));
  });

  it('writes no tag again after a restart, nor when the instances are read again', async () => {
    const before = changes().length;
    const heard = world.proxy.calls.length;
    await controller.stopProcess();
    controller.start();
    await controller.until('it has read the instances', 40_000, async () =>
      world.proxy.calls.slice(heard).some(({ action }) => action === 'DescribeInstances'),
    );
    await sleep(12_000);
    assert.equal(changes().length, before);
  });

  it('overwrites another value of a tag, with an event that has both', async () => {
    const [vm] = vms;
    const Tags = [
      { Key: 'team', Value: 'b' },
      { Key: 'Name', Value: 'web' },
    ];
    await world.clients.ec2.send(new CreateTagsCommand({ Resources: [idOf(vm!.providerID)], Tags }));
    await controller.until('it has the tags again', 40_000, () => has(vm!, { ...desired, Name: 'web' }));
    const said = await controller.until(
      'there is an event',
      20_000,
      async () => (await events('InstanceTagOverwritten'))[0],
    );
    assert.match(said, /^Tag team of instance .* was "b", now "a"$/);
  });

  it('removes the tags of a deleted node from its instance, but for one with another value', async () => {
    const [, vm] = vms;
    controller.kubelet(vm!.name).stop();
    const Tags = [{ Key: 'Name', Value: 'db' }];
    await world.clients.ec2.send(new CreateTagsCommand({ Resources: [idOf(vm!.providerID)], Tags }));
    await controller.rest.must('DELETE', `/api/v1/nodes/${vm!.name}`);
    await controller.until('the tags are removed', 40_000, () => has(vm!, { Name: 'db' }));
    assert.ok(await has(vms[2]!, desired));
  });

  it('makes no call for tags when the instance goes with its node', async () => {
    const [, , vm] = vms;
    const before = changes().length;
    controller.kubelet(vm!.name).stop();
    await world.deleteVm(vm!.providerID);
    await controller.until('the node is gone', 60_000, async () => {
      const { status } = await controller.rest.call('GET', `/api/v1/nodes/${vm!.name}`);
      return status === 404;
    });
    await sleep(5000);
    assert.equal(changes().length, before);
  });
});
