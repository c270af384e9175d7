import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { annotations, names } from '../../common/well-known.ts';
import { startCloud } from '../kit/cloud/start-cloud.ts';
import { startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { createKubeRest } from '../kit/world/kube-rest.ts';
import { createKubelet } from '../kit/world/kubelet.ts';
import { applyManifests, serviceAccountToken } from '../kit/world/manifests.ts';
import { startNodeMonitor } from '../kit/world/node-monitor.ts';
import { startReplica } from '../kit/world/replica.ts';
import { type NodeObject, until } from '../kit/world/scenario.ts';
import { shortened } from '../kit/world/shortened.ts';

const closing: (() => unknown)[] = [];
after(async () => {
  for (const close of closing.reverse()) await close();
});

test('cloud-node-lifecycle as the only controller deletes Nodes that another one initialised', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-lifecycle-'));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  const api = await startKubeApi();
  closing.push(() => api.stop());
  const rest = createKubeRest(api);
  closing.push(() => rest.close());
  const cloud = await startCloud({ clock: systemClock(), random: Math.random });
  closing.push(() => cloud.stop());
  await applyManifests(rest);
  const monitor = startNodeMonitor(rest, shortened.monitorGraceMs, 1000);
  closing.push(() => monitor.stop());

  const place = [...cloud.model.places.values()][0]!;
  const credentialFile = join(folder, 'credential');
  await writeFile(credentialFile, cloud.credential);
  const cloudConfig = join(folder, 'cloud.yaml');
  const settings = { endpoint: cloud.url, project: place.project, region: place.region, credentialFile };
  await writeFile(cloudConfig, JSON.stringify(settings));
  const kubeconfig = join(folder, 'kubeconfig');
  const account = { namespace: names.namespace, name: names.controller };
  await api.writeKubeconfig(kubeconfig, await serviceAccountToken(rest, account));
  const flags = ['--controllers=cloud-node-lifecycle'];
  const config = { folder, kubeconfig, token: api.adminToken, cloudConfig, network: false, flags };
  const replica = await startReplica('one', config);
  closing.push(() => replica.child.stop());

  const nodes = [];
  for (const name of ['stays', 'goes']) {
    const vm = cloud.model.create({ name });
    const systemUuid = vm.smbiosUuid ?? '';
    const token = api.nodeToken(name);
    const kubelet = createKubelet({ rest, name, token, systemUuid, leaseRenewMs: shortened.kubeletLeaseMs });
    closing.push(() => kubelet.stop());
    await kubelet.start();
    // As the other controller does.
    const body = { spec: { providerID: `simulated://${vm.region}/${vm.id}`, taints: null } };
    await rest.must('PATCH', `/api/v1/nodes/${name}`, body, { type: 'application/merge-patch+json' });
    nodes.push({ vm, kubelet });
  }
  const node = async (name: string): Promise<NodeObject | undefined> => {
    const { status, body } = await rest.call('GET', `/api/v1/nodes/${name}`);
    return status === 200 ? body : undefined;
  };
  await until('it has found both instances', 60_000, async () => {
    const both = [await node('stays'), await node('goes')];
    return both.every((each) => each?.metadata.annotations?.[annotations.instance] !== undefined);
  });
  const { vm, kubelet } = nodes[1]!;
  kubelet.stop();
  cloud.model.terminate(vm.id);
  await until('the Node is deleted', 60_000, async () => (await node('goes')) === undefined);
  assert.ok(await node('stays'));
  const metrics = await replica.metrics();
  const runs = (name: string) =>
    metrics.get(`running_managed_controllers{name="${name}",manager="cloud-controller-manager"}`);
  assert.deepEqual(['cloud-node-lifecycle', 'cloud-node', 'service', 'route', 'tagging'].map(runs), [1, 0, 0, 0, 0]);
});
