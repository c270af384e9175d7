import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { archiveOf, sha256, tableOf } from '../../scripts/kubelet-package.ts';
import { tarOf } from '../../scripts/tar.ts';
import { folderOf, smallPackage } from './harness/packages.ts';
import { run } from './harness/run.ts';

describe('the package for nodes', () => {
  test('builds the same package again byte for byte', async () => {
    const [first, second] = [archiveOf(await smallPackage()), archiveOf(await smallPackage())];
    assert.equal(sha256(first), sha256(second));
  });

  test('builds an archive that tar unpacks, with correct owners, modes and sums', async (context) => {
    const folder = await folderOf(context);
    const made = await smallPackage();
    await writeFile(join(folder, 'package.tar.gz'), archiveOf(made, 0));
    const listing = await run('tar', ['--list', '--verbose', '--numeric-owner', '--gzip', '--file=package.tar.gz'], {
      cwd: folder,
      env: { TZ: 'UTC' },
    });
    assert.equal(listing.stderr, '');
    assert.match(listing.stdout, new RegExp(`^drwxr-xr-x 0/0 +0 1970-01-01 00:00 ${made.name}/bin/$`, 'm'));
    assert.match(listing.stdout, new RegExp(`^-rwxr-xr-x 0/0 .* ${made.name}/bin/provider-id\\.sh$`, 'm'));
    assert.match(listing.stdout, new RegExp(`^-rw-r--r-- 0/0 .* ${made.name}/lib/agent\\.cjs$`, 'm'));
    assert.equal((await run('tar', ['--extract', '--gzip', '--file=package.tar.gz'], { cwd: folder })).code, 0);
    const sums = await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: join(folder, made.name) });
    assert.equal(sums.code, 0, sums.stdout);
    // Every file is under the sums, apart from the sums.
    assert.equal(sums.stdout.trim().split('\n').length, made.files.length - 1);
  });

  test('lists size and sum of each file in its README', async () => {
    const { files } = await smallPackage();
    const readme = Buffer.from(files.find(({ path }) => path === 'README.md')?.content ?? []).toString('utf8');
    for (const file of files) {
      if (file.path === 'README.md' || file.path === 'SHA256SUMS') continue;
      assert.ok(
        readme.includes(`| \`${file.path}\` | ${file.content.length} | \`${sha256(file.content)}\` |`),
        file.path,
      );
    }
    assert.match(tableOf([{ path: 'a', mode: 0o644, content: Buffer.from('x') }]), /\| `a` \| 1 \| `2d711642/);
  });

  test('refuses an architecture whose Node.js is missing, with the command that brings it', async () => {
    const other = process.arch === 'x64' ? 'arm64' : 'x64';
    const { code, stderr } = await run(
      process.execPath,
      ['scripts/kubelet-package.ts', `--arch=${other}`, '--out=/nonexistent'],
      {
        cwd: join(import.meta.dirname, '../..'),
      },
    );
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`npm ci --os=linux --cpu=${other}`));
    const bad = await run(process.execPath, ['scripts/kubelet-package.ts', '--arch=mips'], {
      cwd: join(import.meta.dirname, '../..'),
    });
    assert.match(bad.stderr, /--arch: "mips", expected x64 or arm64/);
  });

  test('refuses a path that ustar would cut', () => {
    assert.throws(() => tarOf([{ path: 'x'.repeat(100), mode: 0o644, content: Buffer.alloc(0) }]), /at most 99 bytes/);
  });
});
