import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { huaweiWorld } from '../clouds/huawei/huawei-world.ts';

/** Action of each call, as the vendor's API references of ECS, VPC and IAM have it. */
const actions: readonly (readonly [call: RegExp, action: string])[] = [
  [/^GET \/v1\/\w+\/cloudservers\/detail$/, 'ecs:cloudServers:list'],
  [/^GET \/v1\/\w+\/cloudservers\/[\w-]{36}$/, 'ecs:cloudServers:get'],
  [/^GET \/v1\/\w+\/routetables$/, 'vpc:routeTables:list'],
  [/^GET \/v1\/\w+\/routetables\/[\w-]{36}$/, 'vpc:routeTables:get'],
  [/^PUT \/v1\/\w+\/routetables\/[\w-]{36}$/, 'vpc:routeTables:update'],
  [/^GET \/v3\/projects$/, 'iam:projects:listProjects'],
];

describe('the policy for Huawei Cloud that is shipped', () => {
  it('has each action that lookups, routes and check use, and no more', async () => {
    const file = new URL('../../deploy/iam/huaweicloud-policy.json', import.meta.url);
    const policy = JSON.parse(await readFile(file, 'utf8')) as { readonly Statement: readonly { Action: string[] }[] };
    const world = huaweiWorld();
    const cloud = await world.open();
    const { providerID, name } = await world.createVm();
    await world.during(cloud.instances.lookup([{ by: 'providerID', providerID }]));
    await world.during(cloud.instances.lookup([{ by: 'name', name }]));
    const desired = { cluster: 'c', node: name, nodeUid: 'u', destination: '10.9.0.0/24', providerID, addresses: [] };
    const made = await world.during(cloud.routes!.create(desired, { permit: () => {} }));
    await world.during(cloud.routes!.observe('c'));
    await world.during(cloud.routes!.remove(made, { permit: () => {} }));
    for (const { ok, message } of await world.during(cloud.check())) assert.ok(ok, message);
    const used = world.fake.calls.map(({ method, path }) => {
      const action = actions.find(([call]) => call.test(`${method} ${path}`))?.[1];
      return action ?? assert.fail(`${method} ${path} has no action`);
    });
    assert.deepEqual([...new Set(used)].sort(), policy.Statement.flatMap(({ Action }) => Action).sort());
    await world.close();
  });
});
