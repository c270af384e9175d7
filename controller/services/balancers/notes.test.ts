import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseNotes, printNotes } from './notes.ts';

describe('notes', () => {
  const text = fc.string({ minLength: 1, maxLength: 12 }).filter((one) => !/\p{Surrogate}/u.test(one));
  const name = fc.tuple(text, text).map(([kind, key]) => `${kind}/${key}`);
  const state = fc.record({
    ids: fc.dictionary(name, text, { noNullPrototype: true }),
    tried: fc.uniqueArray(name),
  });

  it('holds ids and tried creates with any characters in their names, without a space', () => {
    fc.assert(
      fc.property(state, ({ ids, tried }) => {
        const notes = printNotes({ ids, tried });
        if (notes !== undefined) assert.match(notes, /^[!-~]+$/);
        const read = parseNotes(notes);
        assert.deepEqual(read, { ids, tried: tried.toSorted() });
      }),
    );
  });

  it('ignores notes that cannot be parsed', () => {
    for (const broken of [undefined, '', 'ids', 'ids:a', 'ids:a/b=', 'other:a/b=c', 'ids:%=%'])
      assert.deepEqual(parseNotes(broken), { ids: {}, tried: [] }, broken);
  });
});
