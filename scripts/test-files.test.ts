import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');
const folders = ['agent', 'common', 'controller', 'deploy', 'test', 'bench', 'scripts'];
/** They put the files of a suite together, for others to call. */
const entries = [
  'agent/testing/source-suite.ts',
  'test/clouds/life/life-suite.ts',
  'test/clouds/suite/cloud-suite.ts',
  'test/upgrade/upgrade-suite.ts',
];

test('every file that registers tests ends in .test.ts or .suite.ts', () => {
  const others = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.parentPath.includes('node_modules'))
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !/\.(test|suite)\.ts$/.test(path))
      .filter((path) => /^import .*\b(describe|it|test)\b.* from 'node:test';/m.test(readFileSync(path, 'utf8')))
      .map((path) => relative(root, path)),
  );
  assert.deepEqual(others.toSorted(), entries);
});

test('every .test.ts is where npm test looks', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { test: string } };
  const looked = new Set([...scripts.test.matchAll(/'(\w+)\/\*\*\/\*\.test\.ts'/g)].map((match) => match[1]));
  const unlooked = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^(\.|node_modules$|dist$)/.test(entry.name))
    .filter((entry) => !looked.has(entry.name));
  const strays = unlooked.flatMap(({ name }) =>
    readdirSync(join(root, name), { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.test.ts')),
  );
  assert.ok(looked.has('test'));
  assert.deepEqual(strays, []);
});

test('every title of a test is a sentence that can be read without its describe', () => {
  const halves = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.(test|suite)\.ts$/.test(path) && !path.includes('node_modules'))
      .flatMap((path) => {
        const text = readFileSync(join(root, folder, path), 'utf8');
        return [...text.matchAll(/\b(?:it|test)\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gs)]
          .map(([, , title = '']) => title)
          .filter((title) =>
            /^(is|are|was|were|has|have|does|do|may|can|cannot|stays|of|with|in|on|and|not) /.test(title),
          )
          .map((title) => `${join(folder, path)}: ${title}`);
      }),
  );
  assert.deepEqual(halves, []);
});
