import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { configFilesOf } from './config-files.ts';

it('files of a configuration are read as a mounted Secret has them, and missing ones are no error', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-config-'));
  try {
    await mkdir(join(folder, '..2026'));
    await writeFile(join(folder, '..2026', 'a.password'), 'x\n');
    await symlink('..2026', join(folder, '..data'));
    await symlink('..data/a.password', join(folder, 'a.password'));
    await mkdir(join(folder, 'other'));
    const { readText, readFolder } = configFilesOf('cloud');
    assert.deepEqual([...((await readFolder(folder)) ?? [])], [['a.password', 'x\n']]);
    assert.equal(await readText(join(folder, 'a.password')), 'x\n');
    assert.deepEqual([await readText(join(folder, 'b')), await readFolder(join(folder, 'b'))], [undefined, undefined]);
    await assert.rejects(readText(folder), {
      name: 'CloudConfigError',
      message: /^cloud: .*: cannot be read \(EISDIR\)$/,
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});
