import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { KubeApi } from '../kube/api.ts';
import { createChangeRecord } from './change-record.ts';
import { createDryRun } from './dry-run.ts';

it('lists changes of the cluster, and nothing that the controller notes for itself', async () => {
  const record = createChangeRecord();
  const api: KubeApi = {
    call: async <T>() => ({ metadata: { name: 'x', resourceVersion: '1' }, data: {} }) as T,
    watch: () => assert.fail(),
  };
  const dry = createDryRun({ api, clouds: [], record });
  const change = (path: string) => dry.api.call({ verb: 'patch', path, patch: 'merge', body: { data: { a: 'b' } } });
  await change('/api/v1/namespaces/kube-system/configmaps/mooring-routes');
  await change('/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager');
  assert.deepEqual(record.changes(), []);
  await change('/api/v1/namespaces/kube-system/configmaps/of-others');
  assert.deepEqual(
    record.changes().map(({ object }) => object),
    ['configmap kube-system/of-others'],
  );
});
