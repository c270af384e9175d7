import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { withoutMembers } from './unread-members.ts';

const read = (value: unknown, ...names: string[]) =>
  JSON.parse(withoutMembers(Buffer.from(JSON.stringify(value)), names).toString('utf8'));

/** The expected result, computed with objects. */
function emptied(value: unknown, names: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => emptied(item, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      names.includes(key) && Array.isArray(member) ? [] : emptied(member, names),
    ]),
  );
}

describe('unread members', () => {
  it('empties unread members in every object of a list and keeps the rest', () => {
    const node = (name: string) => ({
      metadata: { name, managedFields: [{ fieldsV1: { 'f:images': {}, 'k:{"uid":"1"}': [] } }] },
      status: { addresses: [{ address: name }], images: [{ names: ['a]', '"[', '\\', '\\"]'], sizeBytes: 1 }, {}] },
    });
    const list = { items: [node('a'), node('b'), { status: { images: [] } }, { status: { images: null } }] };
    assert.deepEqual(read(list, 'images', 'managedFields'), emptied(list, ['images', 'managedFields']));
  });

  it('keeps text that looks like an unread member', () => {
    const text = '{"images":["a"]},"images":["b"]';
    const value = { annotations: { images: text, note: text, 'x"images': [1], '\\': ',"images":[' }, images: [text] };
    assert.deepEqual(read(value, 'images'), { ...value, images: [] });
  });

  it('keeps members with white space, and those of a cut text', () => {
    for (const text of ['{"images": ["a"]}', '{"images":["a"', '{"images":["a', '{"images":["a\\', '{"images":[']) {
      assert.equal(withoutMembers(Buffer.from(text), ['images']).toString(), text);
    }
  });

  it('empties unread members with any contents and neighbours', () => {
    const key = fc.oneof(fc.constantFrom('images', 'b', 'x"images', '\\images'), fc.string({ maxLength: 3 }));
    const { value } = fc.letrec((tie) => ({
      text: fc.oneof(
        fc.constantFrom('"images":[', ',"images":[1]', '\\"', ']', '['),
        fc.string({ unit: 'binary', maxLength: 6 }),
      ),
      list: fc.array(tie('value'), { maxLength: 3 }),
      object: fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
      value: fc.oneof(
        { depthSize: 'medium' },
        tie('text'),
        fc.integer(),
        fc.constant(null),
        tie('list'),
        tie('object'),
      ),
    }));
    fc.assert(
      fc.property(value, (any) => {
        const plain = JSON.parse(JSON.stringify(any));
        assert.deepEqual(read(plain, 'images'), emptied(plain, ['images']));
      }),
      { numRuns: 2000 },
    );
  });
});
