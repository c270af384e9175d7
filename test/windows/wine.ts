import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RegistryValue } from '../../agent/windows/registry.ts';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  /** Waits until stderr shows it; throws after half a minute. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  kill(): Promise<void>;
}

/** Wine with a Windows of its own. */
export interface Wine {
  run(args: readonly string[]): Promise<Ended>;
  start(args: readonly string[]): Running;
  setRegistry(keys: Readonly<Record<string, readonly RegistryValue[]>>): Promise<void>;
  stop(): Promise<void>;
}

const limitMs = 120_000;

/** @param program Wine 10 or later @param folder where the Windows and its files will be */
export async function openWine(program: string, folder: string): Promise<Wine> {
  const env = { PATH: process.env['PATH'], HOME: folder, WINEPREFIX: join(folder, 'windows'), WINEDEBUG: '-all' };
  let count = 0;

  /** Node cannot write to Wine's pipes, so both outputs are files. */
  function launch(args: readonly string[]) {
    count += 1;
    const files = [join(folder, `${count}.out`), join(folder, `${count}.err`)] as const;
    const [out, err] = files.map((file) => openSync(file, 'w'));
    const child = spawn(program, args, { env, cwd: folder, stdio: ['ignore', out!, err!], timeout: limitMs });
    closeSync(out!);
    closeSync(err!);
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    return { child, ended, files };
  }

  async function run(args: readonly string[]): Promise<Ended> {
    const { ended, files } = launch(args);
    const code = await ended;
    const [stdout = '', stderr = ''] = await Promise.all(files.map((file) => readFile(file, 'utf8')));
    return { code, stdout, stderr: withoutWine(stderr) };
  }

  async function must(args: readonly string[]): Promise<void> {
    const { code, stderr } = await run(args);
    if (code !== 0) throw new Error(`${args.join(' ')}: exit code ${code}: ${stderr}`);
  }

  await must(['wineboot', '--init']);
  await must(['reg', 'add', 'HKCU\\Software\\Wine', '/v', 'Version', '/d', 'win10', '/f']);
  return {
    run,
    start(args) {
      const { child, ended, files } = launch(args);
      return {
        says: (pattern) => saying(files[1], pattern),
        kill: () => killed(child, ended),
      };
    },
    async setRegistry(keys) {
      const file = join(folder, 'machine.reg');
      await writeFile(file, registryFile(keys));
      await must(['reg', 'import', `Z:${file}`]);
    },
    stop: () => must(['wineboot', '--kill']),
  };
}

async function saying(file: string, pattern: RegExp): Promise<RegExpExecArray> {
  for (let tries = 0; tries < 300; tries += 1) {
    const found = pattern.exec(await readFile(file, 'utf8'));
    if (found !== null) return found;
    await sleep(100);
  }
  throw new Error(`it did not say ${pattern}: ${await readFile(file, 'utf8')}`);
}

async function killed(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.kill('SIGKILL');
  await ended;
}

/** What Wine itself says of the missing desktop. */
function withoutWine(text: string): string {
  return text.replace(/^(error: XDG_RUNTIME_DIR|wine: ).*\n/gm, '');
}

/** As `reg import` takes it. */
function registryFile(keys: Readonly<Record<string, readonly RegistryValue[]>>): string {
  const print = ({ name, type, data }: RegistryValue) => {
    if (type === 'REG_BINARY') return `"${name}"=hex:${data.match(/../g)?.join(',') ?? ''}`;
    if (type === 'REG_DWORD') return `"${name}"=dword:${data.slice(2).padStart(8, '0')}`;
    return `"${name}"="${data.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  };
  const sections = Object.entries(keys).map(([key, values]) =>
    [`[${key.replace(/^HKLM/, 'HKEY_LOCAL_MACHINE')}]`, ...values.map(print), ''].join('\r\n'),
  );
  return ['Windows Registry Editor Version 5.00', '', ...sections, ''].join('\r\n');
}
