import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot, sourceFiles } from '../../scripts/source-files.ts';

/** Fields by which kube-apiserver 1.30, the oldest supported, selects; it answers 400 to others. */
const selectable = /^(metadata\.(name|namespace)|source|reason|type|involvedObject\.[a-zA-Z]+)$/;

test('lists and watches select by no field that the oldest supported API server does not know', async () => {
  const files = ['agent', 'common', 'controller'].flatMap((folder) => sourceFiles(folder));
  const used: string[] = [];
  for (const file of files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))) {
    const text = await readFile(join(repositoryRoot, file), 'utf8');
    for (const [, terms = ''] of text.matchAll(/fieldSelector: ['`](.*?)['`]/g))
      used.push(...terms.split(',').map((term) => term.split('=')[0]!));
  }
  assert.ok(used.includes('metadata.name'));
  assert.deepEqual(
    used.filter((field) => !selectable.test(field)),
    [],
  );
});
