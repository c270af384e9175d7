import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { it } from 'node:test';
import { settleMs } from '../../controller/clouds/alibaba/clb/balancers.ts';
import { createBalancerHarness } from '../clouds/alibaba/balancer-harness.ts';
import { memberOf, port } from '../clouds/suite/desired.ts';
import { allows, type Policy } from './policy.ts';

const newRole = 'ram:CreateServiceLinkedRole';
const contextOf = (action: string, service = 'nlb.aliyuncs.com'): Record<string, string> =>
  action === newRole ? { 'ram:ServiceName': service } : {};

async function shippedPolicy(): Promise<Policy> {
  const file = new URL('../../deploy/iam/alibaba-policy.json', import.meta.url);
  return JSON.parse(await readFile(file, 'utf8'));
}

/** Needs no permission. */
const free = 'sts:GetCallerIdentity';

it('the RAM policy of Alibaba Cloud allows every call of a life with every setting, and nothing else', async () => {
  const policy = await shippedPolicy();
  const named = policy.Statement.flatMap(({ Action }) => Action);
  for (const action of named) assert.match(action, /^(ecs|vpc|slb|nlb|ram):[A-Z]\w+$/);
  const isAllowed = (action: string) => allows(policy, { action, resource: '*', context: contextOf(action) });
  const harness = await createBalancerHarness();
  const { world } = harness;
  const { fake } = world;
  fake.isAllowed = (action) => action === free || isAllowed(action);
  const cloud = await world.open();
  const checks = await world.during(cloud.check());
  assert.deepEqual(
    checks.filter(({ ok }) => ok === false),
    [],
  );
  assert.ok(checks.some(({ message }) => message.includes(newRole)));
  const [first, second] = harness.vms;
  await world.during(cloud.instances.lookup([{ by: 'providerID', providerID: first!.providerID }]));
  const route = { cluster: world.cluster, node: 'a', nodeUid: 'a', destination: '10.244.1.0/24', addresses: [] };
  const made = await world.during(cloud.routes!.create({ ...route, providerID: first!.providerID }, { permit() {} }));
  await world.during(cloud.routes!.remove(made, { permit() {} }));

  const udp = port(53, 30_053, { protocol: 'UDP' });
  const ports = [port(80, 30_080), port(443, 30_443), port(8080, 30_081), udp];
  const web = { 'protocol-port': 'https:443,http:8080', 'cert-id': 'cert-1' };
  const sourceRanges = ['192.0.2.0/24', '198.51.100.0/24'];
  await harness.settle({ ports, annotations: web, sourceRanges });
  // As older ones are.
  Object.assign(harness.balancer().wire, { InstanceChargeType: 'PayBySpec', LoadBalancerSpec: 'slb.s1.small' });
  await world.pass(settleMs);
  const changed = {
    ...web,
    scheduler: 'wlc',
    name: 'front',
    spec: 'slb.s2.small',
    'charge-type': 'paybybandwidth',
    bandwidth: '20',
    'delete-protection': 'on',
    'modification-protection': 'ConsoleProtection',
    'additional-resource-tags': 'a=b',
  };
  const members = [memberOf(first!, true)];
  await harness.settle({ ports, annotations: changed, sourceRanges: sourceRanges.slice(1), members });
  const byUse = { ...changed, 'instance-charge-type': 'PayByCLCU' };
  await harness.settle({ ports: ports.slice(0, 1), annotations: byUse });
  await harness.settle({ ports: ports.slice(0, 1), members: [memberOf(first!), memberOf(second!)] });
  await harness.remove();

  const zoneMaps = { 'zone-maps': 'cn-hangzhou-h:vsw-bp1a,cn-hangzhou-k:vsw-bp1b' };
  const network = { loadBalancerClass: 'alibabacloud.com/nlb' };
  const secure = { ...zoneMaps, 'protocol-port': 'tcpssl:443', 'cert-id': 'cert-1', 'security-group-ids': 'sg-bp1a' };
  await harness.settle({ ...network, ports, annotations: secure });
  for (const one of fake.networks.values())
    for (const listener of one.listeners.values()) listener.wire['ListenerStatus'] = 'Stopped';
  const later = {
    ...zoneMaps,
    name: 'front',
    'address-type': 'intranet',
    'delete-protection': 'on',
    cps: '100',
    'zone-maps': 'cn-hangzhou-h:vsw-bp1a,cn-hangzhou-g:vsw-bp1c',
    'security-group-ids': 'sg-bp1b',
    'additional-resource-tags': 'a=b',
    scheduler: 'wlc',
  };
  // By a process that reads everything first.
  await harness.restart();
  await harness.settle({ ...network, ports: ports.slice(0, 2), annotations: later, members });
  await harness.settle({ ...network, ports: ports.slice(0, 1), annotations: later, members: [memberOf(second!)] });
  await harness.remove({ ...network, annotations: later });
  assert.equal(fake.networks.size + fake.networkGroups.size, 0);

  // Deleted by hand.
  for (const ask of [{}, { ...network, annotations: zoneMaps }]) {
    await harness.settle(ask);
    await world.deleteLoadBalancer([...fake.balancers.keys(), ...fake.networks.keys()][0]!);
    await harness.restart();
    await harness.remove(ask);
  }

  const used = new Set(fake.actions.filter((action) => action !== free));
  assert.deepEqual([...used].sort(), named.toSorted());
  await world.close();
});

it('the RAM policy of Alibaba Cloud denies the roles of other services than Network Load Balancer', async () => {
  const policy = await shippedPolicy();
  for (const service of ['ecs.aliyuncs.com', 'alb.aliyuncs.com'])
    assert.ok(!allows(policy, { action: newRole, resource: '*', context: contextOf(newRole, service) }), service);
});
