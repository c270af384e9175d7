import { parseArgs } from 'node:util';
import { addCounts, coverageOf, holesIn, printCoverage } from './coverage.ts';
import { runSeeds } from './pool.ts';
import { runSeed, type SeedResult } from './run-seed.ts';

const usage = `usage: simulate [--seeds N [--from S] [--threads N] [--until-broken] [--no-coverage]]
       simulate --seed N [--quiet]
  --seeds N        so many seeds, from S (1) on: any fault, and whether every promise held (100)
  --seed N         one seed, with a trace of everything that happened in it
  --until-broken   ends at the first seed that breaks a promise
`;

/** So many seeds have to hit every call site with every kind of fault. */
const completeSeeds = 1000;

function whole(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`--${name}: ${text}, expected a whole number`);
  return value;
}

async function one(seed: number, quiet: boolean): Promise<number> {
  const result = await runSeed(seed, quiet ? undefined : (line) => process.stdout.write(`${line}\n`));
  process.stdout.write(`${describe(result)}\n`);
  return result.broken === undefined ? 0 : 1;
}

function describe({ seed, broken, seconds, convergedIn }: SeedResult): string {
  const lived = `${seconds.toFixed(0)} simulated seconds, converged ${convergedIn.toFixed(0)} s after the last fault`;
  if (broken === undefined) return `seed ${seed}: every promise held; ${lived}`;
  return `seed ${seed}: promise ${broken.promise} broken at ${(broken.at / 1000).toFixed(3)}: ${broken.message}`;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '100' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      threads: { type: 'string' },
      quiet: { type: 'boolean', default: false },
      'until-broken': { type: 'boolean', default: false },
      'no-coverage': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  if (values.seed !== undefined) return one(whole('seed', values.seed), values.quiet);
  const counts = new Map<string, number>();
  const startedAt = performance.now();
  const results = await runSeeds({
    from: whole('from', values.from),
    count: whole('seeds', values.seeds),
    untilBroken: values['until-broken'],
    ...(values.threads === undefined ? {} : { threads: whole('threads', values.threads) }),
    onResult(result) {
      addCounts(counts, result.counts);
      if (result.broken !== undefined)
        process.stdout.write(`${describe(result)}\n  again: npm run -s simulate -- --seed ${result.seed}\n`);
    },
  });
  const took = (performance.now() - startedAt) / 1000;
  const coverage = coverageOf(counts);
  if (!values['no-coverage']) process.stdout.write(`${printCoverage(coverage)}\n\n`);
  const broken = results.filter((result) => result.broken !== undefined).length;
  const simulated = results.reduce((sum, { seconds }) => sum + seconds, 0) / 3600;
  const slowest = Math.max(0, ...results.map(({ convergedIn }) => convergedIn));
  process.stdout.write(
    `${results.length} seeds, ${broken} broke a promise; ${simulated.toFixed(1)} simulated hours in ` +
      `${took.toFixed(1)} s, ${(results.length / took).toFixed(1)} seeds/s; slowest convergence ` +
      `${slowest.toFixed(0)} s\n`,
  );
  // Fewer seeds cannot be asked to hit everything.
  const holes = results.length >= completeSeeds ? holesIn(coverage).length : 0;
  return broken === 0 && holes === 0 && results.length > 0 ? 0 : 1;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`simulate: ${error instanceof Error ? error.message : String(error)}\n${usage}`);
    process.exitCode = 2;
  },
);
