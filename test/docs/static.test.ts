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

  test('prose of the pages that are written by hand has at most 120 characters a line', () => {
    const long = pages
      .filter(({ path }) => !path.startsWith('docs/reference/') && path !== 'CHANGELOG.md')
      .flatMap(({ path, text }) =>
        text
          .replace(/^ *```.*?^ *```/gms, (block) => block.replace(/.+/g, ''))
          .split('\n')
          .flatMap((line, at) => (line.length > 120 && !/^ *\|/.test(line) ? [`${path}:${at + 1}`] : [])),
      );
    assert.deepEqual(long, []);
  });

  test('the table of ports has the defaults of the flags', async () => {
    const read = (page: string) => readFile(join(repositoryRoot, 'docs/reference', page), 'utf8');
    const flags = (await read('flags-controller.md')) + (await read('flags-agent.md'));
    const rows = [...(await read('ports.md')).matchAll(/^\| (\d+)\/TCP .* `(--[a-z-]+)` \|$/gm)];
    assert.equal(rows.length, 4);
    for (const [, port = '', flag = ''] of rows)
      assert.match(flags, new RegExp(`^\\| \`${flag}\` \\| \\w+ \\| \`[^\`]*${port}\` `, 'm'), flag);
  });

  test('the guide has the memory limit and the share of the heap that the chart gives', async () => {
    const read = (file: string) => readFile(join(repositoryRoot, file), 'utf8');
    assert.match(
      await read('deploy/chart/templates/_helpers.tpl'),
      /max 256 \(div \(add \(mul 256 .*\) 14999\) 15000\)/,
    );
    assert.match(await read('deploy/chart/templates/controller.yaml'), /--max-old-space-size-percentage=50$/m);
    const guide = (await read('docs/guides/install.md')).replaceAll(/\s+/g, ' ');
    assert.match(guide, /memory limit: 256 MiB for up to 15,000 nodes, above in proportion. The heap is half of it/);
    assert.match(guide, /The limit in the manifests, 256Mi, is enough for 15,000 nodes/);
  });

  test('the controller has no right on Ingresses, Gateways and pods, and may only read EndpointSlices', async () => {
    const rights = await readFile(join(repositoryRoot, 'deploy/base/rbac.yaml'), 'utf8');
    assert.doesNotMatch(rights, /networking\.k8s\.io|ingress|gateway|\bpods\b/);
    assert.match(rights, /resources: \[endpointslices\]\n +verbs: \[list, watch\]/);
    assert.match(rights, /services/);
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
