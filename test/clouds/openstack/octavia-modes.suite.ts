import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { keys } from '../../../controller/clouds/openstack/load-balancers/annotations.ts';
import { classicName } from '../../../controller/clouds/openstack/load-balancers/names.ts';
import { memberOf, port } from '../suite/desired.ts';
import { ensure, printStep, remove } from '../suite/drive.ts';
import { type Example, sorted, withExample } from '../suite/suite-context.ts';
import type { CloudWorld } from '../suite/world.ts';
import { type Connection, connectTo, type Json } from './connection.ts';
import { withLentVms } from './lent-vms.ts';
import { realOctaviaWorld } from './real-octavia-world.ts';
import { realOpenStackWorld } from './real-world.ts';

const isLong = process.env['QUICK'] === 'true' ? 'not with QUICK=true' : false;

/**
 * What the facts about load balancers do not ask for, against the OpenStack that the environment names. `QUICK=true`
 * leaves out two that the fake shows in `npm test`: one change at a time, and an internal one.
 */
describe(`openstack, modes of Octavia on ${process.env['OS_CLOUD']}`, () => {
  let connection: Connection;
  const worlds: CloudWorld[] = [];
  before(async () => {
    connection = await connectTo(process.env);
  });
  after(async () => {
    for (const world of worlds) await world.close();
  });
  async function within(config: string, body: (example: Example) => Promise<void>): Promise<void> {
    const world = withLentVms(
      await realOpenStackWorld({ config: `[LoadBalancer]\n${config}`, octavia: realOctaviaWorld }),
    );
    worlds.push(world);
    await withExample(world, body);
  }
  const settled = async (example: Example) => {
    const driven = await ensure(await example.driving());
    assert.deepEqual(driven.refusals, []);
    assert.deepEqual((await ensure(await example.driving())).steps.map(printStep), []);
    return driven;
  };

  it('puts a security group on the ports of members, and leaves none', () =>
    within('manage-security-groups = true\ncreate-monitor = true\n', async (example) => {
      const before = sorted(await example.world.inventory());
      await settled(example);
      const [first] = example.vms;
      const groupOf = async () => {
        const id = first!.providerID.slice(first!.providerID.lastIndexOf('/') + 1);
        const [own] = await connection.list('network', `/ports?device_id=${id}`, 'ports');
        return ((own?.['security_groups'] ?? []) as string[]).length;
      };
      const had = await groupOf();
      assert.ok(had >= 2, 'its own group beside the one that it had');
      example.desired = {
        ...example.desired,
        ports: [port(80, 30081)],
        members: example.vms.slice(1).map((vm) => memberOf(vm)),
      };
      await settled(example);
      assert.equal(await groupOf(), had - 1);
      await remove(await example.driving());
      assert.deepEqual(sorted(await example.world.inventory()), before);
    }));

  it('changes one part at a time, members too', { skip: isLong }, () =>
    within('provider-requires-serial-api-calls = true\ncreate-monitor = true\n', async (example) => {
      await settled(example);
      const [first, second] = example.vms;
      example.desired = { ...example.desired, members: [memberOf(first!, true), memberOf(second!)] };
      await settled(example);
      example.desired = { ...example.desired, members: [memberOf(second!)] };
      assert.equal((await settled(example)).observed?.members.length, 1);
    }),
  );

  it('switches PROXY protocol and X-Forwarded-For on and off under one address', () =>
    within('create-monitor = true\n', async (example) => {
      const { observed } = await settled(example);
      for (const annotations of [
        { [keys.proxyProtocol]: 'v2' },
        { [keys.forwardedFor]: 'true', [keys.connectionLimit]: '100', [keys.timeoutClientData]: '60000' },
        { [keys.method]: 'LEAST_CONNECTIONS', [keys.monitorDelay]: '9' },
      ]) {
        example.desired = { ...example.desired, annotations };
        const changed = await settled(example);
        assert.equal(changed.observed?.ingress[0]?.ip, observed?.ingress[0]?.ip);
      }
    }));

  it('serves an internal one, and deletes it part by part', { skip: isLong }, () =>
    within('cascade-delete = false\n', async (example) => {
      const before = sorted(await example.world.inventory());
      example.desired = { ...example.desired, annotations: { [keys.internal]: 'true' } };
      const { observed } = await settled(example);
      assert.ok(observed?.ingress[0]?.ip);
      await remove(await example.driving());
      assert.deepEqual(sorted(await example.world.inventory()), before);
    }),
  );

  it('adopts what the classic controller left without a call', () =>
    within('create-monitor = true\n', async (example) => {
      const { desired } = example;
      const name = classicName(desired);
      const { observed } = await settled(example);
      const id = String(observed?.id);
      const settle = async () => {
        for (;;) {
          const one = (await connection.call('load-balancer', 'GET', `/lbaas/loadbalancers/${id}`))?.[
            'loadbalancer'
          ] as Json;
          if (one['provisioning_status'] === 'ACTIVE') return one;
          await example.world.pass(250);
        }
      };
      const strip = async (kind: string, tags: readonly string[], some: readonly Json[]) => {
        for (const one of some) {
          await connection.call('load-balancer', 'PUT', `/lbaas/${kind}s/${String(one['id'])}`, { [kind]: { tags } });
          await settle();
        }
      };
      const pools = await connection.list('load-balancer', `/lbaas/pools?loadbalancer_id=${id}`, 'pools');
      await strip(
        'listener',
        [name],
        await connection.list('load-balancer', `/lbaas/listeners?load_balancer_id=${id}`, 'listeners'),
      );
      await strip(
        'healthmonitor',
        [],
        pools.map((pool) => ({ id: pool['healthmonitor_id'] })),
      );
      for (const pool of pools) {
        const path = `/lbaas/pools/${String(pool['id'])}/members`;
        const members = await connection.list('load-balancer', path, 'members');
        const plain = members.map(({ name: node, address, protocol_port, subnet_id, monitor_port }) => ({
          name: node,
          address,
          protocol_port,
          subnet_id,
          monitor_port,
          tags: [],
        }));
        await connection.call('load-balancer', 'PUT', path, { members: plain });
        await settle();
      }
      await strip('pool', [], pools);
      await strip('loadbalancer', [name], [{ id }]);
      const addresses = [String(observed?.ingress[0]?.ip)];
      const adopt = { clusterName: desired.clusterName, addresses };
      const driving = await example.driving({ record: { id: undefined } });
      const { balancers } = driving;
      const adopting = {
        ...driving,
        balancers: {
          ...balancers,
          observe: (ref, signal) => balancers.observe({ ...ref, adopt }, signal),
        } as typeof balancers,
      };
      const taken = await ensure(adopting);
      assert.deepEqual(taken.steps.map(printStep), []);
      assert.equal(taken.observed?.id, id);
      assert.equal(taken.observed.adopted, true);
      assert.deepEqual(
        taken.observed.members.map(({ providerID }) => providerID).sort(),
        example.vms.map(({ providerID }) => providerID).sort(),
      );
      const more = { ...adopting, desired: { ...desired, ports: [...desired.ports, port(443, 30443)] } };
      const changed = await ensure(more);
      // It proves what its parts are, so it gets its own mark after them.
      const marked = changed.steps.map(printStep).filter((step) => step.includes(': take over '));
      assert.match(marked.at(-1) ?? '', /: take over load balancer /, marked.join('; '));
      example.desired = more.desired;
      await settled(example);
    }));
});
