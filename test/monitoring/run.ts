import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { debianPackages } from '../clouds/proof-tools.ts';

/**
 * `node test/monitoring/run.ts`: the alerts that the chart ships, by promtool of Debian's Prometheus. Ends in
 * "N passed, N failed", which counts alerts.
 */
const rules = join(import.meta.dirname, '../../deploy/chart/files/alerts.yaml');

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
}

interface TestFile {
  readonly tests: readonly {
    readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts?: readonly unknown[] }[];
  }[];
}

const tool = await debianPackages('prometheus', ['prometheus']);
if ('skipped' in tool) {
  console.error(`SKIPPED: the alerts were NOT tested: ${tool.skipped}`);
  console.log('0 passed, 0 failed');
} else {
  const promtool = join(tool.folder, 'usr/bin/promtool');
  const alerts = (parse(await readFile(rules, 'utf8')) as RuleFile).groups.flatMap(({ rules: each }) =>
    each.map(({ alert }) => alert),
  );
  const tests = (await readFile(join(import.meta.dirname, 'alerts.yaml'), 'utf8')).replace('RULES', rules);
  const cases = (parse(tests) as TestFile).tests.flatMap((each) => each.alert_rule_test);
  const untested = alerts.filter((alert) =>
    [true, false].some((fires) => !cases.some((one) => one.alertname === alert && fires === 'exp_alerts' in one)),
  );
  const complaints = untested.map((alert) => `${alert}: no test in which it fires, or none in which it is silent`);
  const folder = await mkdtemp(join(tmpdir(), 'mooring-alerts-'));
  const file = join(folder, 'alerts.yaml');
  await writeFile(file, tests);
  for (const args of [
    ['check', 'rules', '--lint-fatal', rules],
    ['test', 'rules', file],
  ]) {
    const said = await complaint(promtool, args);
    if (said !== undefined) complaints.push(said);
  }
  await rm(folder, { recursive: true });
  for (const one of complaints) console.error(one);
  console.log(`${complaints.length === 0 ? alerts.length : 0} passed, ${complaints.length} failed`);
  process.exitCode = complaints.length === 0 ? 0 : 1;
}

/** What a program says when it fails. */
function complaint(program: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, args, (error, stdout, stderr) => resolve(error === null ? undefined : `${stdout}${stderr}`));
  });
}
