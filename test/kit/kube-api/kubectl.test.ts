import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { access, constants, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { type KubeApiServer, startKubeApi } from './start-kube-api.ts';

/** `KUBECTL`, or the first kubectl on PATH. */
async function findKubectl(): Promise<string | undefined> {
  const given = process.env['KUBECTL'];
  const places = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'kubectl'));
  for (const path of given === undefined || given === '' ? places : [given]) {
    try {
      await access(path, constants.X_OK);
      return path;
    } catch {
      // Not there: the next place may have it.
    }
  }
  return undefined;
}

const kubectl = await findKubectl();
const skip = kubectl === undefined ? 'no kubectl on PATH and KUBECTL names none: stock kubectl was NOT tried' : false;

let api: KubeApiServer;
let home = '';

function environment() {
  return { PATH: process.env['PATH'], HOME: home, KUBECONFIG: join(home, 'config') };
}

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function run(...args: string[]): Promise<Run> {
  return new Promise((resolve) => {
    execFile(kubectl ?? '', args, { env: environment(), timeout: 30_000 }, (error, out, err) => {
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, out, err });
    });
  });
}

/** Runs kubectl, which must succeed; gives what it printed. */
async function ok(...args: string[]): Promise<string> {
  const { code, out, err } = await run(...args);
  assert.equal(code, 0, `kubectl ${args.join(' ')}: ${err}`);
  return out;
}

let files = 0;
async function manifest(...objects: object[]): Promise<string> {
  files += 1;
  const path = join(home, `manifest-${files}.yaml`);
  await writeFile(path, objects.map((object) => stringify(object)).join('---\n'));
  return path;
}

function columns(text: string, line = 1): string[] {
  return (text.split('\n')[line] ?? '').split(/\s{2,}/).map((cell) => cell.trim());
}

function nodeNamed(name: string) {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { pool: 'a', 'node-role.kubernetes.io/worker': '' } },
    status: {
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'ExternalIP', address: '192.0.2.1' },
      ],
      capacity: { cpu: '4', memory: '16Gi' },
      conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }],
      nodeInfo: { kubeletVersion: 'v1.36.0', osImage: 'Flatcar' },
    },
  };
}

describe('stock kubectl', { skip }, () => {
  before(async () => {
    api = await startKubeApi();
    home = await mkdtemp(join(tmpdir(), 'kubectl-'));
    await api.writeKubeconfig(join(home, 'config'));
  });
  after(async () => {
    await api.stop();
    await rm(home, { recursive: true, force: true });
  });

  test('kubectl creates, gets, selects and describes nodes', async () => {
    await ok('create', '-f', await manifest(nodeNamed('get-1'), nodeNamed('get-2')));
    const table = await ok('get', 'nodes', '-l', 'pool=a', '-o', 'wide', '--no-headers');
    assert.match(
      table,
      /^get-1\s+Ready\s+worker\s+\d+s\s+v1\.36\.0\s+10\.0\.0\.1\s+192\.0\.2\.1\s+Flatcar\s+<unknown>\s+<unknown>$/m,
    );
    assert.equal(await ok('get', 'no', '--field-selector', 'metadata.name=get-2', '-o', 'name'), 'node/get-2\n');
    assert.equal(JSON.parse(await ok('get', 'node', 'get-1', '-o', 'json')).kind, 'Node');
    assert.match(await ok('get', 'node', 'get-1', '-o', 'yaml'), /^kind: Node$/m);
    const described = await ok('describe', 'node', 'get-1');
    assert.match(described, /^Taints:\s+node\.kubernetes\.io\/not-ready:NoSchedule$/m);
    assert.match(described, /InternalIP:\s+10\.0\.0\.1/);
    const missing = await run('get', 'node', 'nope');
    assert.deepEqual([missing.code, missing.err], [1, 'Error from server (NotFound): nodes "nope" not found\n']);
  });

  test('kubectl patches in three ways, taints, labels, annotates, cordons and deletes', async () => {
    await ok('create', '-f', await manifest(nodeNamed('edit-1')));
    const node = async () => JSON.parse(await ok('get', 'node', 'edit-1', '-o', 'json'));
    await ok('patch', 'node', 'edit-1', '-p', '{"spec":{"providerID":"simulated://z/i-1"}}');
    await ok('patch', 'node', 'edit-1', '--type=merge', '-p', '{"metadata":{"labels":{"pool":null}}}');
    await ok('patch', 'node', 'edit-1', '--type=json', '-p', '[{"op":"add","path":"/metadata/labels/j","value":"1"}]');
    const status = '{"status":{"conditions":[{"type":"CloudInitialized","status":"True"}]}}';
    await ok('patch', 'node', 'edit-1', '--subresource=status', '-p', status);
    await ok('taint', 'node', 'edit-1', 'k=v:NoExecute');
    await ok('label', 'node', 'edit-1', 'l=2');
    await ok('annotate', 'node', 'edit-1', 'a=3');
    await ok('cordon', 'edit-1');
    const edited = await node();
    assert.deepEqual(edited.metadata.labels, { j: '1', l: '2', 'node-role.kubernetes.io/worker': '' });
    assert.equal(edited.metadata.annotations.a, '3');
    assert.equal(edited.spec.providerID, 'simulated://z/i-1');
    assert.deepEqual(
      edited.status.conditions.map((one: { type: string }) => one.type),
      ['CloudInitialized', 'Ready'],
    );
    assert.ok(edited.spec.taints.some((one: { key: string }) => one.key === 'k'));
    assert.match(await ok('get', 'node', 'edit-1', '--no-headers'), /Ready,SchedulingDisabled/);
    await ok('uncordon', 'edit-1');
    await ok('taint', 'node', 'edit-1', 'k-');
    assert.equal((await node()).spec.unschedulable, undefined);
    assert.equal(await ok('delete', 'node', 'edit-1', '-o', 'name'), 'node/edit-1\n');
  });

  test('kubectl applies, sees that nothing changed, takes out what the manifest drops, and replaces', {
    skip,
  }, async () => {
    const service = (ports: object[], labels: object) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'applied', namespace: 'default', labels },
      spec: { type: 'LoadBalancer', selector: { app: 'x' }, ports },
    });
    const http = { name: 'http', port: 80 };
    const https = { name: 'https', port: 443 };
    const both = await manifest(service([http, https], { a: '1', b: '2' }));
    assert.equal(await ok('apply', '-f', both), 'service/applied created\n');
    const again = await run('apply', '-f', both);
    assert.deepEqual([again.out, again.err], ['service/applied unchanged\n', '']);
    assert.equal(await ok('apply', '-f', await manifest(service([https], { a: '1' }))), 'service/applied configured\n');
    const applied = JSON.parse(await ok('get', 'svc', 'applied', '-o', 'json'));
    assert.deepEqual(applied.metadata.labels, { a: '1' });
    assert.deepEqual(
      applied.spec.ports.map((port: { name: string }) => port.name),
      ['https'],
    );
    assert.match(await ok('describe', 'service', 'applied'), /^Type:\s+LoadBalancer$/m);
    assert.match(
      await ok('get', 'svc', 'applied', '--no-headers'),
      /LoadBalancer\s+10\.\S+\s+<pending>\s+443:3\d{4}\/TCP/,
    );
    const file = await manifest(applied);
    assert.equal(await ok('replace', '-f', file), 'service/applied replaced\n');
    assert.equal(await ok('delete', '-f', file, '-o', 'name'), 'service/applied\n');
    const serverSide = await run('apply', '--server-side', '-f', both);
    assert.match(serverSide.err, /Server-side apply not available on the server: \(415: Unsupported Media Type\)/);
  });

  test('kubectl applies workloads, roles and budgets, dry runs included', async () => {
    const metadata = { name: 'w', namespace: 'kube-system' };
    const selector = { matchLabels: { app: 'w' } };
    const template = {
      metadata: { labels: { app: 'w' } },
      spec: { containers: [{ name: 'c', image: 'i', env: [{ name: 'A', value: '1' }] }] },
    };
    const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }];
    const subjects = [{ kind: 'ServiceAccount', name: 'w', namespace: 'kube-system' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'w' };
    const file = await manifest(
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: 'b' } },
      { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata, spec: { selector, template } },
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: 2, selector, template } },
      { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata, spec: { minAvailable: 1, selector } },
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'w' }, rules },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'w' },
        subjects,
        roleRef,
      },
    );
    assert.equal((await ok('apply', '--dry-run=server', '-f', file)).match(/created \(server dry run\)$/gm)?.length, 7);
    assert.equal((await ok('apply', '-f', file)).match(/ created$/gm)?.length, 7);
    // A budget's selector has the strategy "replace", so kubectl always sends a patch for it.
    assert.equal((await ok('apply', '-f', file)).match(/ unchanged$/gm)?.length, 6);
    assert.match(await ok('get', 'ds,deploy,pdb', '-n', 'kube-system'), /deployment\.apps\/w\s+0\/2/);
    assert.equal(await ok('auth', 'can-i', 'get', 'nodes', '--as', 'system:serviceaccount:kube-system:w', '-q'), '');
    const odd = await run('apply', '-f', await manifest({ apiVersion: 'v1', kind: 'ConfigMap', metadata, bogus: 1 }));
    assert.match(odd.err, /unknown field "bogus"/);
  });

  test('kubectl knows what the server has and may do', async () => {
    const resources = await ok('api-resources', '--no-headers');
    assert.match(resources, /^nodes\s+no\s+v1\s+false\s+Node$/m);
    assert.match(resources, /^leases\s+coordination\.k8s\.io\/v1\s+true\s+Lease$/m);
    assert.match(await ok('api-versions'), /^coordination\.k8s\.io\/v1$/m);
    assert.equal(await ok('get', '--raw', '/readyz'), 'ok');
    assert.equal(await ok('auth', 'can-i', 'delete', 'nodes', '-q'), '');
    const bob = await run('auth', 'can-i', 'delete', 'nodes', '--as', 'bob');
    assert.deepEqual([bob.code, bob.out.trim()], [1, 'no']);
    assert.match(await ok('auth', 'whoami', '--as', 'bob'), /Username\s+bob/);
    assert.match(
      await ok('auth', 'can-i', '--list', '--as', 'bob'),
      /selfsubjectaccessreviews\.authorization\.k8s\.io/,
    );
    const forbidden = await run('get', 'nodes', '--as', 'bob');
    assert.match(
      forbidden.err,
      /^Error from server \(Forbidden\): nodes is forbidden: User "bob" cannot list resource "nodes"/,
    );
  });

  test('kubectl version names the server', async (t) => {
    const { code, out, err } = await run('version');
    // A kubectl built without its version stamp cannot compare versions with any server.
    if (code !== 0 && err.includes('could not parse pre-release')) t.skip('this kubectl has no version of its own');
    else assert.match(out, /^Server Version: v1\.36\./m);
  });

  test('kubectl generates accounts, tokens, secrets, namespaces and roles', async () => {
    await ok('create', 'namespace', 'made');
    await ok('create', 'serviceaccount', 'sa', '-n', 'made');
    await ok('create', 'secret', 'generic', 's', '-n', 'made', '--from-literal=a=b');
    await ok('create', 'role', 'r', '-n', 'made', '--verb=get', '--resource=secrets');
    await ok('create', 'rolebinding', 'b', '-n', 'made', '--role=r', '--serviceaccount=made:sa');
    const token = (await ok('create', 'token', 'sa', '-n', 'made')).trim();
    // The kubeconfig's own token would win over --token.
    const bare = join(home, 'bare');
    await writeFile(bare, api.kubeconfig(token, 'made'));
    assert.equal(await ok('--kubeconfig', bare, 'get', 'secret', 's', '-o', 'jsonpath={.data.a}'), 'Yg==');
    assert.match((await run('--kubeconfig', bare, 'get', 'configmaps')).err, /forbidden/);
  });

  test('kubectl shows events of both groups and describes pods', async () => {
    await ok('create', 'serviceaccount', 'default');
    const spec = { nodeName: 'somewhere', containers: [{ name: 'c', image: 'i' }] };
    const stamp = '2026-01-01T00:00:00Z';
    await ok('create', '-f', await manifest({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec }));
    // kubectl describe asks for the events of this very pod.
    const uid = await ok('get', 'pod', 'p', '-o', 'jsonpath={.metadata.uid}');
    const involvedObject = { apiVersion: 'v1', kind: 'Pod', name: 'p', namespace: 'default', uid };
    await ok(
      'create',
      '-f',
      await manifest({
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: 'e' },
        involvedObject,
        reason: 'Tried',
        message: 'hello',
        type: 'Normal',
        firstTimestamp: stamp,
        lastTimestamp: stamp,
        count: 3,
        source: { component: 'me' },
      }),
    );
    assert.deepEqual(columns(await ok('get', 'events')).slice(1), ['Normal', 'Tried', 'pod/p', 'hello']);
    assert.match(await ok('events', '--for', 'pod/p'), /Tried/);
    assert.match(await ok('describe', 'pod', 'p'), /Normal\s+Tried\s+.*me\s+hello/);
    assert.match(
      await ok('get', 'pods', '--field-selector', 'spec.nodeName=somewhere,status.phase!=Failed', '-o', 'wide'),
      /somewhere/,
    );
    await ok('delete', 'pod', 'p', '--grace-period=0', '--force');
  });

  test('kubectl watches', async () => {
    const child = spawn(kubectl ?? '', ['get', 'configmaps', '-n', 'kube-public', '-w', '-o', 'name'], {
      env: environment(),
    });
    const lines: string[] = [];
    const enough = new Promise<void>((resolve, reject) => {
      child.stdout.on('data', (chunk: Buffer) => {
        lines.push(
          ...chunk
            .toString()
            .split('\n')
            .filter((line) => line !== ''),
        );
        if (lines.length >= 2) resolve();
      });
      child.on('exit', () => reject(new Error(`kubectl left after ${JSON.stringify(lines)}`)));
    });
    try {
      while (api.core.openWatches === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      await ok('create', 'configmap', 'one', '-n', 'kube-public');
      await ok('label', 'configmap', 'one', '-n', 'kube-public', 'a=b');
      await enough;
    } finally {
      child.removeAllListeners('exit');
      child.kill();
    }
    assert.deepEqual(lines, ['configmap/one', 'configmap/one']);
  });
});
