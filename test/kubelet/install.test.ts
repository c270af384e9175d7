import assert from 'node:assert/strict';
import { chmod, lstat, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, type TestContext, test } from 'node:test';
import type { KubeletPackage } from '../../scripts/kubelet-package.ts';
import { folderOf, smallPackage, unpacked, withContents } from './harness/packages.ts';
import { type Ended, run } from './harness/run.ts';

const dropin = 'etc/systemd/system/kubelet.service.d/99-mooring.conf';
const settings = 'etc/mooring/kubelet.conf';
const service = 'etc/systemd/system/mooring-reregister.service';
const timer = 'etc/systemd/system/mooring-reregister.timer';
const wanted = 'etc/systemd/system/timers.target.wants/mooring-reregister.timer';

describe('install.sh', async () => {
  let made: KubeletPackage;
  before(async () => {
    made = await smallPackage();
  });
  const systemctl = (await run('systemctl', ['--version'])).code === 0;

  /** An image's root with the package beside it. */
  async function image(context: TestContext, packed = made) {
    const folder = await folderOf(context);
    const root = join(folder, 'root');
    await mkdir(join(root, 'etc/systemd/system'), { recursive: true });
    const source = await unpacked(packed, join(folder, 'unpacked'));
    const install = (...args: string[]): Promise<Ended> => run(join(source, 'install.sh'), [...args, `--root=${root}`]);
    return { folder, root, source, install };
  }

  /** Every file and link below a folder, with what tells whether it was written again. */
  async function snapshot(root: string): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
      if (entry.isDirectory()) continue;
      const path = join(entry.parentPath, entry.name);
      const { ino, mtimeMs } = await lstat(path);
      found[path.slice(root.length + 1)] = entry.isSymbolicLink() ? await readlink(path) : `${ino} ${mtimeMs}`;
    }
    return found;
  }

  test('puts everything in one folder, connects it to the kubelet and records the files outside', async (context) => {
    const { root, install } = await image(context);
    const { code, stderr } = await install();
    assert.deepEqual([code, stderr], [0, '']);
    const files = Object.keys(await snapshot(root));
    const outside = files.filter((path) => !path.startsWith('opt/mooring/'));
    assert.deepEqual(outside.sort(), [settings, dropin].sort());
    const drop = await readFile(join(root, dropin), 'utf8');
    assert.doesNotMatch(drop, /@PREFIX@/);
    assert.match(drop, /exec \/opt\/mooring\/current\/bin\/provider-id\.sh write'$/m);
    const recorded = await readFile(join(root, 'opt/mooring/installed'), 'utf8');
    for (const path of outside) assert.match(recorded, new RegExp(`^file [0-9a-f]{64} /${path}$`, 'm'));
    assert.equal((await lstat(join(root, 'opt/mooring/current/bin/node'))).mode & 0o777, 0o755);
    const program = await run(join(root, 'opt/mooring/current/bin/node'), [
      join(root, 'opt/mooring/current/lib/agent.cjs'),
      '--version',
    ]);
    assert.match(program.stdout, /^mooring-agent \d/);
  });

  test('changes nothing when it runs a second time', async (context) => {
    const { root, install } = await image(context);
    await install();
    const before = await snapshot(root);
    const { code, stdout } = await install();
    assert.equal(code, 0);
    assert.match(stdout, /is installed already/);
    const { 'opt/mooring/current': _, ...after } = await snapshot(root);
    const { 'opt/mooring/current': __, ...first } = before;
    assert.deepEqual(after, first);
  });

  test('replaces the release in an upgrade, keeps changed settings, and leaves one release', async (context) => {
    const { root, folder, install } = await image(context);
    await install();
    await writeFile(join(root, settings), 'MOORING_AGENT_ARGS=--cloud=aws\n');
    const newer = withContents(made, {
      VERSION: '0.2.0-linux-x64\n',
      'units/99-mooring.conf.in': '[Service]\n# newer\n',
    });
    const source = await unpacked(newer, join(folder, 'newer'));
    const { code, stderr } = await run(join(source, 'install.sh'), [`--root=${root}`]);
    assert.deepEqual([code, stderr], [0, '']);
    const releases = await readdir(join(root, 'opt/mooring/releases'));
    assert.equal(releases.length, 1);
    assert.match(releases[0] ?? '', /^0\.2\.0-linux-x64-[0-9a-f]{12}$/);
    assert.equal(await readlink(join(root, 'opt/mooring/current')), `releases/${releases[0]}`);
    assert.match(await readFile(join(root, dropin), 'utf8'), /# newer/);
    assert.equal(await readFile(join(root, settings), 'utf8'), 'MOORING_AGENT_ARGS=--cloud=aws\n');
  });

  test('keeps a changed drop-in through upgrade and removal', async (context) => {
    const { root, folder, install } = await image(context);
    await install();
    await writeFile(join(root, dropin), '# mine\n');
    const source = await unpacked(
      withContents(made, { 'units/99-mooring.conf.in': '# newer\n' }),
      join(folder, 'newer'),
    );
    const upgraded = await run(join(source, 'install.sh'), [`--root=${root}`]);
    assert.equal(upgraded.code, 0);
    assert.match(upgraded.stderr, /99-mooring\.conf was changed since it was written: it stays as it is/);
    assert.equal(await readFile(join(root, dropin), 'utf8'), '# mine\n');
    const removed = await install('uninstall');
    assert.match(removed.stderr, /99-mooring\.conf was changed since it was written: it stays/);
    assert.deepEqual(Object.keys(await snapshot(root)), [dropin]);
  });

  test('stops before any write at a foreign drop-in or folder', async (context) => {
    const one = await image(context);
    await mkdir(join(one.root, dropin, '..'), { recursive: true });
    await writeFile(join(one.root, dropin), '# theirs\n');
    const before = await snapshot(one.root);
    const refused = await one.install();
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /99-mooring\.conf is there already and not ours/);
    assert.deepEqual(await snapshot(one.root), before);

    const other = await image(context);
    await mkdir(join(other.root, 'opt/mooring'), { recursive: true });
    await writeFile(join(other.root, 'opt/mooring/theirs'), '');
    const second = await other.install();
    assert.equal(second.code, 1);
    assert.match(second.stderr, /\/opt\/mooring is not empty and not ours/);
    assert.deepEqual(Object.keys(await snapshot(other.root)), ['opt/mooring/theirs']);
  });

  test('uses settings that were there before, and keeps them after removal', async (context) => {
    const { root, install } = await image(context);
    await mkdir(join(root, 'etc/mooring'));
    await writeFile(join(root, settings), 'MOORING_TIMEOUT=5\n');
    assert.equal((await install()).code, 0);
    assert.equal(await readFile(join(root, settings), 'utf8'), 'MOORING_TIMEOUT=5\n');
    assert.equal((await install('uninstall')).code, 0);
    assert.deepEqual(Object.keys(await snapshot(root)), [settings]);
  });

  test('removes all of its own files and nothing else', async (context) => {
    const { root, install } = await image(context);
    await mkdir(join(root, 'etc/systemd/system/kubelet.service.d'), { recursive: true });
    await writeFile(join(root, 'etc/systemd/system/kubelet.service.d/50-theirs.conf'), '');
    await install(...(systemctl ? ['--reregister'] : []));
    const release = await readlink(join(root, 'opt/mooring/current'));
    await writeFile(join(root, 'opt/mooring', release, 'theirs'), '');
    const own = await run(join(root, 'opt/mooring', release, 'install.sh'), ['uninstall', `--root=${root}`]);
    assert.equal(own.code, 0);
    assert.match(own.stderr, /holds files that are not ours: they stay/);
    assert.deepEqual(
      Object.keys(await snapshot(root)).sort(),
      ['etc/systemd/system/kubelet.service.d/50-theirs.conf', join('opt/mooring', release, 'theirs')].sort(),
    );
    const again = await install('uninstall');
    assert.deepEqual([again.code, again.stdout], [0, 'nothing is installed in /opt/mooring\n']);
    assert.ok(await lstat(join(root, 'etc/systemd/system')));
  });

  test('leaves an image with its original folders after install and removal', async (context) => {
    const { root, install } = await image(context);
    await mkdir(join(root, 'opt'));
    const before = (await readdir(root, { recursive: true })).sort();
    await install(...(systemctl ? ['--reregister'] : []));
    const { code, stderr } = await install('uninstall');
    assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual((await readdir(root, { recursive: true })).sort(), before);
  });

  test('refuses a package that does not match its sums', async (context) => {
    const harm: [string, (source: string) => Promise<unknown>, RegExp][] = [
      ['a changed program', (at) => writeFile(join(at, 'lib/agent.cjs'), 'evil'), /lib\/agent\.cjs: FAILED/],
      [
        'a cut file',
        (at) => writeFile(join(at, 'bin/node'), made.files[0]!.content.subarray(0, 10)),
        /bin\/node: FAILED/,
      ],
      ['a missing file', (at) => rm(join(at, 'lib/reregister.cjs')), /lib\/reregister\.cjs/],
      ['no sums', (at) => rm(join(at, 'SHA256SUMS')), /has no SHA256SUMS/],
      ['empty sums', (at) => writeFile(join(at, 'SHA256SUMS'), ''), /SHA256SUMS is broken/],
      [
        'cut sums',
        async (at) => {
          const text = await readFile(join(at, 'SHA256SUMS'), 'utf8');
          await writeFile(join(at, 'SHA256SUMS'), text.slice(0, text.length / 2 + 20));
        },
        /SHA256SUMS/,
      ],
      [
        'sums that lead outside',
        (at) => writeFile(join(at, 'SHA256SUMS'), `${'0'.repeat(64)}  lib/../../../x\n`),
        /SHA256SUMS is broken/,
      ],
      [
        'sums with an absolute path',
        (at) => writeFile(join(at, 'SHA256SUMS'), `${'0'.repeat(64)}  /etc/passwd\n`),
        /SHA256SUMS is broken/,
      ],
    ];
    for (const [name, change, reason] of harm) {
      const { root, source, install } = await image(context);
      await change(source);
      const { code, stderr } = await install();
      assert.equal(code, 1, `${name}: ${stderr}`);
      assert.match(stderr, reason, name);
      assert.deepEqual(await snapshot(root), {}, name);
    }
  });

  test('refuses a broken package, and repairs a broken installation with an intact one', async (context) => {
    const { root, folder, install } = await image(context);
    await install();
    const before = await snapshot(root);
    const broken = await unpacked(withContents(made, { VERSION: '9.9.9\n' }), join(folder, 'broken'));
    await writeFile(join(broken, 'lib/agent.cjs'), 'cut');
    assert.equal((await run(join(broken, 'install.sh'), [`--root=${root}`])).code, 1);
    assert.deepEqual(await snapshot(root), before);

    const agent = join(root, 'opt/mooring/current/lib/agent.cjs');
    await writeFile(agent, 'rotten');
    const verified = await run(join(root, 'opt/mooring/current/install.sh'), ['verify']);
    assert.equal(verified.code, 1);
    assert.match(verified.stderr, /lib\/agent\.cjs: FAILED/);
    assert.equal((await install()).code, 0);
    assert.equal((await run(join(root, 'opt/mooring/current/install.sh'), ['verify'])).code, 0);
    assert.ok((await readFile(agent, 'utf8')).length > 10_000);
  });

  test('finishes an interrupted run at the next', async (context) => {
    const { root, install } = await image(context);
    // As after a cut between the record and the file, and in the middle of copying.
    await mkdir(join(root, 'opt/mooring/releases'), { recursive: true });
    await writeFile(join(root, 'opt/mooring/installed'), `dir /etc/mooring\nfile ${'0'.repeat(64)} /${dropin}\n`);
    await mkdir(join(root, 'opt/mooring/.work.aaaaaa/release'), { recursive: true });
    const { code, stderr } = await install();
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(await readFile(join(root, dropin), 'utf8'), /provider-id\.sh/);
    const removed = await install('uninstall');
    assert.deepEqual([removed.code, removed.stderr], [0, '']);
    assert.deepEqual(await snapshot(root), {});
  });

  test('says so and leaves nothing where it cannot write', async (context) => {
    const { root, install } = await image(context);
    await writeFile(join(root, 'file'), '');
    const { code, stderr } = await install('--prefix=/file/mooring');
    assert.equal(code, 1);
    assert.match(stderr, /cannot write in \/file\/mooring: choose another folder with --prefix/);
    assert.deepEqual(Object.keys(await snapshot(root)), ['file']);
    if (process.getuid?.() === 0) return;
    await mkdir(join(root, 'opt'));
    await chmod(join(root, 'opt'), 0o555);
    const denied = await install();
    await chmod(join(root, 'opt'), 0o755);
    assert.match(denied.stderr, /cannot write in \/opt\/mooring/);
  });

  test('names bad arguments and ends with 2', async (context) => {
    const { root, source, install } = await image(context);
    for (const [args, message] of [
      [['--frobnicate'], /"--frobnicate", expected one of --prefix/],
      [['--prefix=mooring'], /--prefix: "mooring", expected an absolute path/],
      [['--prefix=/'], /--prefix: "\/"/],
      [['--prefix=/opt/../etc'], /--prefix: "\/opt\/\.\.\/etc"/],
      [["--prefix=/opt/my'mooring"], /--prefix: "\/opt\/my'mooring"/],
      [['--prefix=/opt/my mooring'], /--prefix: "\/opt\/my mooring"/],
    ] as const) {
      const { code, stderr } = await install(...args);
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
    }
    assert.match(
      (await run(join(source, 'install.sh'), ['--root=/nonexistent'])).stderr,
      /"\/nonexistent" is no folder/,
    );
    assert.match((await run(join(source, 'install.sh'), ['--prefix'])).stderr, /--prefix: expected a folder/);
    assert.match((await run(join(source, 'install.sh'), ['--help'])).stdout, /^\s*install\.sh \[install\]/m);
    assert.deepEqual(await snapshot(root), {});
  });

  test('puts another prefix into the units and the installed script', async (context) => {
    const { root, install } = await image(context);
    assert.equal((await install('--prefix=/var/lib/mooring')).code, 0);
    assert.match(await readFile(join(root, dropin), 'utf8'), / \/var\/lib\/mooring\/current\/bin\/provider-id\.sh/);
    const own = await run(join(root, 'var/lib/mooring/current/install.sh'), ['uninstall', `--root=${root}`]);
    assert.match(own.stdout, /uninstalled/);
    assert.deepEqual(await snapshot(root), {});
  });

  test(
    'installs the timer only on request, keeps it in an upgrade, and removes it',
    systemctl ? {} : { skip: 'there is no systemctl' },
    async (context) => {
      const { root, install } = await image(context);
      await install('--reregister');
      const units = async () =>
        Object.keys(await snapshot(root))
          .filter((path) => path.includes('reregister.'))
          .sort();
      const there = async () => (await units()).filter((path) => path.startsWith('etc/'));
      assert.deepEqual(await there(), [service, timer, wanted].sort());
      await install();
      assert.deepEqual(await there(), [service, timer, wanted].sort());
      assert.equal((await install('--no-reregister')).code, 0);
      assert.deepEqual(await there(), []);
      await install();
      assert.deepEqual(await there(), []);
    },
  );

  test('follows no link out of its folder when it removes', async (context) => {
    const { root, folder, install } = await image(context);
    await install();
    await writeFile(join(folder, 'precious'), 'x');
    const release = join(root, 'opt/mooring', await readlink(join(root, 'opt/mooring/current')));
    await rm(join(release, 'README.md'));
    await symlink(join(folder, 'precious'), join(release, 'README.md'));
    await install('uninstall');
    assert.equal(await readFile(join(folder, 'precious'), 'utf8'), 'x');
  });
});
