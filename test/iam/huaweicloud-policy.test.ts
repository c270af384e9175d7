import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import type { DesiredLoadBalancer } from '../../controller/clouds/load-balancers.ts';
import { type HuaweiWorld, huaweiWorld } from '../clouds/huawei/huawei-world.ts';
import { desiredFor, memberOf, newOwner, port } from '../clouds/suite/desired.ts';
import { ensure, remove, type ServiceRecord } from '../clouds/suite/drive.ts';

/** Action of each call, as the vendor's API references of ECS, ELB, EIP, VPC and IAM have it. */
const actions: readonly (readonly [call: RegExp, action: string])[] = [
  [/^GET \/v1\/\w+\/cloudservers\/detail$/, 'ecs:cloudServers:list'],
  [/^GET \/v1\/\w+\/cloudservers\/[\w-]{36}$/, 'ecs:cloudServers:get'],
  [/^GET \/v1\/\w+\/routetables$/, 'vpc:routeTables:list'],
  [/^GET \/v1\/\w+\/routetables\/[\w-]{36}$/, 'vpc:routeTables:get'],
  [/^PUT \/v1\/\w+\/routetables\/[\w-]{36}$/, 'vpc:routeTables:update'],
  [/^POST \/v2\.1\/\w+\/servers\/[\w-]{36}\/action$/, 'ecs:securityGroups:use'],
  [/^GET \/v1\/\w+\/subnets$/, 'vpc:subnets:list'],
  [/^POST \/v1\/\w+\/publicips$/, 'vpc:publicIps:create'],
  [/^DELETE \/v1\/\w+\/publicips\/[\w-]{36}$/, 'vpc:publicIps:delete'],
  [/^GET \/v3\/\w+\/eip\/publicips$/, 'vpc:publicIps:list'],
  [/^GET \/v3\/\w+\/eip\/publicips\/[\w-]{36}$/, 'vpc:publicIps:get'],
  [/^(PUT|POST) \/v3\/\w+\/eip\/publicips\/[\w-]{36}/, 'vpc:publicIps:update'],
  [/^POST \/v2\/\w+\/elb\/loadbalancers$/, 'elb:loadbalancers:create'],
  ...['loadbalancers', 'listeners', 'pools', 'healthmonitors', 'ipgroups', 'members'].flatMap((name) => {
    const path = `/v3/\\w+/elb/${name}`;
    return [
      [new RegExp(`^GET ${path}$`), `elb:${name}:list`],
      [new RegExp(`^GET ${path}/[\\w-]{36}$`), `elb:${name}:get`],
      [new RegExp(`^POST ${path}$`), `elb:${name}:create`],
      [new RegExp(`^PUT ${path}/[\\w-]{36}$`), `elb:${name}:put`],
      [new RegExp(`^DELETE ${path}/[\\w-]{36}`), `elb:${name}:delete`],
    ] as const;
  }),
  [/members\/batch-add$/, 'elb:members:create'],
  [/members\/batch-update$/, 'elb:members:put'],
  [/members\/batch-delete$/, 'elb:members:delete'],
  [/^GET \/v3\/projects$/, 'iam:projects:listProjects'],
];

/** One Service that asks for one thing after the other, each in a process of its own, and goes. */
async function balance(world: HuaweiWorld, asks: readonly Partial<DesiredLoadBalancer>[]): Promise<void> {
  const vms = [await world.createVm(), await world.createVm()];
  const owner = newOwner(world.cluster);
  const record: ServiceRecord = { id: undefined };
  for (const [at, ask] of asks.entries()) {
    const desired = desiredFor(owner, vms, ask);
    const draining = { ...desired, members: [memberOf(vms[0]!), memberOf(vms[1]!, true)] };
    const { loadBalancers } = await world.open();
    const driving = { world, balancers: loadBalancers!, record };
    await ensure({ ...driving, desired });
    await ensure({ ...driving, desired: draining });
    await ensure({ ...driving, desired: { ...desired, members: desired.members.slice(0, 1) } });
    if (at === asks.length - 1) await remove({ ...driving, desired });
  }
}

describe('the policy for Huawei Cloud that is shipped', () => {
  it('allows each action that lookups, routes, load balancers and check use, and no more', async () => {
    const file = new URL('../../deploy/iam/huaweicloud-policy.json', import.meta.url);
    const policy = JSON.parse(await readFile(file, 'utf8')) as { readonly Statement: readonly { Action: string[] }[] };
    const world = huaweiWorld({ env: { SECURITY_GROUP_ID: '7d2c1b0a-3e4f-4a5b-8c6d-9e0f1a2b3c4d' } });
    const cloud = await world.open();
    const { providerID, name } = await world.createVm();
    await world.during(cloud.instances.lookup([{ by: 'providerID', providerID }]));
    await world.during(cloud.instances.lookup([{ by: 'name', name }]));
    const desired = { cluster: 'c', node: name, nodeUid: 'u', destination: '10.9.0.0/24', providerID, addresses: [] };
    const made = await world.during(cloud.routes!.create(desired, { permit: () => {} }));
    await world.during(cloud.routes!.observe('c'));
    await world.during(cloud.routes!.remove(made, { permit: () => {} }));
    const named = (values: Readonly<Record<string, string>>) =>
      Object.fromEntries(Object.entries(values).map(([name, value]) => [`kubernetes.io/elb.${name}`, value]));
    const eip = { 'eip-auto-create-option': '{"bandwidth_size":5}' };
    const changed = { ...eip, 'l4-flavor-id': 'l4', 'idle-timeout': '60', 'health-check-option': '{"delay":7}' };
    await balance(world, [
      { annotations: named(eip), sourceRanges: ['192.0.2.0/24'] },
      { annotations: named({ ...eip, 'keep-eip': 'true', 'lb-algorithm': 'SOURCE_IP' }), sourceRanges: ['::/1'] },
      { annotations: named(changed), sourceRanges: ['192.0.2.0/24'] },
      { annotations: named({ ...eip, 'health-check-flag': 'off' }) },
      { annotations: named(eip), ports: [port(81, 30_081)] },
      { annotations: named({ class: 'shared' }), mayChangeAddress: true },
    ]);
    for (const { ok, message } of await world.during(cloud.check())) assert.notEqual(ok, false, message);
    const used = world.fake.calls.map(({ method, path }) => {
      const action = actions.find(([call]) => call.test(`${method} ${path}`))?.[1];
      return action ?? assert.fail(`${method} ${path} has no action`);
    });
    assert.deepEqual([...new Set(used)].sort(), policy.Statement.flatMap(({ Action }) => Action).sort());
    await world.close();
  });
});
