import { readFile } from 'node:fs/promises';
import { annotations, names, taints } from '../../common/well-known.ts';
import { restoreCommand, type ShippedObject, shippedObjectsIn } from '../../controller/kube/shipped-objects.ts';
import type { ApiSuite, Check } from '../conformance/api-under-test.ts';
import { inWorld } from '../e2e/in-world.ts';
import { applyManifests } from '../kit/world/manifests.ts';
import { assertThat, nodeNamed, taintKeys, until } from '../kit/world/scenario.ts';
import type { World } from '../kit/world/world.ts';

const nodes = 1;
const joining = ['joins-1', 'joins-2', 'joins-3', 'joins-4', 'joins-5', 'joins-6'];
const certificates = { namespace: names.namespace, name: names.certificates };

export const shippedObjectsNodeNames: readonly string[] = ['node-0001', ...joining];

const core = (kind: string, { namespace, name } = certificates) => `/api/v1/namespaces/${namespace}/${kind}/${name}`;
const lease = `/apis/coordination.k8s.io/v1/namespaces/${names.namespace}/leases/${names.lease}`;
const role = `/apis/rbac.authorization.k8s.io/v1/namespaces/${names.namespace}/roles/${names.controller}`;

const clusterRole = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${names.controller}`;

interface LogLine {
  readonly replica: string;
  readonly text: string;
}

async function logLines(world: World): Promise<LogLine[]> {
  const texts = await Promise.all(
    world.replicas.map(async ({ name, child }) => ({ name, text: await readFile(child.logFile, 'utf8') })),
  );
  return texts.flatMap(({ name, text }) => text.split('\n').map((line) => ({ replica: name, text: line })));
}

/** Waits until so many replicas, or one, have written a line with all of these texts. */
async function logged(world: World, what: string, texts: readonly string[], replicas = 1): Promise<void> {
  await until(what, 60_000, async () => {
    const found = (await logLines(world)).filter(({ text }) => texts.every((part) => text.includes(part)));
    return new Set(found.map(({ replica }) => replica)).size >= replicas;
  });
}

async function initialised(world: World, name: string): Promise<void> {
  await until(`${name} is initialised`, 60_000, async () => {
    const node = await nodeNamed(world, name);
    return node && !taintKeys(node).includes(taints.uninitialized);
  });
}

async function joins(world: World, name: string): Promise<void> {
  await world.boot(name);
  await initialised(world, name);
}

async function dataOf(world: World, kind: string): Promise<Readonly<Record<string, string>>> {
  return (await world.rest.must('GET', core(kind))).data ?? {};
}

async function missing(world: World, { kind, name }: ShippedObject): Promise<number> {
  const sample = `mooring_shipped_object_missing{kind="${kind}",name="${name}"}`;
  const shown = await Promise.all(world.replicas.map((replica) => replica.metrics()));
  return Math.max(...shown.map((samples) => samples.get(sample) ?? 0));
}

async function reportsKept(world: World): Promise<number> {
  const shown = await Promise.all(world.replicas.map((replica) => replica.metrics()));
  return shown.reduce((sum, samples) => sum + (samples.get('mooring_reports_total{outcome="kept"}') ?? 0), 0);
}

/** Deletes it, waits until the controllers name the command that restores it, and until the restored one is filled. */
async function deletedAndRestored(world: World, object: ShippedObject, filled: () => Promise<boolean>): Promise<void> {
  const kinds = object.kind === 'Secret' ? 'secrets' : 'configmaps';
  await world.rest.must('DELETE', core(kinds));
  await logged(world, 'the log has the command', ['an object of the manifests is missing', restoreCommand(object)]);
  await until('the metric shows it', 60_000, async () => (await missing(world, object)) === 1);
  await applyManifests(world.rest);
  await until('it is filled', 90_000, filled);
  await until('the metric shows that it is there', 60_000, async () => (await missing(world, object)) === 0);
}

async function everyObject(world: World, check: Check): Promise<void> {
  const pids = () => world.replicas.map(({ child }) => child.pid).join();
  const before = pids();
  const published = async () => {
    const data = await dataOf(world, 'configmaps');
    return (data[names.caKey] ?? '') !== '' && (data[names.controllerUrlsKey] ?? '') !== '';
  };
  await check('from a fresh install the Secret and the ConfigMap are filled, and nodes are initialised', async () => {
    await joins(world, joining[0]!);
    await until('the ConfigMap is filled', 60_000, published);
    assertThat((await dataOf(world, 'secrets'))['tls.key'], 'the Secret has no key');
  });
  await check('a deleted Secret is told with its command, and gets new certificates once it is restored', async () => {
    const old = (await dataOf(world, 'secrets'))['tls.crt'];
    await deletedAndRestored(world, shippedObjectsIn('kube-system').certificates, async () => {
      const now = (await dataOf(world, 'secrets'))['tls.crt'];
      return now !== undefined && now !== old;
    });
    const before = await reportsKept(world);
    await joins(world, joining[1]!);
    await until('reports are taken with the new certificates', 90_000, async () => (await reportsKept(world)) > before);
  });
  await check('a deleted ConfigMap is told with its command, and is filled once it is restored', async () => {
    await deletedAndRestored(world, shippedObjectsIn('kube-system').published, published);
    await joins(world, joining[2]!);
  });
  await check('the pause key holds in a restored ConfigMap', async () => {
    const type = 'application/merge-patch+json';
    const paused = (value: string | null) =>
      world.rest.must('PATCH', core('configmaps'), { data: { [names.pausedKey]: value } }, { type });
    await paused('true');
    await logged(world, 'both replicas are paused', ['paused: no changes are made any more'], 2);
    await paused(null);
    await logged(world, 'both replicas go on', ['no longer paused'], 2);
  });
  await check('a deleted Lease is made again, and the leader goes on', async () => {
    await until('there is a leader', 30_000, async () => (await world.leader()) !== undefined);
    const { uid } = (await world.rest.must('GET', lease)).metadata;
    await world.rest.must('DELETE', lease);
    await until('there is a new Lease with a holder', 60_000, async () => {
      const { status, body } = await world.rest.call('GET', lease);
      return status === 200 && body.metadata.uid !== uid && Boolean(body.metadata.annotations?.[annotations.reportUrl]);
    });
    await joins(world, joining[3]!);
  });
  await check(
    'without its Role no replica leads, and the log says what to apply; with it everything goes on',
    async () => {
      await world.rest.must('DELETE', role);
      await logged(world, 'the log says so', ['cannot get resource', 'apply the manifests'], 2);
      await applyManifests(world.rest);
      await joins(world, joining[4]!);
    },
  );
  await check(
    'without its ClusterRole no Node is written, and the log says what to apply; with it all go on',
    async () => {
      await world.rest.must('DELETE', clusterRole);
      const name = joining[5]!;
      await world.boot(name);
      await logged(world, 'the log says so', ['at the cluster scope', 'apply the manifests']);
      await applyManifests(world.rest);
      await initialised(world, name);
    },
  );
  await check('no replica was restarted, and reports are taken', async () => {
    assertThat(pids() === before && world.replicas.every(({ child }) => child.running), 'a replica has ended');
    const up = await Promise.all(
      world.replicas.map(async (replica) => (await replica.metrics()).get('mooring_report_api_up')),
    );
    assertThat(
      up.every((value) => value === 1),
      `mooring_report_api_up is ${up}`,
    );
  });
}

/** What the controller cannot create is deleted piece by piece while it runs with the rights of the manifests. */
export const shippedObjectsSuite: ApiSuite = {
  name: 'shipped-objects',
  run: (api, check) => inWorld({ api, nodes, agentProcesses: nodes }, check, everyObject),
};
