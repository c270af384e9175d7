import assert from 'node:assert/strict';
import { it } from 'node:test';
import { table } from './table.ts';

it('pads every column but the last', () => {
  const rows = [
    ['A', 'LONGER', 'END'],
    ['first', 'b', 'a long end'],
  ];
  assert.equal(table(rows), 'A      LONGER  END\nfirst  b       a long end\n');
});

it('pads no row for the sake of one very long cell', () => {
  const long = 'x'.repeat(500);
  const [short, whole] = table([
    ['b', 'end'],
    [long, 'end'],
  ]).split('\n');
  assert.ok(short!.length < 100, `${short!.length}`);
  assert.equal(whole, `${long}  end`);
});

it('shows characters that would control the terminal, or forge a line', () => {
  const [line, ...rest] = table([['a\n- b', 'c\u001b[2J']]).split('\n');
  assert.deepEqual([line, rest], ['a\\u{a}- b  c\\u{1b}[2J', ['']]);
});
