import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { describe, test } from 'node:test';
import { referenceFolder } from './docs.ts';
import { referencePages } from './reference-pages.ts';

const root = join(import.meta.dirname, '..');

describe('the docs', () => {
  test('hold what the code says: `npm run docs` writes them anew', async () => {
    for (const [name, text] of await referencePages()) {
      const held = await readFile(join(referenceFolder, name), 'utf8').catch(() => '');
      assert.equal(held, text, `docs/reference/${name} is stale`);
    }
  });

  test('link to files and headings that are there', async () => {
    const pages = ['README.md', 'CONTRIBUTING.md', ...(await markdown(join(root, 'docs')))];
    for (const page of pages) {
      const text = await readFile(join(root, page), 'utf8');
      for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target)) continue;
        const [path = '', heading] = target.split('#');
        const file = path === '' ? page : relative(root, join(root, dirname(page), path));
        const there = await readFile(join(root, file), 'utf8').catch((error) =>
          error.code === 'EISDIR' ? '' : undefined,
        );
        assert.notEqual(there, undefined, `${page} links to ${target}`);
        if (heading !== undefined) assert.ok(headings(there ?? '').includes(heading), `${page} links to ${target}`);
      }
    }
  });
});

async function markdown(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => name.endsWith('.md')).map((name) => relative(root, join(folder, name)));
}

/** Anchors of a page's headings, as the usual renderers make them. */
function headings(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
