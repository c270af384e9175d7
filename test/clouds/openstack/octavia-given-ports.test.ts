import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { keys } from '../../../controller/clouds/openstack/load-balancers/annotations.ts';
import { Crash, remove } from '../suite/drive.ts';
import { type FakeBalancer, thing } from './fake/fake-octavia-model.ts';
import { networkId, subnetId } from './fake-world.ts';
import { type OctaviaHarness, octaviaHarness } from './octavia-harness.ts';

const uuid = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;

describe('Octavia load balancers on a port that was there', () => {
  let harness: OctaviaHarness;
  const open = async (config = '') => {
    harness = await octaviaHarness(config);
    return harness;
  };
  afterEach(() => harness.close());

  it('use an existing port as VIP, which outlives the load balancer', async () => {
    const { fake } = await open();
    fake.ports.push({
      id: uuid(5),
      deviceId: '',
      networkId,
      subnetId,
      ips: ['10.20.9.9'],
      deviceOwner: '',
    });
    const { observed } = await harness.ensure({ annotations: { [keys.portId]: uuid(5), [keys.internal]: 'true' } });
    assert.deepEqual(observed?.ingress, [{ ip: '10.20.9.9' }]);
    harness.octavia.breakDown(harness.only().id);
    const replaced = await harness.ensure();
    assert.deepEqual(replaced.observed?.ingress, [{ ip: '10.20.9.9' }]);
    await harness.remove();
    assert.ok(fake.ports.some(({ id }) => id === uuid(5)));
  });

  const onGivenPort = async () => {
    const { fake } = await open();
    const port = { deviceId: '', networkId, subnetId, deviceOwner: '' };
    fake.ports.push({ ...port, id: uuid(5), ips: ['10.20.9.9'] }, { ...port, id: uuid(6), ips: ['10.20.9.10'] });
    await harness.ensure({ annotations: { [keys.portId]: uuid(5) } });
    const [floating] = harness.edge.floatingIps.values();
    assert.equal(floating?.portId, uuid(5));
    return floating;
  };
  /** The load balancer goes, and the process before it sees that. */
  const crash = async () => {
    await assert.rejects(remove(await harness.driving({ crash: { at: 'after', call: 1 } })), Crash);
    harness.octavia.settle();
    assert.equal(harness.octavia.balancers.size, 0);
  };

  it('leave a floating IP where a person put it on a port without a device', async () => {
    const floating = await onGivenPort();
    floating.portId = uuid(6);
    await harness.remove();
    assert.deepEqual([harness.edge.floatingIps.size, floating.portId], [1, uuid(6)]);
    assert.match(floating.description, /retained/);
  });

  for (const [where, put] of [
    ['the port of a server', ({ fake }: OctaviaHarness) => fake.ports.find(({ deviceId }) => deviceId !== '')!.id],
    [
      'the VIP of another load balancer',
      ({ octavia }: OctaviaHarness) => {
        const made = thing({ vip_port_id: uuid(6), tags: [] }, 'ACTIVE');
        const other: FakeBalancer = { ...made, listeners: [], pools: [], looksLeft: 0, becomes: 'ACTIVE' };
        octavia.balancers.set(other.id, other);
        return uuid(6);
      },
    ],
    [
      'a port that this project does not see',
      ({ fake }: OctaviaHarness) => {
        fake.fault = ({ path, query }) => {
          if (path === '/ports' && query.has('id')) fake.ports.length = 0;
          return undefined;
        };
        return uuid(6);
      },
    ],
  ] as const) {
    it(`leave a floating IP that a person put on ${where} after their end`, async () => {
      const floating = await onGivenPort();
      await crash();
      floating.portId = put(harness);
      const held = floating.portId;
      await harness.remove();
      assert.equal(harness.edge.floatingIps.size, 1);
      assert.match(floating.description, /retained/);
      assert.ok([held, null].includes(floating.portId));
    });
  }
});
