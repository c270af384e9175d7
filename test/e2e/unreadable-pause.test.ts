import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { names } from '../../common/well-known.ts';
import { startCloud } from '../kit/cloud/start-cloud.ts';
import { startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { createKubeRest } from '../kit/world/kube-rest.ts';
import { applyManifests } from '../kit/world/manifests.ts';
import { startReplica } from '../kit/world/replica.ts';
import { until } from '../kit/world/scenario.ts';

test('a leader that cannot read whether it is paused ends in order, and releases its lease', async (t: TestContext) => {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-unreadable-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const api = await startKubeApi({
    faults: [{ match: { verb: 'list', resource: 'configmaps' }, effect: { kind: 'answer', status: 503 } }],
  });
  t.after(() => api.stop());
  const rest = createKubeRest(api);
  t.after(() => rest.close());
  const cloud = await startCloud({ clock: systemClock(), random: Math.random });
  t.after(() => cloud.stop());
  await applyManifests(rest);
  const kubeconfig = join(folder, 'kubeconfig');
  await api.writeKubeconfig(kubeconfig);
  const [place] = cloud.model.places.values();
  const credentialFile = join(folder, 'credential');
  await writeFile(credentialFile, cloud.credential);
  const cloudConfig = join(folder, 'cloud.yaml');
  const { project, region } = place!;
  await writeFile(cloudConfig, JSON.stringify({ endpoint: cloud.url, project, region, credentialFile }));
  const config = { folder, kubeconfig, token: api.adminToken, cloudConfig, network: false };
  const replica = await startReplica('one', config);
  t.after(() => replica.child.kill());
  const holder = async () => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${names.namespace}/leases/${names.lease}`;
    return (await rest.call('GET', path)).body?.spec?.holderIdentity;
  };
  await until('it has the lease', 20_000, async () => (await holder()) || undefined);

  await replica.child.stop();

  assert.equal(await holder(), '');
});
