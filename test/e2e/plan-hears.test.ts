import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { runProgram } from '../../common/process/program.ts';
import { names, taints } from '../../common/well-known.ts';
import { metricsAt } from '../../controller/commands/metrics/read-metrics.ts';
import { controllerProgram } from '../../controller/commands/program.ts';
import { exampleReport } from '../../controller/reports/testing/example-report.ts';
import { postReport } from '../attacks/victim.ts';
import { freePort } from '../kit/free-ports.ts';
import { startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { createAgentPod } from '../kit/world/agent-pod.ts';
import { createKubeRest } from '../kit/world/kube-rest.ts';
import { createKubelet } from '../kit/world/kubelet.ts';
import { applyManifests, serviceAccountToken } from '../kit/world/manifests.ts';
import { type Replica, startReplica } from '../kit/world/replica.ts';
import { taintKeys, until } from '../kit/world/scenario.ts';
import { shortened } from '../kit/world/shortened.ts';

const closing: (() => unknown)[] = [];
after(async () => {
  for (const close of closing.reverse()) await close();
});

test('plan and dry run use what an agent told the leader; a standby names it, and a dry run is none', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-hears-'));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  const api = await startKubeApi();
  closing.push(() => api.stop());
  const rest = createKubeRest(api);
  closing.push(() => rest.close());
  await applyManifests(rest);
  const kubeconfig = join(folder, 'kubeconfig');
  const account = { namespace: names.namespace, name: names.controller };
  await api.writeKubeconfig(kubeconfig, await serviceAccountToken(rest, account));
  const tokenFile = join(folder, 'reader');
  await writeFile(tokenFile, api.adminToken);

  // It hears agents, and initialises nothing.
  const flags = ['--controllers=cloud-node-lifecycle'];
  const start = async (name: string): Promise<Replica> => {
    const replica = await startReplica(name, { folder, kubeconfig, token: api.adminToken, network: false, flags });
    closing.push(() => replica.child.stop());
    return replica;
  };
  const metric = `leader_election_master_status{name="${names.lease}"}`;
  const metricsOf = (replica: Replica) => replica.metrics().catch(() => undefined);
  const leader = await start('leader');
  await until('it leads', 60_000, async () => (await metricsOf(leader))?.get(metric) === 1);
  const standby = await start('standby');
  await until('the other one runs', 60_000, async () => (await metricsOf(standby)) !== undefined);

  const kubelet = createKubelet({
    rest,
    name: 'a',
    token: api.nodeToken('a'),
    systemUuid: '',
    leaseRenewMs: shortened.kubeletLeaseMs,
  });
  closing.push(() => kubelet.stop());
  await kubelet.start();
  const { tokenFile: agentToken } = await createAgentPod(rest, 'a', join(folder, 'agent'));
  const certificates = `/api/v1/namespaces/${names.namespace}/configmaps/${names.certificates}`;
  const { data } = await rest.must('GET', certificates);
  const { smbiosUuid: _, ...report } = exampleReport({
    evidence: { cloud: 'simulated', kind: 'document', document: 'what the cloud signed' },
    notices: [],
    instance: { cloud: 'simulated', id: 'i-1', providerID: 'simulated://r1/i-1', addresses: [] },
  });
  const token = await readFile(agentToken, 'utf8');
  const taken = await postReport(leader, data[names.caKey], token, JSON.stringify(report));
  assert.equal(taken.status, 200, taken.text);

  async function command(argv: readonly string[], stdout: (text: string) => void, { signal } = new AbortController()) {
    const clock = systemClock();
    const program = controllerProgram({ clock, random: Math.random, signal, ask: async () => undefined });
    const common = ['--cloud-provider=simulated', `--kubeconfig=${kubeconfig}`];
    return runProgram(program, { argv: [...argv, ...common], env: {}, stdout, stderr: () => {} });
  }
  async function plan(...more: readonly string[]): Promise<{ code: number; out: string }> {
    let out = '';
    const code = await command(['plan', '--report-only=simulated', '--ahead=0s', ...more], (text) => {
      out += text;
    });
    return { code, out };
  }
  const from = ({ securePort }: Replica) => [
    `--reports-url=https://127.0.0.1:${securePort}/reports`,
    `--reports-token-file=${tokenFile}`,
  ];
  assert.match((await plan()).out, /node a .*AwaitingReport: .*hears agents with --reports-url only/);
  const heard = await plan(...from(leader), '--listen=30s');
  assert.equal(heard.code, 0, heard.out);
  assert.match(heard.out, /spec providerID: simulated:\/\/r1\/i-1/);
  assert.doesNotMatch(heard.out, /AwaitingReport/);
  const deaf = await plan(...from(standby));
  assert.equal(deaf.code, 1);
  assert.match(deaf.out, /503: this replica does not lead, so no agent reports to it: the replica at https:\S+ does/);
  const stop = new AbortController();
  closing.push(() => stop.abort());
  let log = '';
  const securePort = await freePort();
  const dryRun = command(
    ['run', '--dry-run', '--bind-address=127.0.0.1', `--secure-port=${securePort}`, ...from(leader)],
    (text) => {
      log += text;
    },
    stop,
  );
  await until('the dry run hears it too', 30_000, async () => /would change.*spec providerID: simulated:/.test(log));
  const shown = await metricsAt(`https://127.0.0.1:${securePort}/metrics`, async () => api.adminToken)();
  assert.match(shown, /^mooring_build_info\{/m);
  assert.doesNotMatch(shown, /^(leader_election_master_status|mooring_report_api_up)\b/m);
  stop.abort();
  assert.equal(await dryRun, 0);
  for (const line of log.trim().split('\n')) assert.equal(JSON.parse(line).dryRun, true, line);
  const { body: node } = await rest.call('GET', '/api/v1/nodes/a');
  assert.ok(taintKeys(node).includes(taints.uninitialized), 'nothing was written');
});
