import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startKubeApi } from '../kube-api/start-kube-api.ts';
import { createKubeRest, type KubeRest, mergePatch, strategicPatch } from './kube-rest.ts';
import { createKubelet } from './kubelet.ts';
import { monitorNodes } from './node-monitor.ts';

const graceMs = 60_000;
const leasePath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1';

async function nodeAndKubelet(t: TestContext, leaseRenewMs: number, wrap = (rest: KubeRest) => rest) {
  const api = await startKubeApi();
  const rest = createKubeRest(api);
  const token = api.nodeToken('node-1');
  const kubelet = createKubelet({ rest: wrap(rest), name: 'node-1', token, systemUuid: '', leaseRenewMs });
  t.after(async () => {
    kubelet.stop();
    rest.close();
    await api.stop();
  });
  return {
    rest,
    kubelet,
    async ready(): Promise<string> {
      const node = await rest.must('GET', '/api/v1/nodes/node-1');
      return node.status.conditions.find(({ type }: { type: string }) => type === 'Ready').status;
    },
    ageLease: () =>
      rest.must('PATCH', leasePath, { spec: { renewTime: '2026-01-01T00:00:00.000000Z' } }, { type: mergePatch }),
  };
}

test('a kubelet that starts again stays Ready, however its calls and the monitor interleave', async (t) => {
  const monitored = (rest: KubeRest): KubeRest => ({
    ...rest,
    async call(...call) {
      const answer = await rest.call(...call);
      await monitorNodes(rest, graceMs);
      return answer;
    },
    async must(...call) {
      const answer = await rest.must(...call);
      await monitorNodes(rest, graceMs);
      return answer;
    },
  });
  const { rest, kubelet, ready, ageLease } = await nodeAndKubelet(t, 3_600_000, monitored);
  await kubelet.start();
  kubelet.stop();
  await ageLease();
  await monitorNodes(rest, graceMs);
  assert.equal(await ready(), 'Unknown');

  await kubelet.start();

  assert.equal(await ready(), 'True');
});

test('a kubelet whose renewals were late says Ready again', async (t) => {
  t.mock.timers.enable({ apis: ['Date', 'setInterval'], now: Date.now() });
  const { rest, kubelet, ready } = await nodeAndKubelet(t, 1000);
  await kubelet.start();
  const unknown = { status: { conditions: [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }] } };
  await rest.must('PATCH', '/api/v1/nodes/node-1/status', unknown, { type: strategicPatch });
  t.mock.timers.setTime(Date.now() + 10_000);

  t.mock.timers.tick(1000);

  for (let looks = 0; looks < 200 && (await ready()) !== 'True'; looks += 1);
  assert.equal(await ready(), 'True');
});
