import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Manifest } from '../deploy/manifests.ts';
import { renderChart } from '../deploy/rendered-chart.ts';
import { startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { serviceAccountToken } from '../kit/world/manifests.ts';
import { startWorld, type World } from '../kit/world/world.ts';
import { type Job, type Prometheus, startPrometheus } from './prometheus.ts';

/** A sandbox, and a Prometheus that scrapes it as the monitors of the chart say. */
export interface MonitoredWorld {
  readonly world: World;
  readonly prometheus: Prometheus;
  stop(): Promise<void>;
}

interface Monitor {
  readonly podMetricsEndpoints: readonly [
    {
      readonly scheme?: 'http' | 'https';
      readonly path: string;
      readonly authorization?: { readonly credentials: { readonly name: string } };
      readonly tlsConfig?: { readonly insecureSkipVerify: boolean };
    },
  ];
}

const rights = 'rbac.authorization.k8s.io/v1';
const monitors = ['--set=monitoring.podMonitor=true,monitoring.agentPodMonitor=true,agent.openMetrics=true'];
const jobs = { controller: 'blue-mooring-controller', agent: 'blue-mooring-agent' };

/** @param rules as YAML */
export async function startMonitoredWorld(programs: {
  readonly helm: string;
  readonly prometheus: string;
  readonly rules: string;
}): Promise<MonitoredWorld> {
  const manifests = await renderChart(programs.helm, ['--set=clouds[0].name=simulated', ...monitors]);
  const api = await startKubeApi();
  const world = await startWorld({ api, nodes: 5, agentProcesses: 5, cloudLatencyMs: 20, say: () => {} });
  await world.rest.must('POST', '/api/v1/namespaces', { metadata: { name: 'site' } });
  const account = await applyAccount(world, manifests);
  const token = await serviceAccountToken(world.rest, { namespace: 'site', name: account });
  const scraped = manifests.filter(({ kind }) => kind === 'PodMonitor').map((each) => jobOf(each, token));
  const prometheus = await startPrometheus(programs.prometheus, scraped, programs.rules);
  const aim = async () => {
    await prometheus.targets(
      jobs.controller,
      world.replicas.map(({ securePort }) => `127.0.0.1:${securePort}`),
    );
    await prometheus.targets(jobs.agent, await agentAddresses(join(world.folder, 'logs')));
  };
  // An agent that starts again has another port.
  const aiming = setInterval(() => void aim(), 1000);
  return {
    world,
    prometheus,
    async stop() {
      clearInterval(aiming);
      await prometheus.stop();
      await world.stop();
      await api.stop();
    },
  };
}

/** Creates the account that may read metrics, and answers its name. */
async function applyAccount(world: World, manifests: readonly Manifest[]): Promise<string> {
  const ofMetrics = manifests.filter(({ metadata }) => metadata.name.endsWith('-metrics'));
  const account = ofMetrics.find(({ kind }) => kind === 'ServiceAccount')!;
  await world.rest.must('POST', '/api/v1/namespaces/site/serviceaccounts', account);
  for (const [kind, plural] of [
    ['ClusterRole', 'clusterroles'],
    ['ClusterRoleBinding', 'clusterrolebindings'],
  ])
    await world.rest.must('POST', `/apis/${rights}/${plural}`, ofMetrics.find((each) => each.kind === kind)!);
  return account.metadata.name;
}

function jobOf({ metadata, ...manifest }: Manifest, token: string): Job {
  const [endpoint] = (manifest['spec'] as Monitor).podMetricsEndpoints;
  return {
    name: metadata.name,
    scheme: endpoint.scheme ?? 'http',
    path: endpoint.path,
    ...(endpoint.authorization && { token }),
    ...(endpoint.tlsConfig && { insecureSkipVerify: endpoint.tlsConfig.insecureSkipVerify }),
  };
}

/** Where the agents that run serve their metrics, as their logs say. */
async function agentAddresses(logs: string): Promise<string[]> {
  const files = (await readdir(logs)).filter((file) => file.startsWith('agent-'));
  const texts = await Promise.all(files.map((file) => readFile(join(logs, file), 'utf8')));
  return texts.flatMap((text) =>
    [...text.matchAll(/"address":"http:\/\/([\d.:]+)"/g)].slice(-1).map(([, at = '']) => at),
  );
}
