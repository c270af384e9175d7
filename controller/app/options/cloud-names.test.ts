import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readCloudRequests } from './options.ts';

const empty = { cloudProvider: [], cloudConfig: [], nodeSelector: [], requireAttestation: [], bindByName: [] };
const read = (values: Partial<Record<keyof typeof empty, readonly string[]>>) =>
  readCloudRequests({ ...empty, ...values } as unknown as Parameters<typeof readCloudRequests>[0]);

describe('the name that a classic controller gives to its cloud', () => {
  it('is taken in every flag that names a cloud', async () => {
    const [hetzner, simulated] = await read({
      cloudProvider: ['hcloud', 'simulated'],
      nodeSelector: ['hcloud=example.com/site=a', 'simulated=example.com/site=b'],
      bindByName: ['hcloud'],
    });
    assert.deepEqual([hetzner?.name, simulated?.name], ['hetzner', 'simulated']);
    assert.equal(hetzner?.selector?.({ 'example.com/site': 'a' }), true);
    assert.equal(simulated?.selector?.({ 'example.com/site': 'a' }), false);
    assert.deepEqual([hetzner?.bindsByName, simulated?.bindsByName], [true, undefined]);
  });

  it('means the same cloud as our own name', async () => {
    const requests = await read({ cloudProvider: ['hcloud', 'hetzner'], nodeSelector: ['hetzner=a', 'hcloud=b'] });
    assert.deepEqual(
      requests.map(({ name, selector }) => [name, selector?.({ a: '' }), selector?.({ b: '' })]),
      [
        ['hetzner', true, false],
        ['hetzner', false, true],
      ],
    );
  });

  it('is not what a refusal offers', async () => {
    await assert.rejects(read({ cloudProvider: ['hloud'] }), /"hloud", expected one of .*\bhetzner\b/);
  });
});
