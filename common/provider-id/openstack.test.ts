import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openstack } from './openstack.ts';

const id = '00000000-0000-4000-8000-000000000001';

for (const [text, expected] of [
  [`openstack:///${id}`, { instanceId: id }],
  [`openstack://us-east-1/${id}`, { instanceId: id, region: 'us-east-1' }],
  [`/${id}`, { instanceId: id }],
  [`us-east-1/${id}`, { instanceId: id, region: 'us-east-1' }],
  [id, undefined],
  [`us-east-1/zone/${id}`, undefined],
  ['us-east-1/', undefined],
  [`aws:///zone/${id}`, undefined],
] as const)
  it(`reads the providerID ${text} as upstream does`, () => assert.deepEqual(openstack.parse(text), expected));
