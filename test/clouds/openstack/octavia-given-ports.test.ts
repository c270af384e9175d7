import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { keys } from '../../../controller/clouds/openstack/load-balancers/annotations.ts';
import { floatingIpDescription } from '../../../controller/clouds/openstack/load-balancers/names.ts';
import { Crash, remove } from '../suite/drive.ts';
import { type FakeFloatingIp, floatingIpFor } from './fake/fake-floating-ips.ts';
import { type FakeBalancer, thing } from './fake/fake-octavia-model.ts';
import { networkId, subnetId } from './fake-world.ts';
import { type OctaviaHarness, octaviaHarness, reasons } from './octavia-harness.ts';

const uuid = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;

describe('Octavia load balancers on a port that was there', () => {
  let harness: OctaviaHarness;
  const open = async (config = '') => {
    harness = await octaviaHarness(config);
    return harness;
  };
  afterEach(() => harness.close());

  it('uses an existing port as VIP, which outlives the load balancer', async () => {
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

  const onGivenPort = async (annotations: Readonly<Record<string, string>> = {}) => {
    const { fake } = await open();
    const port = { deviceId: '', networkId, subnetId, deviceOwner: '' };
    fake.ports.push({ ...port, id: uuid(5), ips: ['10.20.9.9'] }, { ...port, id: uuid(6), ips: ['10.20.9.10'] });
    await harness.ensure({ annotations: { [keys.portId]: uuid(5), ...annotations } });
    const [floating] = harness.edge.floatingIps.values();
    assert.equal(floating?.portId, uuid(5));
    return floating;
  };
  /** A load balancer of a person. */
  const balancerOn = (portId: string) => {
    const made = thing({ vip_port_id: portId, tags: [] }, 'ACTIVE');
    const other: FakeBalancer = { ...made, listeners: [], pools: [], looksLeft: 0, becomes: 'ACTIVE' };
    harness.octavia.balancers.set(other.id, other);
  };
  /** The load balancer goes, and the process before it sees that. */
  const crash = async () => {
    await assert.rejects(remove(await harness.driving({ crash: { at: 'after', call: 1 } })), Crash);
    harness.octavia.settle();
    assert.equal(harness.octavia.balancers.size, 0);
  };

  it('deletes the floating IP on a port that outlives it, however long the deletion lasts', async () => {
    await onGivenPort();
    harness.octavia.looks = 40;
    await harness.remove();
    assert.deepEqual([harness.octavia.balancers.size, harness.edge.floatingIps.size], [0, 0]);
  });

  it('deletes the floating IP on a port that outlives it also when the process ends in between', async () => {
    await onGivenPort();
    await crash();
    await harness.remove();
    assert.equal(harness.edge.floatingIps.size, 0);
  });

  it('deletes the floating IP also when a person has deleted the load balancer, and it was to stay once', async () => {
    await onGivenPort({ [keys.keepFloatingIp]: 'true' });
    await harness.ensure({ annotations: { [keys.portId]: uuid(5) } });
    harness.octavia.balancers.clear();
    await harness.remove();
    assert.equal(harness.edge.floatingIps.size, 0);
  });

  it('detaches a floating IP that is to stay from a port that outlives the load balancer', async () => {
    const floating = await onGivenPort({ [keys.keepFloatingIp]: 'true' });
    await crash();
    await harness.remove();
    assert.match(floating.description, /retained default\/web/);
    assert.deepEqual([harness.edge.floatingIps.size, floating.portId], [1, null]);
  });

  it('deletes the floating IP on the port before when the Service names another port', async () => {
    const floating = await onGivenPort();
    harness.octavia.balancers.clear();
    const moved = await harness.ensure({ annotations: { [keys.portId]: uuid(6) } });
    assert.deepEqual([reasons(moved), floating.portId], [['Conflict'], uuid(5)]);
    await harness.ensure({ mayChangeAddress: true });
    assert.deepEqual(
      [...harness.edge.floatingIps.values()].map(({ portId }) => portId),
      [uuid(6)],
    );
    await crash();
    await harness.remove();
    assert.equal(harness.edge.floatingIps.size, 0);
  });

  for (const [which, change] of [
    ['that a load balancer of a person uses by now', () => balancerOn(uuid(5))],
    [
      'that a server has by now',
      () => {
        const { ports } = harness.fake;
        const at = ports.findIndex(({ id }) => id === uuid(5));
        ports[at] = { ...ports[at]!, deviceId: uuid(7), deviceOwner: 'compute:nova' };
      },
    ],
    [
      'of an earlier version, which did not write down its port',
      (floating: FakeFloatingIp) => {
        floating.description = floating.description.replace(/ on port \S+/, '');
      },
    ],
  ] as const) {
    it(`leaves a floating IP ${which} on the port after the end of the load balancer`, async () => {
      const floating = await onGivenPort();
      await crash();
      change(floating);
      await harness.remove();
      assert.deepEqual([harness.edge.floatingIps.size, floating.portId], [1, uuid(5)]);
      assert.match(floating.description, /retained/);
    });
  }

  it('records no port that Octavia created, since it goes with the load balancer', async () => {
    const { edge } = await open();
    await harness.ensure();
    const descriptions = [...edge.floatingIps.values()].map(({ description }) => description);
    assert.deepEqual(descriptions, [floatingIpDescription(harness.desired)]);
  });

  it('leaves a floating IP that a person created and lent', async () => {
    const { fake, edge } = await open();
    const port = { deviceId: '', networkId, subnetId, deviceOwner: '' };
    fake.ports.push({ ...port, id: uuid(5), ips: ['10.20.9.9'] });
    const consent = `mooring.dev/attachable-by=${harness.world.cluster}/${harness.desired.service}`;
    const lent = floatingIpFor(fake, edge, { description: 'of a person', tags: [consent] });
    await harness.ensure({ annotations: { [keys.portId]: uuid(5) }, address: lent.address });
    assert.equal(lent.portId, uuid(5));
    harness.octavia.balancers.clear();
    await harness.remove();
    assert.deepEqual([edge.floatingIps.size, lent.description], [1, 'of a person']);
  });

  it('leaves a floating IP where a person put it on a port without a device', async () => {
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
      () => {
        balancerOn(uuid(6));
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
    it(`leaves a floating IP that a person put on ${where} after the end of the load balancer`, async () => {
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
