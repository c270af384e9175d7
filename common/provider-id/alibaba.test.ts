import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alibaba } from './alibaba.ts';

test('region and id, with or without a scheme', () => {
  const parts = { instanceId: 'i-bp15xyzabc0123456789', region: 'cn-hangzhou' };
  assert.deepEqual(alibaba.parse('cn-hangzhou.i-bp15xyzabc0123456789'), parts);
  assert.deepEqual(alibaba.parse('alicloud://cn-hangzhou.i-bp15xyzabc0123456789'), parts);
  assert.equal(alibaba.print(parts), 'cn-hangzhou.i-bp15xyzabc0123456789');
});

test('refuses providerIDs of other clouds, and an instance id without a region', () => {
  for (const text of [
    'i-0aa11bb22cc33dd44',
    '5c1d9d1e-1111-4222-8333-944444444444',
    'ocid1.instance.oc1.phx.abyhqljr',
    'node-7.example.com',
    'cn-hangzhou.',
    'ack-hybrid://cn-hangzhou.i-bp1',
    'aws:///eu-west-3a/i-0aa1',
  ]) {
    assert.equal(alibaba.parse(text), undefined, text);
  }
  assert.throws(() => alibaba.print({ instanceId: 'i-bp1' }), /expected <region>\.i-…/);
});
