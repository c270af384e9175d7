import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { providerIdCodecs } from '../../../common/provider-id/registry.ts';
import { CloudConfigError } from '../../clouds/cloud.ts';
import { endedPlatforms } from '../../clouds/registry.ts';
import { OptionError, readCloudRequests } from './options.ts';

const empty = {
  cloudProvider: [],
  cloudModule: [],
  cloudConfig: [],
  nodeSelector: [],
  requireAttestation: [],
  bindByName: [],
};
const read = (values: Partial<Record<keyof typeof empty, readonly string[]>>) =>
  readCloudRequests({ ...empty, ...values } as unknown as Parameters<typeof readCloudRequests>[0]);

describe('the name that a classic controller gives to its cloud', () => {
  it('accepts the name of a classic controller in every flag that names a cloud', async () => {
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

  it('takes rackspace for an OpenStack', async () => {
    const [rackspace] = await read({ cloudProvider: ['rackspace'] });
    assert.deepEqual([rackspace?.name, rackspace?.given], ['openstack', 'rackspace']);
  });

  for (const [name, why] of endedPlatforms)
    it(`refuses ${name} in one line: ${why}`, async () => {
      await assert.rejects(read({ cloudProvider: ['aws', name] }), (error) => {
        assert.ok(error instanceof OptionError);
        const expected = `--cloud-provider: "${name}": ${why}: name the cloud that its machines run in, or nocloud; `;
        assert.equal(error.message, `${expected}Nodes of ${name}:// stay foreign`);
        return true;
      });
      for (const codec of providerIdCodecs.values())
        for (const id of [`${name}://x`, `${name}:///x`]) assert.equal(codec.parse(id), undefined, codec.cloud);
    });

  it('lists hetzner among the expected names when it refuses hloud', async () => {
    await assert.rejects(read({ cloudProvider: ['hloud'] }), /"hloud", expected one of .*\bhetzner\b/);
  });
});

describe('--cloud-module', () => {
  const path = '/nowhere/cloud.js';
  for (const [what, given, message] of [
    [
      'has the name of a cloud',
      [`aws=${path}`],
      /"aws=\/nowhere\/cloud.js", expected a NAME that no cloud has: aws is one/,
    ],
    ['has the scheme of a cloud', [`alicloud=${path}`], /alicloud is one that Mooring knows/],
    ['has another scheme of a cloud', [`hrobot=${path}`], /hrobot is one that Mooring knows/],
    ['has the classic name of a cloud', [`hcloud=${path}`], /hcloud is one that Mooring knows/],
    ['has the name of a platform that has ended', [`mesos=${path}`], /mesos is one that Mooring knows/],
    [
      'is given twice',
      [`example=${path}`, 'example=/other.js'],
      /each NAME once: example is "\/nowhere\/cloud.js" already/,
    ],
    [
      'is of a cloud that is not served',
      [`other=${path}`],
      /"other=\/nowhere\/cloud.js", expected --cloud-provider=other beside/,
    ],
  ] as const)
    it(`refuses a module that ${what}`, () =>
      assert.rejects(read({ cloudProvider: ['example'], cloudModule: given }), (error) => {
        assert.ok(error instanceof OptionError);
        assert.match(error.message, message);
        return true;
      }));

  it('lists the cloud of a module among the expected names of a refusal', async () => {
    const reading = read({ cloudProvider: ['example', 'exmaple'], cloudModule: [`example=${path}`] });
    await assert.rejects(reading, /"exmaple", expected one of .*\bexample\b/);
  });

  it('refuses a module that cannot be loaded', async () => {
    const reading = read({ cloudProvider: ['example'], cloudModule: [`example=${path}`] });
    await assert.rejects(reading, CloudConfigError);
  });
});
