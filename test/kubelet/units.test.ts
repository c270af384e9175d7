import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { reregisterProgram } from '../../deploy/kubelet/reregister/program.ts';
import { kubeadmDropIn, kubeletService } from './harness/kubeadm.ts';
import { folderOf, smallPackage, unpacked } from './harness/packages.ts';
import { run } from './harness/run.ts';

const root = join(import.meta.dirname, '../..');
const source = join(root, 'deploy/kubelet');
const has = async (program: string) => (await run('sh', ['-c', `command -v ${program}`])).code === 0;

describe('the scripts and units', async () => {
  const [shellcheck, systemdAnalyze] = [await has('shellcheck'), await has('systemd-analyze')];

  test('passes shellcheck', shellcheck ? {} : { skip: 'there is no shellcheck' }, async () => {
    const scripts = (await readdir(source)).filter((name) => name.endsWith('.sh')).map((name) => join(source, name));
    assert.equal(scripts.length, 2);
    const harness = join(import.meta.dirname, 'harness/boot-machine.sh');
    const { code, stdout } = await run('shellcheck', [...scripts, harness]);
    assert.equal(code, 0, stdout);
  });

  test(
    'passes the check of systemd, beside the units of kubeadm',
    systemdAnalyze ? {} : { skip: 'there is no systemd-analyze' },
    async (context) => {
      const folder = await folderOf(context);
      const home = await unpacked(await smallPackage(), folder);
      const units = join(folder, 'units');
      const program = join(folder, 'kubelet');
      await writeFile(program, '#!/bin/sh\n');
      await chmod(program, 0o755);
      await mkdir(join(units, 'kubelet.service.d'), { recursive: true });
      const put = (name: string, text: string) =>
        writeFile(join(units, name), text.replaceAll('/usr/bin/kubelet', program));
      await put('kubelet.service', kubeletService);
      await put('kubelet.service.d/10-kubeadm.conf', kubeadmDropIn);
      await put('network-online.target', '[Unit]\nDescription=Network\n');
      for (const name of await readdir(join(source))) {
        if (!name.endsWith('.in')) continue;
        const text = (await readFile(join(source, name), 'utf8')).replaceAll('@PREFIX@/current', home);
        await put(name === '99-mooring.conf.in' ? 'kubelet.service.d/99-mooring.conf' : name.slice(0, -3), text);
      }
      for (const unit of ['kubelet.service', 'mooring-reregister.service', 'mooring-reregister.timer']) {
        const { code, stderr } = await run('systemd-analyze', ['verify', '--recursive-errors=one', unit], {
          cwd: units,
          env: { SYSTEMD_UNIT_PATH: `${units}:` },
        });
        const ours = stderr.split('\n').filter((line) => line.includes(folder) || /mooring|kubelet/.test(line));
        assert.deepEqual([code, ours], [0, []], unit);
      }
    },
  );

  test('lists every setting and its default in the settings file', async () => {
    const text = await readFile(join(source, 'kubelet.conf'), 'utf8');
    const script = await readFile(join(source, 'provider-id.sh'), 'utf8');
    const read = [...script.matchAll(/\$\{(MOORING_[A-Z_]+):-([^}]*)\}/g)].filter(([, name]) => name !== 'MOORING_RUN');
    assert.equal(read.length, 4);
    for (const [, name, fallback] of read) assert.match(text, new RegExp(`^#${name}=${fallback}$`, 'm'));
    assert.match(
      await readFile(join(source, 'mooring-reregister.service.in'), 'utf8'),
      / run \$MOORING_REREGISTER_ARGS$/m,
    );
    assert.match(text, /^#MOORING_REREGISTER_ARGS=$/m);
    // A line that is not commented out would be a default hidden in a file of the user's.
    assert.deepEqual(
      text.split('\n').filter((line) => line !== '' && !line.startsWith('#')),
      [],
    );
  });

  test('names only existing settings and flags in the README', async () => {
    const text = await readFile(join(source, 'README.md'), 'utf8');
    const settings = await readFile(join(source, 'kubelet.conf'), 'utf8');
    for (const [name] of text.matchAll(/MOORING_[A-Z_]+/g)) {
      assert.ok(name === 'MOORING_KUBELET_ARGS' || settings.includes(`#${name}=`), name);
    }
    const script = await readFile(join(source, 'install.sh'), 'utf8');
    const program = JSON.stringify(
      Object.keys(
        reregisterProgram({
          clock: { now: () => 0, monotonic: () => 0, uptime: () => 0, setTimer: () => ({ cancel() {} }) },
          monotonicMs: () => 0,
          signal: new AbortController().signal,
        }).commands['run']?.flags ?? {},
      ),
    );
    const kubelets = ['--provider-id', '--node-ip', '--hostname-override', '--cloud-provider', '--config'];
    const agents = ['--cloud', '--with', '--region', '--config-drive', '--metadata-url', '--arch', '--os', '--cpu'];
    const others = new Set([...kubelets, ...agents]);
    for (const [flag] of text.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)) {
      const known = script.includes(flag) || program.includes(`"${flag.slice(2)}"`) || others.has(flag);
      assert.ok(known, flag);
    }
  });
});
