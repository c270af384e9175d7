import assert from 'node:assert/strict';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { repositoryRoot, sourceFiles } from '../../scripts/source-files.ts';
import { type CommandBlock, commandBlocks } from './blocks.ts';
import { readPages } from './pages.ts';

/** scripts/docs-content.test.ts parses the command lines of our programs. */
describe('commands of the pages, whether they are run or not', async () => {
  const pages = await readPages(repositoryRoot);
  const commands = pages.flatMap(({ path, text }) =>
    commandBlocks(text).flatMap((block: CommandBlock) => block.commands.map((command) => ({ path, command }))),
  );

  test('npm run names a script of package.json', async () => {
    const { scripts } = JSON.parse(await readFile(join(repositoryRoot, 'package.json'), 'utf8'));
    const named = commands.flatMap(({ path, command }) =>
      [...command.matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(([, script = '']) => ({ path, script })),
    );
    assert.ok(named.length > 5);
    for (const { path, script } of named) assert.ok(Object.hasOwn(scripts, script), `${path}: npm run ${script}`);
  });

  test('paths below deploy exist, but for the copy that the reader makes', async () => {
    const named = commands.flatMap(({ path, command }) =>
      [...command.matchAll(/(?<![\w/])deploy\/[a-zA-Z][\w./-]*/g)].map(([file]) => ({ path, file })),
    );
    // kubectl names a Deployment like this.
    const files = named.filter(({ file }) => !/^deploy\/(mooring-controller$|examples\/mine)/.test(file));
    assert.ok(files.length > 3);
    for (const { path, file } of files)
      await assert.doesNotReject(access(join(repositoryRoot, file)), `${path}: ${file}`);
  });

  test('annotations, labels and taints of ours are in the code', async () => {
    const sources = sourceFiles().filter((file) => /^(agent|common|controller)\/.*(?<!\.test)\.ts$/.test(file));
    const code = (await Promise.all(sources.map((file) => readFile(join(repositoryRoot, file), 'utf8')))).join('\n');
    let seen = 0;
    for (const { path, text } of pages) {
      for (const [, key = ''] of text.matchAll(/\bmooring\.dev\/([a-z][a-z0-9-]*[a-z0-9])/g)) {
        assert.match(code, new RegExp(`['/]${key}['\`-]`), `${path}: mooring.dev/${key}`);
        seen += 1;
      }
    }
    assert.ok(seen > 20, `only ${seen} were found`);
  });
});
