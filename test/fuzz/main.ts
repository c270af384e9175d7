import { run } from './run.ts';

const usage = 'usage: fuzz [--cases N | --minutes N] [--seed S] [--only CASE]';

interface Arguments {
  readonly cases: number | undefined;
  readonly minutes: number | undefined;
  readonly seed: number | undefined;
  readonly only: number | undefined;
}

function readArguments(words: readonly string[]): Arguments | string {
  const values = new Map<string, number>();
  for (let at = 0; at < words.length; at += 1) {
    const [name = '', joined] = (words[at] ?? '').split('=', 2);
    const text = joined ?? words[++at];
    if (!['--cases', '--minutes', '--seed', '--only'].includes(name)) return `unknown argument ${name}\n${usage}`;
    const value = Number(text);
    const whole = name === '--minutes' ? value > 0 : Number.isSafeInteger(value) && value >= 0;
    if (text === undefined || text === '' || !whole) return `${name} ${text ?? ''}: expected a number\n${usage}`;
    values.set(name, value);
  }
  const [cases, minutes] = [values.get('--cases'), values.get('--minutes')];
  return { cases, minutes, seed: values.get('--seed'), only: values.get('--only') };
}

async function main(): Promise<number> {
  const given = readArguments(process.argv.slice(2));
  if (typeof given === 'string') {
    process.stderr.write(`${given}\n`);
    return 2;
  }
  const seed = given.seed ?? Math.floor(Math.random() * 2 ** 31);
  process.stdout.write(`seed ${seed}\n`);
  const result = await run({
    seed,
    cases: given.cases ?? (given.minutes === undefined ? 50_000 : Number.MAX_SAFE_INTEGER),
    milliseconds: given.minutes === undefined ? Number.POSITIVE_INFINITY : given.minutes * 60_000,
    only: given.only,
    progress: (line) => process.stdout.write(`${line}\n`),
  });
  const { outcomes, faults, trend } = result;
  for (const [outcome, count] of [...outcomes].sort((a, b) => b[1] - a[1])) {
    process.stdout.write(`${String(count).padStart(8)} ${outcome}\n`);
  }
  for (const { number, kind, what, sent, heard } of faults) {
    process.stdout.write(`fault in ${number === undefined ? '' : `case ${number}, `}${kind}: ${what}\n`);
    if (sent !== '') process.stdout.write(`  sent  ${sent}\n`);
    if (heard !== '') process.stdout.write(`  heard ${heard}\n`);
    if (number !== undefined) process.stdout.write(`  again: npm run -s fuzz -- --seed ${seed} --only ${number}\n`);
  }
  const memory =
    `RSS ${(trend.lastRss / 2 ** 20).toFixed(0)} MiB, ${trend.rssPerCase.toFixed(1)} bytes of RSS and ` +
    `${trend.heldPerCase.toFixed(1)} bytes held per case`;
  process.stdout.write(
    `${memory}${trend.judged ? '' : ' (too few cases to judge)'}; ${result.mostSockets} sockets open at rest\n`,
  );
  const count = (wanted: (outcome: string) => boolean) =>
    [...outcomes].filter(([outcome]) => wanted(outcome)).reduce((sum, [, n]) => sum + n, 0);
  const kept = count((outcome) => outcome === 'kept');
  const stale = count((outcome) => outcome === 'stale');
  const silent = count((outcome) => outcome === 'silence');
  const secure = count((outcome) => outcome.startsWith('secure'));
  const refused = count(() => true) - kept - stale - silent - secure;
  process.stdout.write(
    `cases: ${result.cases}, refused: ${refused}, kept: ${kept}, stale: ${stale}, secure port: ${secure}, ` +
      `unanswered: ${silent}, faults: ${faults.length} (${result.seconds.toFixed(0)} s)\n`,
  );
  return faults.length === 0 && result.cases > 0 ? 0 : 1;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`fuzz: ${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
