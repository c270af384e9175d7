import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { keys } from '../../../controller/clouds/openstack/load-balancers/annotations.ts';
import type { DesiredRoute } from '../../../controller/clouds/routes.ts';
import { memberOf, port } from '../suite/desired.ts';
import type { CloudWorld } from '../suite/world.ts';
import { type AccessRule, lets, shippedRules } from './fake/access-rules.ts';
import { uuid } from './fake/fake-openstack.ts';
import type { FakeOpenStack } from './fake/openstack-state.ts';
import { startWorld, type World } from './fake/world.ts';
import { fakeOpenStackWorld } from './fake-world.ts';
import { octaviaHarness } from './octavia-harness.ts';
import { fakeOctaviaWorld } from './octavia-world.ts';

const mounted = {
  compute: '/compute/v2.1',
  network: '/network/v2.0',
  'load-balancer': '/load-balancer/v2.0',
  'block-storage': '/block-storage/v3',
};
const rules = shippedRules();
const textOf = ({ service, method, path }: AccessRule) => `${service} ${method} ${path}`;

/** Which of the rules some call of these fakes needs. */
function needed(fakes: readonly FakeOpenStack[]): Set<string> {
  const calls = fakes.flatMap(({ calls: some }) => some);
  return new Set(
    rules
      .filter((rule) =>
        calls.some(({ service, method, path }) => {
          const prefix = mounted[service as keyof typeof mounted];
          return prefix !== undefined && lets(rule, service, method, prefix + path);
        }),
      )
      .map(textOf),
  );
}

const managed = '[LoadBalancer]\ncreate-monitor = true\nmanage-security-groups = true\n';

/** A load balancer through its life, changed in every of its parts. */
async function balancerLife(config: string, mayFailOver: boolean): Promise<FakeOpenStack> {
  const harness = await octaviaHarness(config);
  const { vms, octavia, fake } = harness;
  let refuseRule = true;
  let isChanged = false;
  // Another request has made the rule, and changed a port.
  fake.fault = ({ method, path }, response) => {
    const changed = method === 'PUT' ? fake.ports.find(({ id }) => path === `/ports/${id}`) : undefined;
    if (changed && !isChanged) {
      isChanged = true;
      Object.assign(changed, { securityGroups: ['theirs'], revision: 9 });
    }
    if (!refuseRule || method !== 'POST' || path !== '/security-group-rules') return undefined;
    refuseRule = false;
    response.writeHead(409, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ NeutronError: { type: 'SecurityGroupRuleExists', message: 'exists', detail: '' } }));
    return 'answered';
  };
  await harness.ensure();
  const [first] = vms;
  await harness.ensure({ members: [memberOf(first!)], ports: [port(80, 30081), port(81, 30082)] });
  await harness.ensure({ members: [{ ...memberOf(first!), draining: true }, memberOf(vms[1]!)] });
  await harness.ensure({
    sourceRanges: ['192.0.2.0/24'],
    sessionAffinity: { timeoutSeconds: 60 },
    annotations: { [keys.monitorDelay]: '9', [keys.connectionLimit]: '100' },
  });
  await harness.ensure({ annotations: { [keys.healthMonitor]: 'false' } });
  await harness.ensure({ ports: [port(80, 30081)], sessionAffinity: undefined, annotations: {} });
  octavia.mayFailOver = mayFailOver;
  octavia.breakDown(harness.only().id);
  await harness.ensure();
  await harness.ensure({ annotations: { [keys.internal]: 'true' }, mayChangeAddress: true });
  await harness.ensure({ annotations: {} });
  const id = await harness.world.createForeignLoadBalancer('shared', undefined);
  await harness.ensure({ attach: { id, allowed: true }, ports: [port(8443, 30443)], members: [memberOf(first!)] });
  await harness.ensure({ members: [memberOf(vms[1]!)] });
  await harness.remove();
  // Kept without its Service, with its group.
  harness.record.id = undefined;
  harness.desired = { ...harness.desired, attach: undefined, retain: true };
  await harness.ensure();
  await harness.remove();
  await harness.close();
  return fake;
}

async function routesLife(atomic: boolean): Promise<FakeOpenStack> {
  let fake: FakeOpenStack | undefined;
  const world: CloudWorld = fakeOpenStackWorld({
    atomic,
    octavia(given) {
      fake = given;
      return fakeOctaviaWorld(given);
    },
  });
  const vm = await world.createVm();
  const cloud = await world.open();
  assert.ok(cloud.routes && fake);
  const always = { permit: () => {} };
  const route: DesiredRoute = {
    cluster: 'c',
    node: 'node-1',
    nodeUid: 'u',
    destination: '10.244.1.0/24',
    providerID: vm.providerID,
    addresses: vm.addresses,
  };
  const made = await world.during(cloud.routes.create(route, always));
  await world.during(cloud.routes.remove(made, always));
  await world.during(cloud.check());
  await world.close();
  return fake;
}

/** Servers by id, by list and by name, with a Nova that tells flavours and one that does not. */
async function nodesLife(world: World): Promise<FakeOpenStack> {
  world.add(...Array.from({ length: 9 }, (_, n) => n + 1));
  const cloud = await world.open();
  const refs = [...world.fake.servers.keys()].map((id) => ({
    by: 'providerID' as const,
    providerID: `openstack:///${id}`,
  }));
  await cloud.instances.lookup(refs.slice(0, 1));
  await cloud.instances.lookup(refs);
  await cloud.instances.lookup([{ by: 'name', name: 'node-1' }]);
  await cloud.ping?.();
  world.fake.maxMicroversion = 40;
  world.fake.flavors.set('f1', 'm1.small');
  world.fake.flavors.set('f2', 'm1.large');
  const old = await world.open();
  await old.instances.lookup(refs);
  world.fake.flavors.delete('f1');
  await old.instances.lookup(refs.slice(0, 1));
  const volumes = refs.map((_, at) => ({ source: 'cinder', handle: uuid(at + 100), zones: [] }));
  for (const some of [volumes.slice(0, 1), volumes]) await old.volumes!.lookup(some);
  return world.fake;
}

describe('the shipped access rules of an application credential', () => {
  let nodes: World;
  before(async () => {
    nodes = await startWorld();
  });
  after(async () => {
    nodes.reset();
    await nodes.end();
  });

  // That every call is covered is held by the fake itself, in every test: it refuses what no rule lets through.
  it('lists no access rule that the controller does not need', async () => {
    const fakes = [
      await balancerLife(managed, true),
      await balancerLife(`${managed}cascade-delete = false\nprovider-requires-serial-api-calls = true\n`, false),
      await routesLife(true),
      await routesLife(false),
      await nodesLife(nodes),
    ];
    const used = needed(fakes);
    assert.deepEqual(
      rules.map(textOf).filter((text) => !used.has(text)),
      [],
    );
  });

  it('lists no access rule twice', () => {
    for (const rule of rules) {
      const path = `/x${rule.path.replace('**', '').replaceAll('{id}', 'some-id')}`;
      assert.deepEqual(rules.filter((one) => lets(one, rule.service, rule.method, path)).map(textOf), [textOf(rule)]);
    }
  });

  for (const [service, method, path] of [
    ['compute', 'DELETE', '/servers/some-id'],
    ['compute', 'POST', '/servers'],
    ['compute', 'POST', '/servers/some-id/action'],
    ['compute', 'GET', '/servers/some-id/os-console-output'],
    ['compute', 'GET', '/os-keypairs'],
    ['network', 'DELETE', '/ports/some-id'],
    ['network', 'POST', '/ports'],
    ['network', 'DELETE', '/routers/some-id'],
    ['network', 'PUT', '/routers/some-id/add_router_interface'],
    ['network', 'PUT', '/networks/some-id'],
    ['network', 'POST', '/rbac-policies'],
    ['load-balancer', 'POST', '/lbaas/l7policies'],
    ['load-balancer', 'PUT', '/lbaas/quotas/some-id'],
    ['load-balancer', 'PUT', '/octavia/amphorae/some-id/failover'],
    ['identity', 'POST', '/v3/users/some-id/application_credentials'],
    ['key-manager', 'GET', '/v1/secrets'],
  ] as const) {
    it(`refuses ${method} ${path} of ${service}`, () => {
      const prefix = mounted[service as keyof typeof mounted] ?? '';
      assert.ok(!rules.some((rule) => lets(rule, service, method, prefix + path)));
    });
  }

  it('allows a service under its own host name, and with the project in its path', () => {
    for (const path of ['/v2.1/servers/some-id', '/compute/v2.1/servers/some-id', '/v2.1/0123abcd/servers/some-id'])
      assert.ok(
        rules.some((rule) => lets(rule, 'compute', 'GET', path)),
        path,
      );
  });
});
