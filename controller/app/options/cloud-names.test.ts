import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { providerIdCodecs } from '../../../common/provider-id/registry.ts';
import { endedPlatforms } from '../../clouds/registry.ts';
import { OptionError, readCloudRequests } from './options.ts';

const empty = { cloudProvider: [], cloudConfig: [], nodeSelector: [], requireAttestation: [], bindByName: [] };
const read = (values: Partial<Record<keyof typeof empty, readonly string[]>>) =>
  readCloudRequests({ ...empty, ...values } as unknown as Parameters<typeof readCloudRequests>[0]);

describe('the name that a classic controller gives to its cloud', () => {
  it('is accepted in every flag that names a cloud', async () => {
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

  it('may be that of Rackspace, which is an OpenStack', async () => {
    const [rackspace] = await read({ cloudProvider: ['rackspace'] });
    assert.deepEqual([rackspace?.name, rackspace?.given], ['openstack', 'rackspace']);
  });

  for (const [name, why] of endedPlatforms)
    it(`is refused in one line where ${why}`, async () => {
      await assert.rejects(read({ cloudProvider: ['aws', name] }), (error) => {
        assert.ok(error instanceof OptionError);
        const expected = `--cloud-provider: "${name}": ${why}: name the cloud that its machines run in, or nocloud; `;
        assert.equal(error.message, `${expected}Nodes of ${name}:// stay foreign`);
        return true;
      });
      for (const codec of providerIdCodecs.values())
        for (const id of [`${name}://x`, `${name}:///x`]) assert.equal(codec.parse(id), undefined, codec.cloud);
    });

  it('is not among the expected names of a refusal', async () => {
    await assert.rejects(read({ cloudProvider: ['hloud'] }), /"hloud", expected one of .*\bhetzner\b/);
  });
});
