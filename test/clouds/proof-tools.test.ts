import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { kept } from './proof-tools.ts';

describe('a tool that is kept', () => {
  const own = process.env['XDG_CACHE_HOME'];
  let cache: string;
  before(async () => {
    cache = await mkdtemp(join(tmpdir(), 'mooring-kept-'));
    process.env['XDG_CACHE_HOME'] = cache;
  });
  after(async () => {
    if (own === undefined) delete process.env['XDG_CACHE_HOME'];
    else process.env['XDG_CACHE_HOME'] = own;
    await rm(cache, { recursive: true });
  });

  it('installs a tool once for those who need it at the same time', async () => {
    let installs = 0;
    const install = async (folder: string) => {
      installs += 1;
      await sleep(50);
      await writeFile(join(folder, 'tool'), '');
    };
    const found = await Promise.all([kept('a', install), kept('a', install), kept('a', install)]);
    assert.deepEqual(found, Array(3).fill({ folder: join(cache, 'mooring', 'a') }));
    assert.equal(installs, 1);
  });

  it('installs a tool although a run that has ended holds the lock', async () => {
    await mkdir(join(cache, 'mooring', 'b'), { recursive: true });
    // More than the kernel gives out.
    await writeFile(join(cache, 'mooring', 'b.lock'), '4194305');
    assert.deepEqual(await kept('b', async () => {}), { folder: join(cache, 'mooring', 'b') });
  });

  it('skips a tool that cannot be installed, with the reason, and tries again the next time', async () => {
    const refused = await kept('c', () => Promise.reject(new Error('no network')));
    assert.deepEqual(refused, { skipped: 'c: Error: no network' });
    assert.ok('folder' in (await kept('c', async () => {})));
  });
});
