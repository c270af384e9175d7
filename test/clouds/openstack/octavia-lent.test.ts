import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { port } from '../suite/desired.ts';
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

  it('is not claimed by a record that a user has written, when its consent has ended', async () => {
    const { id } = await claimed();
    const driven = await harness.ensure({ attach: undefined });
    assert.deepEqual(new Set(reasons(driven)), new Set(['AddressWouldChange', 'ForeignLoadBalancer']));
    assert.deepEqual(harness.octavia.balancers.get(id)?.fields['tags'], []);
  });

  it('is not deleted with a Service whose record names it, and keeps what others have on it', async () => {
    const { id, parts } = await claimed();
    await harness.remove();
    assert.deepEqual([harness.octavia.balancers.has(id), parts()], [true, ['theirs']]);
  });
});
