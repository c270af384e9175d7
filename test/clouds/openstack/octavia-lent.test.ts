import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import { tag } from '../../../controller/clouds/openstack/load-balancers/tags.ts';
import { desiredFor, newOwner, port } from '../suite/desired.ts';
import { ensure } from '../suite/drive.ts';
import { subnetId } from './fake-world.ts';
import { type OctaviaHarness, octaviaHarness, reasons } from './octavia-harness.ts';

describe('A load balancer of Octavia that was lent to a Service', () => {
  let harness: OctaviaHarness;
  afterEach(() => harness.close());

  /** A Service uses it, its consent ends, and a user writes it into the record of the Service as if it were its own. */
  async function claimed(): Promise<{ readonly id: string; readonly parts: () => readonly string[] }> {
    harness = await octaviaHarness(`[LoadBalancer]\nsubnet-id = ${subnetId}\n`);
    const id = await harness.world.createForeignLoadBalancer('shared', `${harness.world.cluster}/default`);
    const balancer = harness.octavia.balancers.get(id)!;
    await harness.ensure({ attach: { id, allowed: false }, ports: [port(8443, 30443)] });
    assert.equal(balancer.listeners.length, 2);
    balancer.fields['tags'] = [];
    Object.assign(harness.record, { id, notes: `ids:load%20balancer/main=${id}` });
    return { id, parts: () => balancer.listeners.map(({ fields }) => String(fields['name'])) };
  }

  it('refuses a lent load balancer by a record that a user has written, when its consent has ended', async () => {
    const { id } = await claimed();
    const driven = await harness.ensure({ attach: undefined });
    assert.deepEqual(new Set(reasons(driven)), new Set(['AddressWouldChange', 'ForeignLoadBalancer']));
    assert.deepEqual(harness.octavia.balancers.get(id)?.fields['tags'], []);
  });

  it('keeps a lent load balancer, and what others have on it, when a Service goes whose record names it', async () => {
    const { id, parts } = await claimed();
    await harness.remove();
    assert.deepEqual([harness.octavia.balancers.has(id), parts()], [true, ['theirs']]);
  });

  it("keeps a person's pool unchanged that was put behind the listener of a Service by hand", async () => {
    harness = await octaviaHarness(`[LoadBalancer]\nsubnet-id = ${subnetId}\n`);
    const id = await harness.world.createForeignLoadBalancer('shared', `${harness.world.cluster}/default`);
    const balancer = harness.octavia.balancers.get(id)!;
    const theirs = structuredClone(balancer.pools[0]!);
    await harness.ensure({ attach: { id, allowed: false }, ports: [port(8443, 30443)] });
    const [, listener] = balancer.listeners;
    listener!.poolId = theirs.id;
    await harness.ensure();
    assert.notEqual(listener!.poolId, theirs.id);
    listener!.poolId = theirs.id;
    await harness.remove();
    assert.deepEqual(
      balancer.pools.map((one) => [one.id, one.fields['tags'], one.members.length]),
      [[theirs.id, theirs.fields['tags'], theirs.members.length]],
    );
  });

  it('keeps a pool whose tags were taken off, when the Service of its load balancer is made again', async () => {
    harness = await octaviaHarness(`[LoadBalancer]\nsubnet-id = ${subnetId}\n`);
    await harness.ensure();
    const own = harness.only();
    const balancer = harness.octavia.balancers.get(own.id)!;
    (balancer.fields['tags'] as string[]).push(tag(ownerTags.consent, `${harness.world.cluster}/default`));
    const first = harness.desired;
    const guest = desiredFor(newOwner(harness.world.cluster), harness.vms);
    const record = { id: undefined };
    const attached = { ...guest, attach: { id: own.id, allowed: false }, ports: [port(8443, 30443)] };
    await ensure({ ...(await harness.driving()), desired: attached, record });
    const [, pool] = balancer.pools;
    pool!.fields['tags'] = [];
    await harness.ensure({ ...first, ports: [...first.ports, port(81, 30081)] });
    assert.ok(balancer.pools.includes(pool!));
    assert.equal(balancer.listeners.find(({ fields }) => fields['protocol_port'] === 8443)?.poolId, pool!.id);
  });
});
