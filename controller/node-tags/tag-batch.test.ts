import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CloudError, type CloudErrorKind } from '../../common/cloud-error.ts';
import { sendBatch } from './tag-batch.ts';

function refusal(kind: CloudErrorKind, subjects: readonly string[] = []): CloudError {
  return new CloudError({ kind, cloud: 'aws', operation: 'CreateTags', message: 'no', subjects });
}

const sorted = (items: Iterable<string>) => [...items].sort();

/** Sends letters to a cloud that does a call for all of them or for none, and does not take these. */
async function send(items: readonly string[], bad: ReadonlySet<string>, kind: CloudErrorKind, names: boolean) {
  const calls: string[] = [];
  const result = await sendBatch(
    items,
    (item) => item,
    async (some) => {
      calls.push(some.join(''));
      const refused = some.filter((item) => bad.has(item));
      if (refused.length > 0) throw refusal(kind, names ? refused : []);
    },
  );
  return { ...result, calls };
}

describe('a batch that the cloud does for all or for none', () => {
  const letters = [...'abcdefghijklmnop'];

  it('sends all but the refused items, whether the refusal names them or not', async () => {
    const kind = fc.constantFrom<CloudErrorKind>('NotFound', 'Invalid', 'Conflict', 'QuotaExceeded', 'Forbidden');
    const worlds = fc.record({
      bad: fc.uniqueArray(fc.constantFrom(...letters), { maxLength: 2 }),
      kind,
      names: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(worlds, async ({ bad, kind: one, names }) => {
        const { done, refused, failure } = await send(letters, new Set(bad), one, names);
        assert.deepEqual(
          sorted(done),
          letters.filter((letter) => !bad.includes(letter)),
        );
        assert.deepEqual(sorted(refused.map(({ item }) => item)), sorted(bad));
        assert.equal(failure, undefined);
      }),
    );
  });

  it('sends a batch again at once without the items that the refusal names', async () => {
    const { calls } = await send([...'abcd'], new Set('b'), 'NotFound', true);
    assert.deepEqual(calls, ['abcd', 'acd']);
  });

  it('ends after a dozen refusals, with the last one as the failure of the rest', async () => {
    const all = new Set(letters);
    const { calls, done, failure } = await send(letters, all, 'Forbidden', false);
    assert.equal(calls.length, 12);
    assert.deepEqual(done, []);
    assert.ok(failure instanceof CloudError);
  });

  for (const kind of ['Throttled', 'Unavailable', 'Timeout', 'Unauthorized'] as const) {
    it(`keeps a batch undivided when the failure is about no item of it: ${kind}`, async () => {
      const { calls, failure } = await send([...'abcd'], new Set('b'), kind, false);
      assert.deepEqual(calls, ['abcd']);
      assert.ok(failure instanceof CloudError && failure.kind === kind);
    });
  }

  it('sends no call for an empty batch', async () => {
    assert.deepEqual((await send([], new Set(), 'NotFound', true)).calls, []);
  });
});
