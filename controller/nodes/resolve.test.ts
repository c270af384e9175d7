import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exampleInstance } from '../model/testing/example-instance.ts';
import { exampleNode, uninitializedTaint } from '../model/testing/example-node.ts';
import { resolveInstance } from './resolve.ts';

const uuid = '11111111-2222-4333-8444-555555555555';

/** What a cloud that may bind by name answers to a lookup by name, while it cannot search everywhere. */
async function resolved(systemUuid: string) {
  const instance = exampleInstance({ smbiosUuid: uuid, namesakesUnknown: 'Unavailable: vc2 does not answer' });
  const cloud = { name: 'simulated', scope: 's', accepts: () => true, bindsByName: true, api: {} } as never;
  const node = exampleNode({ systemUuid, taints: [uninitializedTaint] });
  const lookups = { lookup: async () => ({ state: 'found', power: 'running', instance }) } as never;
  return resolveInstance(node, undefined, { configured: [cloud], lookupsOf: () => lookups });
}

describe('an instance found by its name while others of that name cannot be excluded', () => {
  it('resolves where the UUIDs of machine and Node agree', async () => {
    assert.equal((await resolved(uuid)).kind, 'found');
  });

  for (const [what, systemUuid] of [
    ['there is none to compare', ''],
    ['it contradicts', '99999999-2222-4333-8444-555555555555'],
  ])
    it(`lets the Node wait for the cloud where the UUID does not agree: ${what}`, async () => {
      const { kind, ...rest } = await resolved(systemUuid!);
      assert.deepEqual([kind, 'reason' in rest && rest.reason], ['waiting', 'AwaitingCloud']);
    });
});
