import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot, sourceFiles } from './source-files.ts';

const paths = sourceFiles();
const sources = paths
  .filter((path) => /\.(tsx?|mjs|sh|ya?ml)$|^\.ci\/run$/.test(path))
  .map((path) => ({ path, lines: readFileSync(join(repositoryRoot, path), 'utf8').split('\n') }));

test('no line of the sources is longer than 120 characters, comments and texts included', () => {
  const long = sources.flatMap(({ path, lines }) =>
    lines.flatMap((line, at) => ([...line].length > 120 ? [`${path}:${at + 1}`] : [])),
  );
  assert.deepEqual(long, []);
});

test('no literal is spread into another: a spread says that its fields may come from elsewhere', () => {
  const packed = sources.flatMap(({ path, lines }) =>
    lines.flatMap((line, at) =>
      /^\s*\.\.\.(\{.*\}|\{|\[('[^']*'(, )?)+\]),?$/.test(line) ? [`${path}:${at + 1}`] : [],
    ),
  );
  assert.deepEqual(packed, []);
});

test('no comment names a file of ours that does not exist', () => {
  // Every file and folder by its whole path and by each shorter ending of it, as comments name them.
  const names = new Set(
    paths.flatMap((path) => {
      const parts = path.split('/');
      return parts.flatMap((_, from) =>
        parts.slice(from).map((_part, length) => parts.slice(from, from + length + 1).join('/')),
      );
    }),
  );
  const folders = new Set(paths.filter((path) => path.includes('/')).map((path) => path.split('/')[0]));
  const missing = sources.flatMap(({ path, lines }) =>
    lines.flatMap((line, at) => {
      const [, comment = ''] = /^\s*(?:\/\/|\/\*|\*|#(?!!))(.*)/.exec(line) ?? [];
      return [...comment.matchAll(/(?<![\w:/.@$-])(?:\.{1,2}\/)*((?:[\w-][\w.-]*\/)*[\w-]*(?:\.[\w-]+)*)/g)]
        .map(([, name = '']) => name.replace(/[./]+$/, ''))
        .filter((name) => /\.(tsx?|mjs|sh|md)$/.test(name) || (name.includes('/') && folders.has(name.split('/')[0])))
        .filter((name) => !names.has(name))
        .map((name) => `${path}:${at + 1}: ${name}`);
    }),
  );
  assert.deepEqual(missing, []);
});
