import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerFields } from './answer-fields.ts';
import { pagesByToken, unchangedList } from './pages.ts';

const list = { cloud: 'simulated', operation: 'things.list' };

describe('a list of numbered pages', () => {
  it('reads a list of numbered pages again while it changes', async () => {
    const reads = [undefined, undefined, ['a']];
    assert.deepEqual(await unchangedList(list, async () => reads.shift()), ['a']);
  });

  it('fails where it changes each time', async () => {
    let reads = 0;
    const changing = unchangedList(list, async () => {
      reads += 1;
      return undefined;
    });
    await assert.rejects(changing, { kind: 'Unavailable', operation: 'things.list', message: /the list changed/ });
    assert.equal(reads, 3);
  });
});

describe('pages with tokens', () => {
  const read = (nextOf: Readonly<Record<string, string>>) => async (token: string | undefined) =>
    answerFields({ name: token ?? 'first', next: nextOf[token ?? 'first'] }, list);

  it('reads pages until one has no token', async () => {
    const names: string[] = [];
    for await (const page of pagesByToken(list, 'next', read({ first: 'b', b: 'c' }))) names.push(page.text('name'));
    assert.deepEqual(names, ['first', 'b', 'c']);
  });

  it('fails where the tokens of pages lead in a circle', async () => {
    const pages = pagesByToken(list, 'next', read({ first: 'b', b: 'c', c: 'b' }));
    const circle = { kind: 'Unavailable', message: /the pages lead in a circle/ };
    await assert.rejects(Array.fromAsync(pages), circle);
  });
});
