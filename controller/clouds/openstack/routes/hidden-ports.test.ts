import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerJson } from '../../../../test/clouds/openstack/fake/answers.ts';
import type { FakeCall } from '../../../../test/clouds/openstack/fake/openstack-state.ts';
import {
  addressOf,
  always,
  desired,
  pairs,
  range,
  refused,
  setUp,
  table,
} from '../../../../test/clouds/openstack/routes-harness.ts';

describe('parts of a router that the credential cannot see', () => {
  const portQuery = (call: FakeCall, name: string) => call.path === '/ports' && call.query.has(name);

  it('leaves all routes alive when no interface shows', async () => {
    const world = setUp();
    const routes = world.routes();
    const made = await routes.create(desired(1), always);
    world.fake.fault = (call, response) =>
      portQuery(call, 'device_id') && call.query.get('device_id') === 'r1'
        ? answerJson(response, 200, { ports: [] })
        : undefined;
    await assert.rejects(routes.observe('c'), /no interface of router r1 shows/);
    await assert.rejects(world.routes().remove(made, always), { kind: 'Unavailable' });
    assert.equal(table(world).length, 1);
  });

  it('reads the ports once more when one answer leaves out a port', async () => {
    const world = setUp();
    const routes = world.routes();
    await routes.create(desired(1), always);
    let left = 1;
    world.fake.fault = (call, response) => {
      if (!portQuery(call, 'fixed_ips') || left === 0) return undefined;
      left -= 1;
      return answerJson(response, 200, { ports: [] });
    };
    const [route] = (await routes.observe('c')).routes;
    assert.deepEqual([route?.providerID, route?.blackhole, left], ['openstack:///s1', false, 0]);
  });

  it('keeps a route that seemed dead when its port shows again', async () => {
    const world = setUp();
    const routes = world.routes();
    await routes.create(desired(1), always);
    world.fake.fault = (call, response) =>
      portQuery(call, 'fixed_ips') ? answerJson(response, 200, { ports: [] }) : undefined;
    const [route] = (await routes.observe('c')).routes;
    assert.ok(route);
    assert.deepEqual([route.providerID, route.blackhole], [undefined, true]);
    world.fake.fault = undefined;
    assert.equal(await refused(routes.remove(route, always)), 'Conflict');
    assert.equal(table(world).length, 1);
  });

  it('keeps a route into a network whose interface does not show', async () => {
    const world = setUp();
    const routes = world.routes();
    world.fake.ports.push({ id: 'rp2', deviceId: 'r1', networkId: 'n2', ips: ['10.30.0.1'], subnetId: 's2' });
    world.fake.subnets.push({ id: 's2', networkId: 'n2', cidr: '10.30.0.0/16' });
    world.fake.ports.push({ id: 'q', deviceId: 's50', networkId: 'n2', ips: ['10.30.0.50'], subnetId: 's2' });
    await routes.create(desired(50), always);
    const hidden = world.fake.ports.splice(
      world.fake.ports.findIndex(({ id }) => id === 'rp2'),
      1,
    );
    const [route] = (await world.routes().observe('c')).routes;
    assert.equal(route?.blackhole, true);
    assert.equal(await refused(world.routes().remove(route, always)), 'Unavailable');
    world.fake.ports.push(...hidden);
    // Once it is certain that no port has the address, it goes.
    world.fake.ports.splice(
      world.fake.ports.findIndex(({ id }) => id === 'q'),
      1,
    );
    await world.routes().remove(route, always);
    assert.deepEqual(table(world), []);
  });

  it('keeps the pair of a server that now has the address of another', async () => {
    const world = setUp();
    const routes = world.routes();
    const made = await routes.create(desired(1), always);
    world.fake.ports.splice(
      world.fake.ports.findIndex(({ id }) => id === 'p1'),
      1,
    );
    const pairOfTheirs = [{ ip_address: range(1) }];
    world.fake.ports.push({ id: 'p9', deviceId: 's9', networkId: 'n1', ips: [addressOf(1)], pairs: pairOfTheirs });
    await routes.remove(made, always);
    assert.deepEqual([table(world), pairs(world, 'p9')], [[], [range(1)]]);
  });

  it('loses no foreign change of a whole list without revisions', async () => {
    const world = setUp({ atomic: false, ifMatch: false });
    world.fake.fault = (call) => {
      if (call.method === 'PUT' && call.path === '/ports/p1')
        world.fake.routers.get('r1')!.routes = [{ destination: '172.30.0.0/16', nexthop: addressOf(3) }];
      return undefined;
    };
    await world.routes().create(desired(1), always);
    assert.deepEqual(table(world), [`${range(1)} ${addressOf(1)}`, `172.30.0.0/16 ${addressOf(3)}`]);
  });
});
