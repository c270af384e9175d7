import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fetch from 'node-fetch';
import { freePort } from '../kit/free-ports.ts';
import { startProgram } from '../kit/world/child.ts';
import { until } from '../kit/world/scenario.ts';

/** A Prometheus that scrapes what it is told, every second. */
export interface Prometheus {
  /** Names the targets of a job anew: `host:port`. */
  targets(job: string, addresses: readonly string[]): Promise<void>;
  /** The answer to a query now. */
  query(promql: string): Promise<readonly Sample[]>;
  /** What it says of its targets. */
  health(): Promise<readonly { readonly health: string; readonly lastError: string; readonly scrapeUrl: string }[]>;
  /** The alerts that fire now. */
  firing(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Job {
  readonly name: string;
  readonly scheme: 'http' | 'https';
  readonly path: string;
  readonly token?: string;
  readonly insecureSkipVerify?: boolean;
}

/**
 * Starts Prometheus with these jobs and rules.
 *
 * @param rules a file of rules, as YAML
 */
export async function startPrometheus(program: string, jobs: readonly Job[], rules: string): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-prometheus-'));
  const port = await freePort();
  const targetsOf = (job: string) => join(folder, `${job}.targets.json`);
  const targets = (job: string, addresses: readonly string[]) =>
    writeFile(targetsOf(job), JSON.stringify([{ targets: addresses }]));
  for (const { name } of jobs) await targets(name, []);
  await writeFile(join(folder, 'rules.yaml'), rules);
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: [join(folder, 'rules.yaml')],
    scrape_configs: jobs.map(({ name, scheme, path, token, insecureSkipVerify }) => ({
      job_name: name,
      scheme,
      metrics_path: path,
      ...(token !== undefined && { authorization: { type: 'Bearer', credentials: token } }),
      ...(insecureSkipVerify && { tls_config: { insecure_skip_verify: true } }),
      file_sd_configs: [{ files: [targetsOf(name)], refresh_interval: '1s' }],
    })),
  };
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const address = `127.0.0.1:${port}`;
  const args = [`--config.file=${join(folder, 'prometheus.yml')}`, `--storage.tsdb.path=${join(folder, 'data')}`];
  const child = startProgram([program, ...args, `--web.listen-address=${address}`], join(folder, 'log'));

  async function ask<T>(path: string): Promise<T> {
    const answer = await fetch(`http://${address}${path}`);
    const { status, error, data } = (await answer.json()) as { status: string; error?: string; data: T };
    if (status !== 'success') throw new Error(`Prometheus: ${path}: ${error}`);
    return data;
  }
  const ready = () =>
    fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until('Prometheus is ready', 30_000, ready);
  return {
    targets,
    async query(promql) {
      type Vector = { readonly result: readonly { metric: Record<string, string>; value: [number, string] }[] };
      const { result } = await ask<Vector>(`/api/v1/query?query=${encodeURIComponent(promql)}`);
      return result.map(({ metric, value: [, value] }) => ({ metric, value: Number(value) }));
    },
    async health() {
      type Targets = { readonly activeTargets: readonly { health: string; lastError: string; scrapeUrl: string }[] };
      return (await ask<Targets>('/api/v1/targets?state=active')).activeTargets;
    },
    async firing() {
      type Alerts = { readonly alerts: readonly { state: string; labels: { alertname: string } }[] };
      const { alerts } = await ask<Alerts>('/api/v1/alerts');
      return [
        ...new Set(alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname)),
      ].sort();
    },
    async stop() {
      await child.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
