import { parseArgs } from 'node:util';
import { compareSeed } from './compare-seed.ts';

const usage = `usage: plan/main.ts [--seeds N] [--from S] | --seed N [--trace]
  compares what plan says with what run does, in so many generated clusters
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
    const { planned, unplanned, undone, writes, plan } = await compareSeed(seed, trace);
    changes += planned.length;
    if (unplanned.length + undone.length + writes.length + plan.problems.length === 0) continue;
    different += 1;
    const rows = [
      ...unplanned.map((key) => `done, not planned: ${key}`),
      ...undone.map((key) => `planned, not done: ${key}`),
      ...writes.map((call) => `written by the plan: ${call}`),
      ...plan.problems.map((problem) => `in doubt: ${problem}`),
    ];
    process.stdout.write(`seed ${seed}\n${rows.map((row) => `  ${row}\n`).join('')}`);
  }
  const took = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stdout.write(`${count} clusters, ${changes} changes planned, ${different} differ; ${took} s\n`);
  return different === 0 ? 0 : 1;
}

process.exitCode = await main();
