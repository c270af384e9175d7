import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { webhookFlags, webhookNames } from '../../controller/app/options/webhook-flags.ts';
import { checkFlags } from '../../controller/commands/check-command.ts';
import { runCommandFlags } from '../../controller/commands/run-command.ts';
import { chart, renderBase } from '../../scripts/render-base.ts';
import type { ApiSuite, ApiUnderTest } from '../conformance/api-under-test.ts';
import { type Client, type KubeObject, makeClient } from '../conformance/client.ts';
import { findHelm } from './find-helm.ts';
import { base } from './manifests.ts';
import { must } from './own-objects.ts';
import { assertRights, assertStartable, renderChart, valueFiles } from './rendered-chart.ts';
import { volumeSources } from './volume-sources.ts';

interface WebhookOfChart {
  readonly matchConditions: readonly { readonly expression: string }[];
  readonly clientConfig: { readonly service: { readonly path: string; readonly port: number } };
}

/** Values that are refused, and what helm says. */
const refusals: readonly (readonly [set: string, says: RegExp])[] = [
  ['nodeCount=5000', /clouds: empty, expected at least one cloud/],
  ['clouds[0].nam=aws', /name/],
  ['clouds[0].name=aws,clouds[0].configFrom.key=a', /oneOf/],
  ['clouds[0].name=aws,controller.replicas=0', /replicas/],
  ['clouds[0].name=aws,controler.replicas=2', /controler/],
  ['clouds[0].name=aws,controller.image.digest=latest', /digest/],
  ['clouds[0].name=aws,networkPolicy.enabled=true', /controller.hostNetwork=false/],
  ['clouds[0].name=aws,monitoring.agentPodMonitor=true', /agent.openMetrics=true/],
  ['clouds[0].name=aws,monitoring.podMonitor=true,monitoring.serviceMonitor=true', /monitoring.podMonitor=false/],
  ['clouds[0].name=aws,agent.windows.enabled=true,agent.enabled=false', /agent.enabled=true beside it/],
  ['clouds[0].name=aws,agent.windows.runAsUserName=ContainerAdministrator', /runAsUserName/],
  ['clouds[0].name=aws,agent.windows.seedVolume=true', /seedVolume/],
  ['clouds[0].name=aws,controller.ports.secure=10270', /two are the same/],
  ['clouds[0].name=aws,controller.args[0]=--bind-address=10.0.0.5', /0.0.0.0, :: or none: the probes ask 127.0.0.1/],
  ['clouds[0].name=acme,controller.args[0]=--cloud-module=acme=/modules/acme.mjs', /agent.cloud: empty, expected/],
  ['clouds[0].name=aws,volumeLabels.webhook.enabled=true', /tlsSecret: empty, expected the name of a Secret/],
  [
    'clouds[0].name=aws,volumeLabels.webhook.enabled=true,volumeLabels.webhook.tlsSecret=a',
    /caBundle: empty, expected/,
  ],
  ['clouds[0].name=aws,volumeLabels.webhook.failurePolicy=Deny', /failurePolicy/],
];

const namespace = 'site';
const objects = `/api/v1/namespaces/${namespace}`;

/** Renders the chart, and installs, upgrades, rolls back, tests and removes a release with a real helm. */
export const chartSuite: ApiSuite = {
  name: 'chart',
  async run(api, check) {
    const found = await findHelm();
    if ('skipped' in found) {
      await check('the chart', async () => {}, { skip: `there is no helm: ${found.skipped}` });
      return;
    }
    const helm = found.program;
    await check('deploy/base is what the chart renders (npm run manifests)', () => baseIsRendered(helm));
    await check('every file of values passes helm lint and renders pods that can start', () => everyFileRenders(helm));
    for (const [set, says] of refusals)
      await check(`--set ${set} is refused`, () => assert.rejects(renderChart(helm, [`--set=${set}`]), says));
    await check('the webhook gets the volumes that the clouds tell about, and no others', () => volumesOfWebhook(helm));
    await check('a configuration is mounted as it is written', () => configurations(helm));
    await check('a cluster of 30,000 nodes gets a memory limit that fits', () => large(helm));
    await check('the PrometheusRule has the alerts, for this Lease and clouds with a credential', () => alerts(helm));
    await check('helm test passes on what check knows of the arguments of run', () => argumentsOfTest(helm));

    const folder = await mkdtemp(join(tmpdir(), 'mooring-chart-'));
    const client = makeClient(api.url, api.caPem, api.adminToken);
    try {
      const run = await openHelm(helm, api, folder);
      await check('a release is installed into a namespace of its own', () => installed(run, client));
      await check('helm test runs check with the account of the controller', () => tested(run, api, client, folder));
      await check('an upgrade and a rollback keep what the controller wrote', () => upgraded(run, client));
      await check('agents for Windows are host processes of their nodes alone', () => withWindows(run, client));
      await check('an uninstallation leaves the records of routes alone behind', () => uninstalled(run, client));
      await check('a release of another name takes over these records where it is told to', () => reinstalled(run));
    } finally {
      client.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function baseIsRendered(helm: string): Promise<void> {
  for (const [file, text] of await renderBase(helm)) assert.equal(await readFile(join(base, file), 'utf8'), text, file);
}

async function everyFileRenders(helm: string): Promise<void> {
  const files = await valueFiles();
  assert.ok(files.length >= 20);
  for (const file of files) {
    await promisify(execFile)(helm, ['lint', '--strict', '--quiet', chart, `--values=${file}`]);
    const manifests = await renderChart(helm, [`--values=${file}`]);
    assertStartable(manifests);
    const values = parse(await readFile(file, 'utf8')) as {
      readonly controller?: { readonly deletesNodes?: boolean };
      readonly volumeLabels?: { readonly controller?: boolean };
      readonly leaderElection?: { readonly namespace: string; readonly name: string };
    };
    const { leaderElection: lease } = values;
    const deletesNodes = values.controller?.deletesNodes ?? true;
    const labelsVolumes = values.volumeLabels?.controller ?? false;
    assertRights(manifests, { deletesNodes, labelsVolumes, ...(lease && { lease }) });
  }
}

/** The condition names every source of a cloud, and the rule the port and path that are served. */
async function volumesOfWebhook(helm: string): Promise<void> {
  const file = join(import.meta.dirname, 'chart-values/volume-labels.yaml');
  const manifests = await renderChart(helm, [`--values=${file}`]);
  const configuration = manifests.find(({ kind }) => kind === 'MutatingWebhookConfiguration');
  const [webhook] = (configuration?.['webhooks'] ?? []) as WebhookOfChart[];
  const expression = webhook?.matchConditions[0]?.expression ?? '';
  const named = [...expression.matchAll(/spec\.(\w+)\)|'([^']+)'/g)].map(([, field, driver]) => field ?? driver);
  const sources = volumeSources().map(({ name }) => name);
  assert.deepEqual([...new Set(named)].filter((name) => name !== 'csi').toSorted(), sources.toSorted());
  assert.equal(webhook?.clientConfig.service.path, `/${webhookNames.volumes}`);
  assert.equal(webhook?.clientConfig.service.port, webhookFlags['webhook-secure-port'].default);
}

/** A first line that is indented must not decide how the others are read. */
async function configurations(helm: string): Promise<void> {
  const config = '  [Global]\nregion = a\n\n  zone: "b"\n';
  const manifests = await renderChart(helm, [`--set-json=clouds=[{"name":"aws","config":${JSON.stringify(config)}}]`]);
  const data = manifests.find(({ kind, data }) => kind === 'ConfigMap' && JSON.stringify(data)?.includes('0-aws'))?.[
    'data'
  ];
  assert.deepEqual(data, { '0-aws': config });
}

async function large(helm: string): Promise<void> {
  const manifests = await renderChart(helm, ['--set=clouds[0].name=aws,nodeCount=30000']);
  const text = JSON.stringify(manifests.find(({ kind }) => kind === 'Deployment'));
  assert.match(text, /"limits":\{"memory":"512Mi"\}/);
}

async function alerts(helm: string): Promise<void> {
  const specOf = async (set: string) => {
    const manifests = await renderChart(helm, [`--set=clouds[0].name=aws,monitoring.prometheusRule=true${set}`]);
    return manifests.find(({ kind }) => kind === 'PrometheusRule')?.['spec'];
  };
  const text = await readFile(join(chart, 'files/alerts.yaml'), 'utf8');
  assert.deepEqual(await specOf(''), parse(text));
  const changed = text
    .replace('cloud-controller-manager', 'moored')
    .replace('mooring_cloud_report_only', 'mooring_cloud_report_only{cloud!~"gce|oci"}');
  const without = ',clouds[1].name=gce,clouds[1].reportOnly=true,clouds[2].name=oci,clouds[2].reportOnly=true';
  assert.deepEqual(await specOf(`,leaderElection.name=moored${without}`), parse(changed));
}

async function argumentsOfTest(helm: string): Promise<void> {
  // The chart refuses that one: probes ask 127.0.0.1.
  const names = Object.keys(runCommandFlags).filter((name) => name !== 'bind-address');
  const flags = names.map((name) => (name.length === 1 ? `-${name}` : `--${name}`));
  const given = flags.map((flag, at) => `controller.args[${at}]=${flag}=x`).join(',');
  const manifests = await renderChart(helm, ['--set=clouds[0].name=aws,agent.cloud=aws', `--set-string=${given}`]);
  const { containers } = manifests.find(({ kind }) => kind === 'Pod')!['spec'] as {
    readonly containers: readonly [{ readonly args: readonly string[] }];
  };
  const known = flags.filter((flag) => Object.hasOwn(checkFlags, flag.replace(/^-+/, '')));
  const passed = containers[0].args.slice(2).map((argument) => argument.replace('=x', ''));
  assert.deepEqual(passed.toSorted(), known.toSorted());
}

/** Runs helm against the server and answers its stdout; throws unless it ends with 0. */
type Helm = (args: readonly string[]) => Promise<string>;

async function openHelm(helm: string, api: ApiUnderTest, folder: string): Promise<Helm> {
  const config = join(folder, 'config');
  await api.writeKubeconfig(config);
  const env = { PATH: process.env['PATH'], HOME: folder, KUBECONFIG: config };
  return async (args) => (await promisify(execFile)(helm, [...args], { env, timeout: 120_000 })).stdout;
}

const release = ['blue', `--namespace=${namespace}`];
const values = ['--set=clouds[0].name=oci,leaderElection.name=moored', '--set=controller.podDisruptionBudget=true'];

async function installed(run: Helm, client: Client): Promise<void> {
  const said = await run(['install', ...release, '--create-namespace', chart, ...values]);
  assert.match(said, /Mooring \S+ serves oci/);
  assert.match(said, /controller.cjs status --leader-elect-resource-name=moored$/m);
  const account = `${objects}/serviceaccounts/blue-mooring-controller`;
  assert.equal((await client.call('GET', account)).status, 200);
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/blue-mooring-controller`;
  assert.equal((await client.call('GET', path)).status, 200);
}

/** Plays the kubelet for the pod of `helm test`: runs its arguments under its account, and writes how it ended. */
async function tested(run: Helm, api: ApiUnderTest, client: Client, folder: string): Promise<void> {
  const testing = run(['test', ...release, '--timeout=100s']);
  testing.catch(() => {});
  const pod = await podOf(client);
  const spec = pod.spec as {
    readonly serviceAccountName: string;
    readonly containers: readonly { readonly args: readonly string[] }[];
  };
  assert.equal(spec.serviceAccountName, 'blue-mooring-controller');
  const config = join(folder, 'account');
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const made = await must(client, 'POST', `${objects}/serviceaccounts/${spec.serviceAccountName}/token`, request);
  await api.writeKubeconfig(config, String(made.status?.['token']));
  const main = join(chart, '../../controller/main.ts');
  // Outside a Pod the namespace has to be named.
  const args = [
    main,
    ...(spec.containers[0]?.args ?? []),
    `--kubeconfig=${config}`,
    `--mooring-namespace=${namespace}`,
  ];
  const ended = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, (error, stdout, stderr) => resolve(error === null ? '' : `${stdout}${stderr}`));
  });
  const status = { status: { phase: ended === '' ? 'Succeeded' : 'Failed' } };
  await must(client, 'PATCH', `${objects}/pods/${pod.metadata.name}/status`, status, 'application/merge-patch+json');
  assert.equal(ended, '');
  assert.match(await testing, /Phase: +Succeeded/);
}

async function podOf(client: Client): Promise<KubeObject> {
  for (let tries = 0; tries < 300; tries += 1) {
    const { items } = await client.call('GET', `${objects}/pods`);
    if (items[0] !== undefined) return items[0];
    await sleep(100);
  }
  throw new Error('helm test made no pod');
}

async function upgraded(run: Helm, client: Client): Promise<void> {
  const written = { data: { 'tls.key': Buffer.from('a key').toString('base64') } };
  await must(client, 'PATCH', `${objects}/secrets/mooring-ca`, written, 'application/merge-patch+json');
  const deployment = `/apis/apps/v1/namespaces/${namespace}/deployments/blue-mooring-controller`;
  const state = async () => {
    const [{ object }, secret] = await Promise.all([
      client.call('GET', deployment),
      client.call('GET', `${objects}/secrets/mooring-ca`),
    ]);
    return [object.spec?.['replicas'], secret.object['data']];
  };
  await run(['upgrade', ...release, chart, ...values, '--set=controller.replicas=3']);
  assert.deepEqual(await state(), [3, written.data]);
  await run(['rollback', ...release, '1']);
  assert.deepEqual(await state(), [2, written.data]);
}

async function withWindows(run: Helm, client: Client): Promise<void> {
  const daemonSets = `/apis/apps/v1/namespaces/${namespace}/daemonsets`;
  const podOf = async (name: string) => {
    const { template } = (await client.call('GET', `${daemonSets}/${name}`)).object.spec as {
      readonly template: { readonly spec: Readonly<Record<string, unknown>> };
    };
    return template.spec;
  };
  assert.equal((await client.call('GET', `${daemonSets}/blue-mooring-agent-windows`)).status, 404);
  const before = await podOf('blue-mooring-agent');
  await run(['upgrade', ...release, chart, ...values, '--set=agent.windows.enabled=true']);
  const { hostNetwork, nodeSelector, securityContext, serviceAccountName } = await podOf('blue-mooring-agent-windows');
  assert.deepEqual(
    { hostNetwork, nodeSelector, securityContext, serviceAccountName },
    {
      hostNetwork: true,
      nodeSelector: { 'kubernetes.io/os': 'windows' },
      securityContext: { windowsOptions: { hostProcess: true, runAsUserName: 'NT AUTHORITY\\SYSTEM' } },
      serviceAccountName: 'blue-mooring-agent',
    },
  );
  assert.deepEqual(await podOf('blue-mooring-agent'), before);
}

async function uninstalled(run: Helm, client: Client): Promise<void> {
  await run(['uninstall', ...release]);
  const left = await Promise.all(
    ['secrets/mooring-ca', 'configmaps/mooring-ca', 'configmaps/mooring-routes'].map(
      async (path) => (await client.call('GET', `${objects}/${path}`)).status,
    ),
  );
  assert.deepEqual(left, [404, 404, 200]);
  const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/blue-mooring-controller';
  assert.equal((await client.call('GET', role)).status, 404);
}

/** The annotation of the kept ConfigMap names its former release. */
async function reinstalled(run: Helm): Promise<void> {
  const again = ['install', 'green', `--namespace=${namespace}`, chart, ...values];
  await assert.rejects(run(again), /ConfigMap "mooring-routes".*release-name/s);
  await run([...again, '--take-ownership']);
  await run(['uninstall', 'green', `--namespace=${namespace}`]);
}
