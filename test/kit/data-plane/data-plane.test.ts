import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { systemClock } from '../../../common/process/clock.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { createSimulatedCloud } from '../cloud/cloud.ts';
import type { Listener } from '../cloud/load-balancer.ts';
import type { FaultRule } from '../kube-api/faults.ts';
import { startKubeApi } from '../kube-api/start-kube-api.ts';
import { createKubeRest } from '../world/kube-rest.ts';
import { startDataPlane } from './data-plane.ts';
import { ask, converse, startTraffic, type Target } from './traffic.ts';

interface ServiceFields {
  readonly policy?: 'Cluster' | 'Local';
  readonly faults?: readonly FaultRule[];
}

/** Three VMs, one Service and its load balancer, made by hand as a controller would make them. */
async function start(
  t: TestContext,
  { policy = 'Cluster', faults = [] }: ServiceFields = {},
  fields: Partial<Listener> = {},
) {
  const api = await startKubeApi({ faults });
  const rest = createKubeRest(api);
  const random = seededRandom(7);
  const cloud = createSimulatedCloud({ clock: systemClock(), random });
  const { model, network } = cloud;
  const vms = model.createMany(3, { name: 'node' });
  const service = await rest.must('POST', '/api/v1/namespaces/default/services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { type: 'LoadBalancer', externalTrafficPolicy: policy, selector: { app: 'web' }, ports: [{ port: 80 }] },
  });
  const memberPort: number = service.spec.ports[0].nodePort;
  const healthCheck = { port: service.spec.healthCheckNodePort ?? 10_256, path: '/healthz' };
  const { loadBalancer } = network.loadBalancers.create([...model.places.keys()][0]!, {
    name: 'web',
    tags: {},
    scheme: 'external',
    families: ['IPv4'],
    addresses: [],
    clientToken: undefined,
    pools: [
      {
        name: 'nodes',
        tags: {},
        healthCheck,
        sessionAffinity: undefined,
        members: vms.map(({ id }) => ({ instanceId: id, weight: 1 as const })),
        clientToken: undefined,
      },
    ],
    listeners: [
      {
        name: 'http',
        tags: {},
        protocol: 'TCP',
        port: 80,
        memberPort,
        sourceRanges: [],
        proxyProtocol: false,
        tls: false,
        clientToken: undefined,
        ...fields,
        pool: 'nodes',
      },
    ],
  });
  const plane = await startDataPlane({
    api,
    instances: model,
    loadBalancers: network.loadBalancers,
    random: Math.random,
  });
  t.after(async () => {
    await plane.stop();
    cloud.close();
    rest.close();
    await api.stop();
  });
  const [pool] = loadBalancer.pools;
  const target: Target = plane.reach(loadBalancer.addresses[0]!.ip, 80);
  const setMembers = (members: readonly { readonly instanceId: string; readonly weight: 0 | 1 }[]) =>
    network.loadBalancers.setMembers(loadBalancer.id, pool!.id, members);
  const healthOf = () => vms.map(({ id }) => network.loadBalancers.health.get(pool!.id, id));
  return { model, network, plane, vms, loadBalancer, pool: pool!, target, setMembers, healthOf, rest };
}

async function until(what: string, probe: () => unknown): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    if (await probe()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assert.fail(`never: ${what}`);
}

/** On a busy machine a health check may miss its time, and a connection then breaks; the next ones do not. */
const answeredBy = (target: Target, nodes: readonly string[]) =>
  until(`${nodes.join()} answer`, async () => isDeepStrictEqual(await answerers(target).catch(() => []), nodes));

async function answerers(target: Target, count = 9): Promise<string[]> {
  const nodes = new Set<string>();
  for (let number = 0; number < count; number += 1) nodes.add((await ask(target)).node);
  return [...nodes].sort();
}

const allNodes = ['node-0001', 'node-0002', 'node-0003'];

test('every healthy member of a load balancer answers, and the model knows who is healthy', async (t) => {
  const { target, healthOf } = await start(t);
  await until('all are healthy', () => healthOf().every((healthy) => healthy === true));
  await answeredBy(target, allNodes);
});

test('no node is healthy before it knows the Services and answers for them', async (t) => {
  const match = { verb: 'list', resource: 'services' };
  const { target, healthOf } = await start(t, {
    faults: [{ match, effect: { kind: 'answer', status: 503 }, times: 1 }],
  });
  await until('all are healthy', () => healthOf().every((healthy) => healthy === true));
  assert.deepEqual(await answerers(target), allNodes);
});

test('a VM that stops turns unhealthy, and gets nothing until it is back', async (t) => {
  const { model, target, vms, healthOf } = await start(t);
  await until('all are healthy', () => healthOf().every((healthy) => healthy === true));
  model.stop(vms[1]!.id);
  await until('the stopped one is unhealthy', () => healthOf()[1] === false);
  await answeredBy(target, ['node-0001', 'node-0003']);
  model.start(vms[1]!.id);
  await until('it is healthy again', () => healthOf()[1] === true);
  await answeredBy(target, allNodes);
});

test('only nodes with pods are healthy and answer with the policy Local', async (t) => {
  const { target, plane, healthOf } = await start(t, { policy: 'Local' });
  plane.placePods('default/web', ['node-0002']);
  await until('one is healthy', () => healthOf().join() === 'false,true,false');
  await answeredBy(target, ['node-0002']);
  plane.placePods('default/web', ['node-0002', 'node-0003']);
  await until('two are healthy', () => healthOf().join() === 'false,true,true');
  await answeredBy(target, ['node-0002', 'node-0003']);
});

test('a draining member keeps its connections and gets no new ones; once it is no member they break', async (t) => {
  const { target, plane, vms, healthOf, loadBalancer, setMembers } = await start(t);
  await until('all are healthy', () => healthOf().every((healthy) => healthy === true));
  const kept = await Promise.all([1, 2, 3].map(() => converse(target)));
  const nodes = await Promise.all(kept.map(async (one) => (await one.say('hello')).node));
  assert.deepEqual(nodes.toSorted(), allNodes);
  const draining = vms[nodes.length - 1]!;
  const ofDraining = kept[nodes.indexOf(draining.name)]!;
  setMembers(vms.map(({ id }) => ({ instanceId: id, weight: id === draining.id ? 0 : 1 })));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(await answerers(target), ['node-0001', 'node-0002']);
  assert.equal((await ofDraining.say('still here')).node, draining.name);
  assert.equal(plane.open(loadBalancer.id, draining.id), 1);
  setMembers(vms.filter(({ id }) => id !== draining.id).map(({ id }) => ({ instanceId: id, weight: 1 as const })));
  await until('the connection is cut', () => plane.open(loadBalancer.id, draining.id) === 0);
  await assert.rejects(ofDraining.say('and now?'), /broke|ECONNRESET|EPIPE/);
  for (const one of kept) one.end();
});

test('clients outside the source ranges are refused', async (t) => {
  const { target, plane, healthOf, network, loadBalancer } = await start(t);
  await until('all are healthy', () => healthOf().every((healthy) => healthy === true));
  const [inside, outside] = [plane.clientAddress('friend'), plane.clientAddress('stranger')];
  const [listener] = loadBalancer.listeners;
  network.loadBalancers.changeListener(loadBalancer.id, listener!.id, { sourceRanges: [`${inside}/32`] });
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(allNodes.includes((await ask({ ...target, from: inside })).node));
  await assert.rejects(ask({ ...target, from: outside }), /broke|ECONNRESET|EPIPE/);
});

test("the node sees the client's address with the PROXY protocol", async (t) => {
  const { target, plane, healthOf } = await start(t, {}, { proxyProtocol: true });
  await until('all are healthy', () => healthOf().every((healthy) => healthy === true));
  const from = plane.clientAddress('a client');
  assert.equal((await ask({ ...target, from })).client, from);
});

test('a client stays with its node by session affinity while others go elsewhere', async (t) => {
  const { target, plane, healthOf, network, loadBalancer, pool } = await start(t);
  await until('all are healthy', () => healthOf().every((healthy) => healthy === true));
  network.loadBalancers.changePool(loadBalancer.id, pool.id, { sessionAffinity: { timeoutSeconds: 3600 } });
  await new Promise((resolve) => setImmediate(resolve));
  const seen = new Set<string>();
  for (let number = 0; number < 12; number += 1) {
    const from = plane.clientAddress(`client-${number}`);
    const nodes = await answerers({ ...target, from }, 4);
    assert.equal(nodes.length, 1);
    seen.add(nodes[0]!);
  }
  assert.ok(seen.size > 1);
});

test('a deleted load balancer refuses connections, and a deleted Service closes its node ports', async (t) => {
  const { target, healthOf, network, loadBalancer, rest } = await start(t);
  await until('all are healthy', () => healthOf().every((healthy) => healthy === true));
  await rest.must('DELETE', '/api/v1/namespaces/default/services/web');
  const answer = () =>
    ask(target).then(
      () => 'answered',
      (error) => String(error.code),
    );
  await until('the node ports are closed', async () => (await answer()) !== 'answered');
  network.loadBalancers.delete(loadBalancer.id);
  await until('the load balancer listens no more', async () => (await answer()) === 'ECONNREFUSED');
  assert.deepEqual([await answer(), await answer()], ['ECONNREFUSED', 'ECONNREFUSED'], 'it stays closed');
});

test('traffic counts the answers of each node, and every failure', async (t) => {
  const { target, healthOf, network, loadBalancer } = await start(t);
  await until('all are healthy', () => healthOf().every((healthy) => healthy === true));
  const traffic = startTraffic({ target: () => target, everyMs: 5, kept: 3, keptMs: 50 });
  await until('there was some', () => traffic.counts().short > 10 && traffic.counts().kept > 3);
  assert.deepEqual(traffic.counts().failures, []);
  network.loadBalancers.delete(loadBalancer.id);
  await until('it fails', () => traffic.counts().failures.length > 3);
  const { byNode } = await traffic.stop();
  assert.deepEqual([...byNode.keys()].sort(), allNodes);
});
