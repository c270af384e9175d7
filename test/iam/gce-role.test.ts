import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { permissions } from '../../controller/clouds/gce/permissions.ts';
import type { DesiredLoadBalancer } from '../../controller/clouds/load-balancers.ts';
import { fakeGceWorld } from '../clouds/gce/gce-world.ts';
import { desiredFor, newOwner, port } from '../clouds/suite/desired.ts';
import { ensure, remove } from '../clouds/suite/drive.ts';

const internal = { 'networking.gke.io/load-balancer-type': 'Internal' };
const rbs = { 'cloud.google.com/l4-rbs': 'enabled' };
const shared = { port: 10_256, path: '/healthz' };
const own = (number: number) => ({ port: number, path: '/healthz' });

/** The life of one Service: what it asks for, one after the other. */
const lives: readonly (readonly Partial<DesiredLoadBalancer>[])[] = [
  [
    { members: [] },
    {},
    { healthCheck: own(32_000) },
    { healthCheck: own(32_001) },
    { members: [] },
    { annotations: rbs },
  ],
  [
    { annotations: rbs, healthCheck: own(32_000) },
    { annotations: rbs, healthCheck: own(32_001) },
  ],
  [
    { annotations: internal, healthCheck: own(32_000) },
    { annotations: internal, healthCheck: own(32_001), ports: [port(81, 30_081)], sourceRanges: ['192.0.2.0/24'] },
    {
      annotations: { ...internal, 'networking.gke.io/internal-load-balancer-allow-global-access': 'true' },
      healthCheck: shared,
      families: ['IPv4', 'IPv6'],
    },
    { annotations: internal, members: [] },
  ],
];

describe('the role for Compute Engine that is shipped', () => {
  it('grants the permissions that check asks for, in its order, and no others', async () => {
    assert.deepEqual(await shipped(), [...new Set(permissions.flatMap(({ names }) => names))]);
  });

  it('allows lookups, routes, load balancers of each kind and check, which use all of it', async () => {
    const granted = new Set(await shipped());
    const world = fakeGceWorld('target pools', 'subnetwork-name = default');
    const { fake } = world;
    fake.granted = granted;
    fake.balancing.subnets.set('default', { stackType: 'IPV4_IPV6', ipv6AccessType: 'INTERNAL' });
    const cloud = await world.open();
    const vms = [];
    for (let count = 0; count < 8; count += 1) vms.push(await world.createVm());
    for (const some of [vms.slice(0, 1), vms]) {
      const refs = some.map(({ providerID }) => ({ by: 'providerID', providerID }) as const);
      for (const { state } of (await world.during(cloud.instances.lookup(refs))).values()) assert.equal(state, 'found');
    }
    fake.disks.push({ name: 'd', zone: `${fake.api}/projects/proj/zones/us-central1-a` });
    for (const zone of ['us-central1-a', 'UNSPECIFIED']) {
      const handle = `projects/proj/zones/${zone}/disks/d`;
      const answers = await world.during(
        cloud.volumes!.lookup([{ source: 'pd.csi.storage.gke.io', handle, zones: [] }]),
      );
      assert.deepEqual(
        [...answers.values()].map(({ state }) => state),
        ['found'],
      );
    }
    const [{ providerID }] = vms as [(typeof vms)[0]];
    const nodeUid = '7e2b8c1e-0f0a-4f53-b3a5-0c8d6f1f2a3b';
    const route = { cluster: world.cluster, node: 'n', nodeUid, destination: '10.9.0.0/24', providerID };
    const options = { permit() {} };
    const made = await world.during(cloud.routes!.create({ ...route, addresses: [] }, options));
    await world.during(cloud.routes!.remove(made, options));
    for (const life of lives) {
      const base = desiredFor(newOwner(world.cluster), vms.slice(0, 2));
      const driving = (desired: DesiredLoadBalancer) => {
        return { world, balancers: cloud.loadBalancers!, desired, record: { id: undefined } };
      };
      for (const step of life) assert.deepEqual((await ensure(driving({ ...base, ...step }))).refusals, []);
      await remove(driving({ ...base, retain: life === lives[1], ...life.at(-1) }));
    }
    const checks = await world.during(cloud.check());
    assert.ok(
      checks.every(({ ok }) => ok),
      JSON.stringify(checks),
    );
    assert.deepEqual([...fake.used].sort(), [...granted].sort());
    await world.close();
  });
});

async function shipped(): Promise<readonly string[]> {
  const file = new URL('../../deploy/iam/gce-role.yaml', import.meta.url);
  return parse(await readFile(file, 'utf8')).includedPermissions;
}
