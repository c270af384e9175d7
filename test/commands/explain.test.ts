import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { runProgram } from '../../common/process/program.ts';
import { controllerProgram } from '../../controller/commands/program.ts';
import { type KubeApiServer, startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { createKubeRest, type KubeRest } from '../kit/world/kube-rest.ts';

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
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } },
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
