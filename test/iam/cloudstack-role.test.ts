import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { permissions } from '../../controller/clouds/cloudstack/permissions.ts';
import { type CloudStackWorld, cloudStackWorld } from '../clouds/cloudstack/cloudstack-world.ts';
import { apiCommands } from '../clouds/cloudstack/fake/fake-api.ts';
import { desiredFor, newOwner, port } from '../clouds/suite/desired.ts';
import { ensure, remove } from '../clouds/suite/drive.ts';

async function shippedCommands(): Promise<readonly string[]> {
  const file = new URL('../../deploy/iam/cloudstack.json', import.meta.url);
  const role: { readonly rules: readonly { readonly rule: string; readonly permission: string }[] } = JSON.parse(
    await readFile(file, 'utf8'),
  );
  assert.deepEqual(role.rules.at(-1), { rule: '*', permission: 'deny' });
  return role.rules.filter(({ permission }) => permission === 'allow').map(({ rule }) => rule);
}

/** The life of one Service, with every kind of change. */
async function live(world: CloudStackWorld): Promise<void> {
  const cloud = await world.open();
  await world.during(cloud.identify());
  await world.during(cloud.check());
  const vms = [await world.createVm(), await world.createVm()];
  await world.during(cloud.instances.lookup(vms.map(({ providerID }) => ({ by: 'providerID', providerID }))));
  const owner = newOwner(world.cluster);
  const driving = async (fields: object) => {
    const { loadBalancers } = await world.open();
    return { world, balancers: loadBalancers!, desired: desiredFor(owner, vms, fields), record: { id: undefined } };
  };
  await ensure(await driving({ ports: [port(80, 30_080), port(443, 30_443)], sourceRanges: ['192.0.2.0/24'] }));
  const hostname = { 'service.beta.kubernetes.io/cloudstack-load-balancer-hostname': 'web.example.com' };
  const changed = { annotations: hostname, sessionAffinity: { timeoutSeconds: 60 } };
  await ensure(await driving(changed));
  const sticky = { 'service.beta.kubernetes.io/cloudstack-load-balancer-stickiness': 'SourceBased' };
  await ensure(await driving({ annotations: sticky }));
  await ensure(await driving({ members: [] }));
  await remove(await driving({}));
}

describe('the role for CloudStack that is shipped', () => {
  it('allows each command that check asks for, and no more', async () => {
    const checked = new Set(permissions.flatMap(({ commands }) => commands));
    assert.deepEqual([...(await shippedCommands())].sort(), [...checked].sort());
  });

  it('allows lookups, check and load balancers in both kinds of network, which use all of it', async () => {
    const shipped = await shippedCommands();
    const used = new Set<string>(['listProjects']);
    for (const world of [cloudStackWorld(), cloudStackWorld({ acl: 'nodes' })]) {
      for (const name of Object.keys(apiCommands)) if (!shipped.includes(name)) world.fake.forbidden.add(name);
      await live(world);
      for (const { name } of world.fake.commands) used.add(name);
      await world.close();
    }
    assert.deepEqual([...used].sort(), [...shipped].sort());
  });
});
