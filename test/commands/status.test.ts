import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { runProgram } from '../../common/process/program.ts';
import { annotations, conditions, names } from '../../common/well-known.ts';
import { controllerProgram } from '../../controller/commands/program.ts';
import { recorded } from '../../controller/services/testing/example-service.ts';
import { issueServingCertificate } from '../kit/kube-api/http/certificates.ts';
import { type KubeApiServer, startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { createKubeRest, type KubeRest } from '../kit/world/kube-rest.ts';
import { serviceAccountToken } from '../kit/world/manifests.ts';

const lease = `/apis/coordination.k8s.io/v1/namespaces/${names.namespace}/leases`;
const waitingSince = '2026-01-01T00:00:00Z';

describe('status', () => {
  let folder: string;
  let api: KubeApiServer;
  let rest: KubeRest;

  async function node(name: string, status: 'True' | 'False', reason: string, message: string): Promise<void> {
    const taints =
      status === 'True' ? [] : [{ key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' }];
    const providerID = 'simulated://sim-1/i-a4920a4d00df';
    const metadata = { name, annotations: { [annotations.instance]: 'http://cloud/demo/sim-1 1' } };
    await rest.must('POST', '/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata,
      spec: { taints, providerID },
    });
    const condition = { type: conditions.cloudInitialized, status, reason, message, lastTransitionTime: waitingSince };
    await rest.must(
      'PATCH',
      `/api/v1/nodes/${name}/status`,
      { status: { conditions: [condition] } },
      { type: 'application/merge-patch+json' },
    );
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-status-'));
    api = await startKubeApi();
    rest = createKubeRest(api);
    await writeFile(join(folder, 'admin'), api.kubeconfig());
    for (let each = 0; each < 7; each += 1) await node(`good-${each}`, 'True', 'Initialized', 'as the cloud says');
    for (let each = 0; each < 6; each += 1) await node(`new-${each}`, 'False', 'AwaitingReport', 'no report yet');
    await rest.must('POST', '/api/v1/namespaces/default/services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { type: 'LoadBalancer', ports: [{ port: 80 }] },
    });
    await rest.must('POST', '/api/v1/namespaces/default/services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'inner' },
      spec: { ports: [{ port: 80 }] },
    });
  });
  after(async () => {
    rest.close();
    await api.stop();
    await rm(folder, { recursive: true });
  });

  async function status(
    line: string,
    signal = new AbortController().signal,
    kubeconfig = 'admin',
    onOutput: () => void = () => {},
  ) {
    const program = controllerProgram({
      clock: systemClock(),
      random: Math.random,
      signal,
      ask: async () => undefined,
    });
    const said = { out: '', err: '' };
    const code = await runProgram(program, {
      argv: ['status', ...line.split(' ').filter((word) => word !== '')],
      env: { KUBECONFIG: join(folder, kubeconfig) },
      stdout: (text) => {
        said.out += text;
        onOutput();
      },
      stderr: (text) => {
        said.err += text;
      },
    });
    return { code, ...said };
  }

  it('groups Nodes and Services by state and reason, what needs attention first, the oldest by name', async () => {
    const { code, out, err } = await status('');
    assert.deepEqual([code, err], [0, '']);
    assert.match(
      out,
      /^LEADER +none\n +no controller holds the Lease, so none acts\nPAUSED +no\nSCOPES +simulated: \S+, 13 nodes\n/,
    );
    assert.match(out, /NODES {2}13\n.*\n +waiting +AwaitingReport +6 +\d+ d +new-0, .*, new-4, ...: no report yet\n/);
    assert.match(out, /\n +initialized +Initialized +7 +-\n/);
    assert.match(out, /SERVICES {2}1\n.*\n +waiting +- +1 +- +default\/web: no controller holds the Lease/);
  });

  it('shows a Service of another type whose load balancer is not deleted yet', async () => {
    const services = '/api/v1/namespaces/default/services';
    await rest.must('POST', services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'left', ...recorded('http://cloud/demo/sim-1 lb-1') },
      spec: { ports: [{ port: 80 }] },
    });
    const refused = { type: conditions.loadBalancer, status: 'False', reason: 'CredentialRefused', message: '403' };
    const patch = { status: { conditions: [refused] } };
    await rest.must('PATCH', `${services}/left/status`, patch, { type: 'application/merge-patch+json' });
    const { out } = await status('');
    await rest.must('DELETE', `${services}/left`);
    assert.match(out, /SERVICES {2}2\n.*(\n.*)?\n +deleting +CredentialRefused +1 .*default\/left: 403\n/);
  });

  it('prints stable values for programs with -o json', async () => {
    const holder = { holderIdentity: 'one', renewTime: new Date().toISOString().replace('Z', '000Z') };
    await rest.must('POST', lease, { metadata: { name: names.lease }, spec: holder });
    const { code, out } = await status('-o json');
    const shown = JSON.parse(out);
    assert.deepEqual([code, shown.leader.identity, shown.leaderFault, shown.pausedForAll], [0, 'one', null, false]);
    assert.deepEqual(shown.cloudOfScope, { 'http://cloud/demo/sim-1': 'simulated' });
    assert.deepEqual(shown.scopes, { 'http://cloud/demo/sim-1': 13 });
    assert.deepEqual(shown.nodes[0], {
      state: 'waiting',
      reason: 'AwaitingReport',
      ok: false,
      count: 6,
      since: waitingSince,
      why: 'no report yet',
      names: ['new-0', 'new-1', 'new-2', 'new-3', 'new-4'],
    });
  });

  it('says what this credential may not read, and not that all is well', async () => {
    await rest.must('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'visitor' } });
    const token = await serviceAccountToken(rest, { namespace: 'default', name: 'visitor' });
    await writeFile(join(folder, 'visitor'), api.kubeconfig(token));
    const { code, out } = await status('-o json', undefined, 'visitor');
    const { leader, leaderFault, ...others } = JSON.parse(out);
    assert.deepEqual([code, leader], [0, null]);
    assert.match(leaderFault, /may not read the Lease/);
    assert.deepEqual(others, {
      pausedForAll: null,
      protectedNodes: null,
      nodes: null,
      services: null,
      scopes: {},
      cloudOfScope: {},
      removals: null,
      metrics: null,
      metricsFault: null,
    });
    assert.match((await status('', undefined, 'visitor')).out, /NODES {2}unknown: this credential may not list them/);
  });

  it('shows the removals that count against a budget, from the Lease', async () => {
    const now = Math.floor(Date.now() / 1000);
    const ledger = `d${now - 60}x2,r${now - 60}x1,d${now - 7200}x5`;
    const metadata = { name: 'removals', annotations: { [annotations.deletionLedger]: ledger } };
    await rest.must('POST', lease, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: {} });
    const flag = '--leader-elect-resource-name=removals';
    assert.deepEqual(JSON.parse((await status(`${flag} -o json`)).out).removals, { deletion: 2, route: 1 });
    assert.match((await status(flag)).out, /^REMOVALS +deletion 2, route 1 in the last hour$/m);
  });

  it('shows clouds, orphans and agents by the metrics of the leader, and why it cannot', async () => {
    assert.match((await status('')).out, /^CLOUDS +not asked for: see --metrics-url$/m);
    const { out } = await status('--metrics-url=https://127.0.0.1:1/metrics');
    assert.match(out, /^CLOUDS +unknown: connect ECONNREFUSED/m);
    const { certPem, keyPem } = await issueServingCertificate(['127.0.0.1']);
    const lines = [
      'leader_election_master_status{name="cloud-controller-manager"} 1',
      'mooring_cloud_calls_total{cloud="aws",operation="DescribeInstances",code="ok"} 40',
      'mooring_cloud_report_only{cloud="gce"} 1',
      'mooring_orphaned_load_balancers{scope="http://cloud/demo/sim-1"} 2',
      'mooring_attestation_nodes{assurance="psat"} 9',
    ];
    const server = createServer({ cert: certPem, key: keyPem }, (_request, response) => response.end(lines.join('\n')));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const shown = (await status(`--metrics-url=https://127.0.0.1:${port}/metrics`)).out;
      assert.match(shown, /^CLOUDS +aws: full, 40 calls since the leader started, 0 throttled, 0 failed$/m);
      assert.match(shown, /^ +gce: report-only, 0 calls/m);
      assert.match(shown, /^ORPHANS +http:\/\/cloud\/demo\/sim-1 2$/m);
      assert.match(shown, /^AGENTS +9 of 13 nodes have reported to this leader$/m);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('shows it again until it is interrupted, and then ends well', async () => {
    const stop = new AbortController();
    const { code, out } = await status('--watch -o json', stop.signal, 'admin', () => stop.abort());
    assert.equal(code, 0);
    assert.equal(JSON.parse(out.split('\n')[0]!).nodes.length, 2);
  });

  it('shows the time first, where it shows it again', async () => {
    const stop = new AbortController();
    const { out } = await status('--watch', stop.signal, 'admin', () => stop.abort());
    assert.match(out, /^\d{4}-\d\d-\d\dT[\d:.]+Z\nLEADER /);
  });

  it('refuses flags that mean nothing to it', async () => {
    const { code, err } = await status('--cloud-provider=aws');
    assert.equal(code, 2);
    assert.match(err, /unknown option.*cloud-provider/);
  });
});
