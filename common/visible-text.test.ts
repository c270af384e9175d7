import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { invisibleCharacters, visibleLine, visibleText } from './visible-text.ts';

const unseen = new RegExp(`[${invisibleCharacters}]`, 'u');

describe('visible text', () => {
  for (const [name, text] of [
    ['a NUL', '\u0000'],
    ['a new line', '\n'],
    ['an escape', '\u001b'],
    ['DEL', '\u007f'],
    ['a control character of the second set', '\u009b'],
    ['an Arabic letter mark', '\u061c'],
    ['a zero-width space', '\u200b'],
    ['a zero-width joiner', '\u200d'],
    ['marks of direction', '\u200e\u200f'],
    ['embeddings and overrides', '\u202a\u202b\u202c\u202d\u202e'],
    ['isolates', '\u2066\u2067\u2068\u2069'],
    ['separators of lines and paragraphs', '\u2028\u2029'],
    ['a word joiner', '\u2060'],
    ['a byte order mark', '\ufeff'],
    ['half a character', '\ud83d'],
    ['a tag', '\u{e0041}'],
  ] as const) {
    it(`shows ${name} by its number`, () => {
      const shown = visibleText(`a${text}b`);
      assert.match(shown, /^a(\\u\{[0-9a-f]+\})+b$/);
      assert.match(text, unseen);
    });
  }

  it('keeps visible characters unchanged', () => {
    for (const text of ['Zürich 1', '日本 🙂', 'a\\b "c" {d}', '']) assert.equal(visibleText(text), text);
  });

  it('contains no invisible character, keeps to its length and changes nothing when repeated', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (text, length) => {
        const line = visibleLine(text, length);
        assert.ok(line.length <= length);
        assert.doesNotMatch(line, unseen);
        assert.equal(visibleLine(line, length), line);
        assert.equal(visibleText(visibleText(text)), visibleText(text));
      }),
    );
  });
});
