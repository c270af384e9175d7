import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { after, test } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { names, taints } from '../../common/well-known.ts';
import { startCloud } from '../kit/cloud/start-cloud.ts';
import { startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { createKubeRest } from '../kit/world/kube-rest.ts';
import { createKubelet, type Kubelet } from '../kit/world/kubelet.ts';
import { applyManifests, serviceAccountToken } from '../kit/world/manifests.ts';
import { type Replica, startReplica } from '../kit/world/replica.ts';
import { taintKeys, until } from '../kit/world/scenario.ts';
import { shortened } from '../kit/world/shortened.ts';

interface Write {
  readonly by: string;
  readonly what: string;
}

/** Written whether a replica leads or not: its own bid for the Lease, and questions that change nothing. */
const unfenced = /\/leases(\/|$)|\/(tokenreviews|subjectaccessreviews)$/;

const closing: (() => unknown)[] = [];
after(async () => {
  for (const close of closing.reverse()) await close();
});

test('a leader paused past its lease writes nothing afterwards, even in the middle of its work', async () => {
  const folder = await mkdtemp(joinPath(tmpdir(), 'mooring-paused-'));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  const api = await startKubeApi();
  closing.push(() => api.stop());
  const rest = createKubeRest(api);
  closing.push(() => rest.close());
  const cloud = await startCloud({ clock: systemClock(), random: Math.random });
  closing.push(() => cloud.stop());
  await applyManifests(rest);

  const replicas = new Map<string, Replica>();
  const writes: Write[] = [];
  const { handle } = api.core;
  Object.assign(api.core, {
    handle(request: Parameters<typeof handle>[0]) {
      const by = String(request.headers['authorization']).slice('Bearer '.length);
      if (request.method !== 'GET' && replicas.has(by)) writes.push({ by, what: `${request.method} ${request.path}` });
      return handle(request);
    },
  });

  const place = [...cloud.model.places.values()][0]!;
  const credentialFile = joinPath(folder, 'credential');
  await writeFile(credentialFile, cloud.credential);
  const cloudConfig = joinPath(folder, 'cloud.yaml');
  const settings = { endpoint: cloud.url, project: place.project, region: place.region, credentialFile };
  await writeFile(cloudConfig, JSON.stringify(settings));
  for (const name of ['one', 'two']) {
    // A token of its own tells whose request it is.
    const token = await serviceAccountToken(rest, { namespace: names.namespace, name: names.controller });
    const kubeconfig = joinPath(folder, `${name}.kubeconfig`);
    await api.writeKubeconfig(kubeconfig, token);
    const config = { folder, kubeconfig, token: api.adminToken, cloudConfig, network: false };
    const replica = await startReplica(name, config);
    replicas.set(token, replica);
    closing.push(() => replica.child.stop());
  }

  async function join(name: string): Promise<void> {
    const vm = cloud.model.create({ name });
    const kubelet: Kubelet = createKubelet({
      rest,
      name,
      token: api.nodeToken(name),
      systemUuid: vm.smbiosUuid ?? '',
      leaseRenewMs: shortened.kubeletLeaseMs,
    });
    closing.push(() => kubelet.stop());
    await kubelet.start();
  }
  const initialised = async (name: string) =>
    !taintKeys(await rest.must('GET', `/api/v1/nodes/${name}`)).includes(taints.uninitialized);
  const wroteOn = (name: string) => writes.find(({ what }) => what === `PATCH /api/v1/nodes/${name}/status`)?.by;

  await join('first');
  await until('the first Node is initialised', 60_000, () => initialised('first'));
  const stale = wroteOn('first')!;
  const { child, metrics } = replicas.get(stale)!;
  const loops = async () =>
    [...(await metrics()).keys()].filter((sample) => sample.startsWith('mooring_loop_progress_age_seconds'));
  assert.notDeepEqual(await loops(), []);

  // It has asked the cloud about the second Node and sleeps while the answer comes.
  cloud.faults.add({ operation: '*', effect: { kind: 'latency', ms: 2000 } });
  const mark = cloud.faults.add({ operation: '*', times: 1, effect: { kind: 'latency', ms: 0 } });
  await join('second');
  await until('it asks the cloud', 60_000, async () => !cloud.faults.list().some(({ number }) => number === mark));
  process.kill(child.pid, 'SIGSTOP');
  closing.push(() => child.running && process.kill(child.pid, 'SIGCONT'));
  cloud.faults.clear();
  await until('the other replica initialises the second Node', 60_000, () => initialised('second'));
  assert.notEqual(wroteOn('second'), stale, 'the pause came too late to prove anything');
  await join('third');
  await until('and the third', 60_000, () => initialised('third'));

  const before = writes.length;
  process.kill(child.pid, 'SIGCONT');
  await until('it notices that it leads no more', 60_000, async () =>
    /"msg":"no longer leading"/.test(await readFile(child.logFile, 'utf8')),
  );
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const late = writes.slice(before).filter(({ by, what }) => by === stale && !unfenced.test(what));
  assert.deepEqual(
    late.map(({ what }) => what),
    [],
  );
  assert.equal(child.running, true);
  assert.deepEqual(await loops(), [], 'ages of loops that have ended');
});
