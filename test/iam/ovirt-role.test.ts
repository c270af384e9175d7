import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import type { InstanceRef } from '../../controller/clouds/cloud.ts';
import { ovirtWorld } from '../clouds/ovirt/ovirt-world.ts';

describe('the role for oVirt that is shipped', () => {
  it('permits the login alone, and shows all VMs as a role of administrators', async () => {
    const file = new URL('../../deploy/iam/ovirt-role.json', import.meta.url);
    const { administrative, permits } = JSON.parse(await readFile(file, 'utf8'));
    assert.equal(administrative, 'true');
    assert.deepEqual(permits, { permit: [{ id: '1300', name: 'login' }] });
  });

  it('suffices, since lookups of each kind and check send the login and reads alone', async () => {
    const world = ovirtWorld();
    const cloud = await world.open();
    const vms = await Promise.all(Array.from({ length: 8 }, () => world.createVm()));
    await world.stopVm!(vms[0]!.providerID);
    const lookUp = async (refs: readonly InstanceRef[]) => {
      const states = [...(await world.during(cloud.instances.lookup(refs))).values()].map(({ state }) => state);
      return [...new Set(states)];
    };
    const byId = vms.map(({ providerID }) => ({ by: 'providerID', providerID }) as const);
    for (const some of [byId.slice(0, 1), byId, vms.map(({ name }) => ({ by: 'name', name }) as const)])
      assert.deepEqual(await lookUp(some), ['found']);
    assert.deepEqual(await lookUp([{ by: 'providerID', providerID: world.unusedProviderID() }]), ['absent']);
    await world.during(cloud.identify());
    await world.during(cloud.ping!());
    for (const { ok, message } of await world.during(cloud.check())) assert.ok(ok, message);
    await world.close();
    const sent = world.fake.calls.map(({ method, path }) => (method === 'GET' ? method : `${method} ${path}`));
    assert.deepEqual([...new Set(sent)].sort(), ['GET', 'POST /ovirt-engine/sso/oauth/token']);
  });
});
