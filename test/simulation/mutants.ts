// Proves that the simulation, and the tests of the engine, find bugs: breaks a copy of the product in one way after
// another, and runs seeds until one of them notices, or the tests that a mutant names.
import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { allMutants } from './mutation/all-mutants.ts';
import { brokenTexts, type Mutant } from './mutation/mutant.ts';

const usage = `usage: node test/simulation/mutants.ts [--seeds N] [--only TEXT]
  --seeds N     how many seeds a mutant may survive before it counts as not found (600)
  --only TEXT   those alone whose name has this text
`;

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

interface Outcome {
  readonly mutant: Mutant;
  /** The seed and the promise, or the test; undefined where nothing noticed. */
  readonly found: string | undefined;
  readonly message: string;
  readonly seconds: number;
}

async function copyProduct(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-mutants-'));
  for (const part of [
    'common',
    'controller',
    'deploy/base',
    'test/kit',
    'test/nodes/harness',
    'test/routes',
    'test/sandbox',
    'test/simulation',
    'package.json',
  ]) {
    await mkdir(dirname(join(folder, part)), { recursive: true });
    await cp(join(root, part), join(folder, part), { recursive: true });
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

async function edit(folder: string, mutant: Mutant): Promise<ReadonlyMap<string, string>> {
  const read = (file: string) => readFile(join(folder, file), 'utf8');
  const broken = await brokenTexts(mutant, read);
  const originals = new Map<string, string>();
  for (const [file, text] of broken) {
    originals.set(file, await read(file));
    await writeFile(join(folder, file), text);
  }
  return originals;
}

async function restore(folder: string, originals: ReadonlyMap<string, string>): Promise<void> {
  for (const [file, text] of originals) await writeFile(join(folder, file), text);
}

function runNode(folder: string, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, words, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', () => resolve(output));
  });
}

async function simulate(folder: string, { name }: Mutant, seeds: number): Promise<Pick<Outcome, 'found' | 'message'>> {
  const words = ['test/simulation/main.ts', '--seeds', String(seeds), '--until-broken', '--no-coverage'];
  const output = await runNode(folder, words);
  const [, seed, promise, message = ''] = /^seed (\d+): promise (.+?) broken at [\d.]+: (.*)$/m.exec(output) ?? [];
  if (seed === undefined && !/seeds, 0 broke a promise/.test(output)) throw new Error(`"${name}": ${output}`);
  return { found: seed && `seed ${seed}, promise ${promise}`, message };
}

/** A test file that cannot be run has found nothing. */
async function test(folder: string, { name, by = [] }: Mutant): Promise<Pick<Outcome, 'found' | 'message'>> {
  const output = await runNode(folder, ['--test', '--test-isolation=none', '--test-reporter=tap', ...by]);
  const [, failed] = /^# fail (\d+)$/m.exec(output) ?? [];
  if (failed === undefined || /SyntaxError|ERR_MODULE_NOT_FOUND/.test(output)) throw new Error(`"${name}": ${output}`);
  const titles = [...output.matchAll(/^ *not ok \d+ - (.*)$/gm)].map(([, title = '']) => title);
  return { found: failed === '0' ? undefined : `${failed} tests`, message: titles[0] ?? '' };
}

async function run(folder: string, mutant: Mutant, seeds: number): Promise<Outcome> {
  const startedAt = performance.now();
  const originals = await edit(folder, mutant);
  const noticed = mutant.by === undefined ? await simulate(folder, mutant, seeds) : await test(folder, mutant);
  await restore(folder, originals);
  return { mutant, ...noticed, seconds: (performance.now() - startedAt) / 1000 };
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '600' },
      only: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const chosen = allMutants.filter(({ name }) => values.only === undefined || name.includes(values.only));
  const folder = await copyProduct();
  const outcomes: Outcome[] = [];
  try {
    // All texts first: a mutant that no longer fits is said at once, and not after minutes.
    for (const mutant of allMutants) await restore(folder, await edit(folder, mutant));
    for (const mutant of chosen) {
      const outcome = await run(folder, mutant, Number(values.seeds));
      outcomes.push(outcome);
      const found = outcome.found ?? 'NOT FOUND';
      process.stdout.write(`${mutant.name.padEnd(72)} ${found.padEnd(32)} ${outcome.seconds.toFixed(1)} s\n`);
      if (outcome.found !== undefined) process.stdout.write(`    ${outcome.message.slice(0, 160)}\n`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  const missed = outcomes.filter(({ found }) => found === undefined);
  process.stdout.write(`${outcomes.length} mutants, ${outcomes.length - missed.length} found, ${missed.length} not\n`);
  return missed.length === 0 && outcomes.length > 0 ? 0 : 1;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`mutants: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  },
);
