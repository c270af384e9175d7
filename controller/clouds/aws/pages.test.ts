import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isCloudError } from '../../../common/cloud-error.ts';
import { everyPage } from './pages.ts';

const book: Readonly<Record<string, { items: readonly number[]; next: string | undefined }>> = {
  first: { items: [1, 2], next: 'a' },
  a: { items: [], next: 'b' },
  b: { items: [3], next: '' },
  circle: { items: [4], next: 'a' },
};

describe('the pages of a list', () => {
  it('reads all pages, an empty one in the middle too', async () => {
    assert.deepEqual(await everyPage('List', async (token = 'first') => book[token]!), [1, 2, 3]);
  });

  it('rejects pages that lead in a circle', async () => {
    const turn = everyPage('List', async (token = 'first') => (token === 'b' ? book['circle']! : book[token]!));
    await assert.rejects(turn, (error) => isCloudError(error) && error.kind === 'Unavailable');
  });
});
