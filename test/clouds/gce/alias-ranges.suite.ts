import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ControllerProcess, prepareController } from '../aws/controller-process.ts';
import { type GceLife, openGceLife } from './life-cloud.ts';

describe('the shipped controller on a fake Compute Engine whose VMs have alias ranges', () => {
  let cloud: GceLife;
  let controller: ControllerProcess;
  const ranges = new Map([
    ['gce-1', '10.244.7.0/24'],
    ['gce-2', '10.244.9.0/24'],
  ]);

  before(async () => {
    cloud = await openGceLife();
    for (const { node, providerID } of cloud.machines) {
      const ipCidrRange = ranges.get(node);
      const nic = cloud.fake.vm(providerID.split('/')[3]!, node)!.wire.networkInterfaces![0]!;
      if (ipCidrRange !== undefined) nic.aliasIpRanges = [{ ipCidrRange, subnetworkRangeName: 'pods' }];
    }
    const flags = ['--cidr-allocator-type=CloudAllocator', '--configure-cloud-routes=false'];
    controller = await prepareController(cloud.served, { flags });
    for (const { node } of cloud.machines) await controller.kubelet(node).start();
    controller.start();
  });
  after(async () => {
    await controller?.stop();
    await cloud?.close();
  });

  const podCIDRs = async (name: string) => {
    const { body } = await controller.rest.call('GET', `/api/v1/nodes/${name}`);
    return body?.spec?.podCIDRs as string[] | undefined;
  };

  it('gives each Node the range of its VM, and creates no routes', async () => {
    for (const [name, range] of ranges)
      assert.deepEqual(await controller.until(`${name} has a range`, 30_000, () => podCIDRs(name)), [range]);
    assert.equal(cloud.changes(), 0);
  });

  it('gives a Node none whose VM has none, and an event says so', async () => {
    const message = await controller.until('there is an event', 30_000, async () => {
      const { body } = await controller.rest.call('GET', '/api/v1/namespaces/default/events');
      return body.items.find(({ reason }: { readonly reason: string }) => reason === 'CIDRNotAvailable')?.message;
    });
    assert.match(message, /gce-3 gets no pod range: its instance has no pod range/);
    assert.equal(await podCIDRs('gce-3'), undefined);
  });
});
