import { parseArgs } from 'node:util';
import { compareSeed } from './compare-seed.ts';

const usage = `usage: plan/main.ts [--seeds N] [--from S] | --seed N [--trace]
  compares what plan and a dry run say with what run does, in so many generated clusters
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '200' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      trace: { type: 'boolean', default: false },
    },
  });
  const from = Number(values.seed ?? values.from);
  const count = values.seed === undefined ? Number(values.seeds) : 1;
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(count) || count < 1) {
    process.stderr.write(usage);
    return 2;
  }
  const startedAt = performance.now();
  let different = 0;
  let changes = 0;
  for (let seed = from; seed < from + count; seed += 1) {
    const trace = values.trace ? (line: string) => void process.stdout.write(`${line}\n`) : undefined;
    const { planned, unplanned, undone, untold, writes, plan } = await compareSeed(seed, trace);
    changes += planned.length;
    const differing = [unplanned, undone, untold.byPlan, untold.byDryRun, writes, plan.problems];
    if (differing.every((found) => found.length === 0)) continue;
    different += 1;
    const rows = [
      ...unplanned.map((key) => `done, not planned: ${key}`),
      ...undone.map((key) => `planned, not done: ${key}`),
      ...untold.byPlan.map((key) => `told by a dry run, not planned: ${key}`),
      ...untold.byDryRun.map((key) => `planned, not told by a dry run: ${key}`),
      ...writes.map((call) => `written by the plan or the dry run: ${call}`),
      ...plan.problems.map((problem) => `in doubt: ${problem}`),
    ];
    process.stdout.write(`seed ${seed}\n${rows.map((row) => `  ${row}\n`).join('')}`);
  }
  const took = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stdout.write(`${count} clusters, ${changes} changes planned, ${different} differ; ${took} s\n`);
  return different === 0 ? 0 : 1;
}

process.exitCode = await main();
