import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, it } from 'node:test';
import { circlesOf } from './import-circles.ts';

const root = join(import.meta.dirname, '..');

/** Files that are in a circle still. A file leaves this list with its circle; none comes to it. */
const known: readonly string[] = [];

/** What each file of these folders imports of ours. */
function importsOf(folders: readonly string[]): Map<string, readonly string[]> {
  const imports = new Map<string, readonly string[]>();
  for (const folder of folders) {
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !entry.name.endsWith('.ts') || entry.parentPath.includes('node_modules')) continue;
      const file = join(entry.parentPath, entry.name);
      const text = readFileSync(file, 'utf8');
      const specifiers = text.matchAll(/(?:\bfrom|\bimport) '(\.[^']+\.ts)'/g);
      const targets = [...specifiers].map((match) => relative(root, join(dirname(file), match[1]!)));
      imports.set(relative(root, file), targets);
    }
  }
  return imports;
}

describe('imports', () => {
  const inCircles = circlesOf(importsOf(['agent', 'common', 'controller', 'test', 'bench', 'scripts']));

  it('finds no circle that is not known', () => {
    const fresh = inCircles.filter((circle) => circle.some((file) => !known.includes(file)));
    assert.deepEqual(fresh, []);
  });

  it('finds every circle that is known', () => {
    const files = new Set(inCircles.flat());
    const gone = known.filter((file) => !files.has(file));
    assert.deepEqual(gone, [], 'take these out of the list');
  });

  it('a cloud imports no other cloud', () => {
    const cloudOf = (file: string) => /^controller\/clouds\/([^/]+)\//.exec(file)?.[1];
    const others = [...importsOf(['controller/clouds'])].flatMap(([file, targets]) => {
      if (cloudOf(file) === undefined || file.endsWith('.test.ts')) return [];
      const wrong = targets.filter((target) => cloudOf(target) !== undefined && cloudOf(target) !== cloudOf(file));
      return wrong.map((target) => `${file} imports ${target}`);
    });
    assert.deepEqual(others, []);
  });

  it('finds a circle where two files import each other, directly or by others', () => {
    const imports = new Map([
      ['a', ['b', 'elsewhere']],
      ['b', ['c']],
      ['c', ['a', 'd']],
      ['d', []],
      ['e', ['e', 'a']],
    ]);
    assert.deepEqual(circlesOf(imports), [['a', 'b', 'c'], ['e']]);
  });
});
