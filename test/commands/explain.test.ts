import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { runProgram } from '../../common/process/program.ts';
import { controllerProgram } from '../../controller/commands/program.ts';
import { type KubeApiServer, startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { createKubeRest, type KubeRest, mergePatch } from '../kit/world/kube-rest.ts';
import { serviceAccountToken } from '../kit/world/manifests.ts';

describe('explain', () => {
  let folder: string;
  let api: KubeApiServer;
  let rest: KubeRest;
  const [atDefault, atShop] = ['default', 'shop'].map((name) => () => join(folder, name));
  const { signal } = new AbortController();
  const program = controllerProgram({ clock: systemClock(), random: Math.random, signal, ask: async () => undefined });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-explain-'));
    api = await startKubeApi();
    rest = createKubeRest(api);
    await writeFile(atDefault!(), api.kubeconfig());
    await writeFile(atShop!(), api.kubeconfig(undefined, 'shop'));
    await rest.must('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } });
    await rest.must('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    await rest.must('POST', '/api/v1/namespaces/shop/services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ port: 80 }] },
    });
  });
  after(async () => {
    rest.close();
    await api.stop();
    await rm(folder, { recursive: true });
  });

  async function explain(kubeconfig: string, line: string) {
    const said = { out: '', err: '' };
    const code = await runProgram(program, {
      argv: ['explain', ...line.split(' ')],
      env: { KUBECONFIG: kubeconfig },
      stdout: (text) => {
        said.out += text;
      },
      stderr: (text) => {
        said.err += text;
      },
    });
    return { code, ...said };
  }

  it("looks for a Service in the namespace of the kubeconfig's context, or in the one that is named", async () => {
    const { out, code } = await explain(atShop!(), 'svc/web -o json');
    assert.deepEqual([code, JSON.parse(out).service], [0, 'shop/web']);
    for (const line of ['svc web -n shop -o json', 'service shop/web -o json']) {
      const named = await explain(atDefault!(), line);
      assert.deepEqual([named.code, JSON.parse(named.out).service], [0, 'shop/web'], line);
    }
    const elsewhere = await explain(atDefault!(), 'svc web');
    assert.deepEqual(elsewhere, {
      code: 1,
      out: '',
      err: 'mooring-controller explain: there is no Service default/web\n',
    });
  });

  it('says first that no controller acts, where a Service waits for one', async () => {
    const services = '/api/v1/namespaces/shop/services';
    const condition = { type: 'CloudLoadBalancer', status: 'False', reason: 'Provisioning', message: 'being created' };
    await rest.must('PATCH', `${services}/web/status`, { status: { conditions: [condition] } }, { type: mergePatch });
    const { out } = await explain(atShop!(), 'svc web');
    await rest.must('PATCH', `${services}/web/status`, { status: { conditions: null } }, { type: mergePatch });
    assert.match(out, /\nWHY +no controller holds the Lease, so none acts; last known: being created\n/);
  });

  it('counts the desired members of each Service, and reads the Nodes once for all', async () => {
    const noted = { 'mooring.dev/instance': 'http://cloud/demo/sim-1 1' };
    for (const [name, labels] of [
      ['m1', {}],
      ['m2', { 'node.kubernetes.io/exclude-from-external-load-balancers': '' }],
    ] as const)
      await rest.must('POST', '/api/v1/nodes', {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, labels, annotations: noted },
        spec: { providerID: `simulated://sim-1/i-${name}` },
      });
    for (const name of ['one', 'two'])
      await rest.must('POST', '/api/v1/namespaces/shop/services', {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name, annotations: { 'mooring.dev/load-balancer': `http://cloud/demo/sim-1 lb-${name}` } },
        spec: { type: 'LoadBalancer', ports: [{ port: 80 }] },
      });
    api.core.requests.reset();
    const { code, out } = await explain(atShop!(), 'svc/one svc/two -o json');
    assert.equal(code, 0);
    for (const { facts } of JSON.parse(out)) {
      const { desiredMembers, drainingMembers, refusedMembers, nodesElsewhere } = facts;
      const [{ reason, nodes }] = drainingMembers;
      assert.deepEqual([desiredMembers, reason, nodes, refusedMembers, nodesElsewhere], [1, 'Excluded', ['m2'], [], 1]);
    }
    assert.equal(api.core.requests.total({ verb: 'list', resource: 'nodes' }), 1);
    const table = await explain(atShop!(), 'svc/one');
    assert.match(table.out, /\n {2}desired members +1 Node\n/);
    assert.match(table.out, /\n {2}draining +1: m2 \(Excluded: a label excludes it/);
    for (const name of ['m1', 'm2']) await rest.must('DELETE', `/api/v1/nodes/${name}`);
  });

  it('says that the members are unknown where the credential may not list Nodes', async () => {
    await rest.must('POST', '/api/v1/namespaces/shop/serviceaccounts', { metadata: { name: 'reader' } });
    const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' };
    const rules = [{ apiGroups: [''], resources: ['services'], verbs: ['get'] }];
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    await rest.must('POST', `${rbac}/clusterroles`, { metadata: { name: 'reader' }, rules });
    await rest.must('POST', `${rbac}/clusterrolebindings`, {
      metadata: { name: 'reader' },
      roleRef: role,
      subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace: 'shop' }],
    });
    const token = await serviceAccountToken(rest, { namespace: 'shop', name: 'reader' });
    await writeFile(join(folder, 'reader'), api.kubeconfig(token));
    const { code, out } = await explain(join(folder, 'reader'), 'svc/web -n shop');
    assert.equal(code, 0);
    assert.match(out, /desired members +unknown: this credential may not list Nodes/);
  });

  it('refuses flags that mean nothing to it', async () => {
    const { code, err } = await explain(atShop!(), 'svc/web --cloud-provider=aws');
    assert.equal(code, 2);
    assert.match(err, /unknown option '--cloud-provider', which is a flag of run, plan, check, teardown\n$/);
  });

  it('explains several, and says which do not exist', async () => {
    const { code, out, err } = await explain(atShop!(), 'node/a node/b svc/web -o json');
    const found = JSON.parse(out).map((one: { node?: string; service?: string }) => one.node ?? one.service);
    assert.deepEqual([code, found], [1, ['a', 'shop/web']]);
    assert.equal(err, 'mooring-controller explain: there is no Node b\n');
    const [node] = JSON.parse(out);
    const { providerID, deletedWithVm, ready, podCIDRs, registeredAt } = node.facts;
    assert.deepEqual([providerID, deletedWithVm, ready, podCIDRs], [null, false, null, []]);
    assert.equal(new Date(registeredAt).toISOString(), registeredAt);
    const table = await explain(atShop!(), 'node/a svc/web');
    assert.equal(table.code, 0);
    assert.match(table.out, /^NODE +a\n(.+\n)+\n(.+\n)+\nSERVICE +shop\/web\n/);
  });
});
