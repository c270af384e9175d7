import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const { PYTHON: python = '' } = process.env;
const scripts = join(import.meta.dirname, '../../deploy/windows');
const parse = (...files: readonly string[]) =>
  run(python, [join(import.meta.dirname, 'powershell/parse.py'), ...files]);

describe('the scripts for Windows', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-powershell-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('parses the scripts for Windows as PowerShell', async () => {
    const files = (await readdir(scripts)).filter((name) => name.endsWith('.ps1'));
    assert.equal(files.length, 2);
    await parse(...files.map((name) => join(scripts, name)));
  });

  it('prints a line that is PowerShell, for the start script of the kubelet', async () => {
    const guide = await readFile(join(import.meta.dirname, '../../docs/guides/windows.md'), 'utf8');
    const [, line = ''] = /```powershell\n(foreach .*)\n```/.exec(guide) ?? [];
    const printed = line
      .replace(/'C:.*?'/, "'$script'")
      .replaceAll('$each', '`$each')
      .replaceAll('$g', '`$g');
    const install = await readFile(join(scripts, 'install.ps1'), 'utf8');
    assert.ok(install.includes(printed.replaceAll('" \'', '`" \'').replace('\'"', '\'`"')), printed);
  });

  it('parses the lines of the guide as PowerShell, and calls a script that exists', async () => {
    const guide = await readFile(join(import.meta.dirname, '../../docs/guides/windows.md'), 'utf8');
    const blocks = [...guide.matchAll(/^```powershell\n(.*?)^```$/gms)].map(([, block = '']) => block);
    assert.equal(blocks.length, 2);
    for (const [at, block] of blocks.entries()) {
      const file = join(folder, `block-${at}.ps1`);
      await writeFile(file, block);
      await parse(file);
    }
    const [, script = ''] = / -File \S+\\(\S+\.ps1)$/m.exec(blocks[0]!) ?? [];
    assert.ok((await readdir(scripts)).includes(script), blocks[0]);
  });

  it('refuses a script in which a brace is missing', async () => {
    const file = join(folder, 'broken.ps1');
    const whole = await readFile(join(scripts, 'provider-id.ps1'), 'utf8');
    await writeFile(file, whole.replace('} catch {', 'catch {'));
    await assert.rejects(parse(file), /provider-id|broken\.ps1/);
  });
});
