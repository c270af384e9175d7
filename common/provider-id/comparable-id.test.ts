import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comparableId } from './comparable-id.ts';

for (const [cloud, one, other, same] of [
  ['azure', '/subscriptions/S/resourceGroups/G/N', '/subscriptions/s/resourcegroups/g/n', true],
  ['vsphere', '422e4956-ad22-1139-6d72-59cc8f26bc90', '56492e42-22ad-3911-6d72-59cc8f26bc90', true],
  ['vsphere', '422E4956-ad22-1139-6d72-59cc8f26bc90', '56492e42-22ad-3911-6d72-59cc8f26bc90', true],
  ['vsphere', '422e4956-ad22-1139-6d72-59cc8f26bc90', '422e4956-ad22-1139-6d72-59cc8f26bc91', false],
  ['openstack', '422e4956-ad22-1139-6d72-59cc8f26bc90', '56492e42-22ad-3911-6d72-59cc8f26bc90', false],
  ['aws', 'i-1', 'i-2', false],
  ['unheard-of', 'A', 'a', false],
] as const) {
  test(`takes ${one} and ${other} of ${cloud} for ${same ? 'one id' : 'two ids'}`, () => {
    assert.equal(comparableId({ cloud, id: one }) === comparableId({ cloud, id: other }), same);
  });
}
