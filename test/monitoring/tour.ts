import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { dashboardQueries } from '../../scripts/dashboards/dashboards.ts';
import { debianPackages } from '../clouds/proof-tools.ts';
import { findHelm } from '../deploy/find-helm.ts';
import { assertThat, until } from '../kit/world/scenario.ts';
import type { World } from '../kit/world/world.ts';
import { tour } from '../sandbox/tour/scenarios.ts';
import { type Cause, causes, shortenedRules, strangeNode } from './causes.ts';
import { type MonitoredWorld, startMonitoredWorld } from './monitored-world.ts';

/**
 * `node test/monitoring/tour.ts`: Debian's Prometheus scrapes a sandbox as the monitors of the chart say, while the
 * tour runs; then causes of alerts are set one after the other. Ends in "N passed, N failed", which counts queries of
 * the dashboards, alerts, and what is checked besides.
 */
const rules = join(import.meta.dirname, '../../deploy/chart/files/alerts.yaml');
let passed = 0;
let failed = 0;
const checked = (title: string, fault: string | undefined) => {
  if (fault === undefined) passed += 1;
  else failed += 1;
  console.log(fault === undefined ? `ok   ${title}` : `FAILED ${title}: ${fault}`);
};

const [found, helm] = [await debianPackages('prometheus', ['prometheus']), await findHelm()];
if ('skipped' in found || 'skipped' in helm) {
  for (const tool of [found, helm])
    if ('skipped' in tool) console.error(`SKIPPED: no Prometheus scraped anything: ${tool.skipped}`);
} else {
  const monitored = await startMonitoredWorld({
    helm: helm.program,
    prometheus: join(found.folder, 'usr/bin/prometheus'),
    rules: shortenedRules(await readFile(rules, 'utf8')),
  });
  try {
    await watchTour(monitored);
    for (const cause of causes) await fires(cause, monitored);
  } catch (error) {
    checked('the tour', String(error));
  } finally {
    await monitored.stop();
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function watchTour({ world, prometheus }: MonitoredWorld): Promise<void> {
  const open = new Map(dashboardQueries().map(({ title, query }) => [title, query]));
  const [limited = ''] = [...open.keys()].filter((title) => title.includes('rate limit'));
  open.delete(limited);
  console.error(`not asked: ${limited}: the simulated cloud has no rate limit`);
  async function answer(): Promise<void> {
    for (const [title, query] of open) {
      const concrete = query.replaceAll('$__rate_interval', '30s').replaceAll('$cloud', 'simulated');
      const samples = await prometheus.query(concrete);
      if (!samples.some(({ value }) => !Number.isNaN(value))) continue;
      open.delete(title);
      checked(`${title} has data`, undefined);
    }
  }
  for (const [at, stage] of tour.entries()) {
    await Promise.all(stage.map((scenario) => scenario.run(world)));
    await sleep(2000);
    if (at === 0) await allScraped({ prometheus });
    if (at === 1) checked('no alert fires in a healthy cluster', (await prometheus.firing()).join(', ') || undefined);
    await answer();
  }
  const unanswered = () =>
    until('every query has data', 20_000, () => answer().then(() => open.size === 0)).catch(() => {});
  await provoke(world, unanswered);
  for (const [title, query] of open) checked(`${title} has data`, `none for ${query}`);
}

async function allScraped({ prometheus }: Pick<MonitoredWorld, 'prometheus'>): Promise<void> {
  const seen = await until('all targets are scraped', 30_000, async () => {
    const targets = await prometheus.health();
    return targets.length === 7 && targets.every(({ health }) => health === 'up') ? targets : undefined;
  }).catch(() => prometheus.health());
  const down = seen.filter(({ health }) => health !== 'up').map((each) => `${each.scrapeUrl}: ${each.lastError}`);
  checked(
    'two controllers and five agents are scraped',
    down.join('; ') || (seen.length === 7 ? undefined : `${seen.length}`),
  );
  assertThat(seen.length > 0, 'nothing is scraped');
}

/** What the tour does not show: a Node of no VM, and a new credential. */
async function provoke({ cloud, folder, rest }: World, during: () => Promise<unknown>): Promise<void> {
  const [place] = cloud.model.places.values();
  const project = place!.project;
  await rest.must('POST', '/api/v1/nodes', strangeNode);
  cloud.credentials.set('renewed', project);
  await writeFile(join(folder, 'credential'), 'renewed');
  await during();
  await writeFile(join(folder, 'credential'), cloud.credential);
  await rest.must('DELETE', '/api/v1/nodes/stranger');
}

/** The alert fires while its cause lasts, and no other does. */
async function fires({ alert, also = [], start, end }: Cause, { world, prometheus }: MonitoredWorld): Promise<void> {
  try {
    let firing: readonly string[] = [];
    const calm = async () => {
      firing = await prometheus.firing();
      return firing.length === 0;
    };
    await until('no alert fires before', 90_000, calm, () => firing.join(', '));
    await start(world);
    try {
      await until(`${alert} fires`, 60_000, async () => (await prometheus.firing()).includes(alert));
      const others = (await prometheus.firing()).filter((one) => one !== alert && !also.includes(one));
      checked(`${alert} fires on its cause, alone`, others.length === 0 ? undefined : `${others.join(', ')} too`);
    } finally {
      await end(world);
    }
  } catch (error) {
    checked(`${alert} fires on its cause`, String(error));
  }
}
