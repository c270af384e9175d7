import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { runProgram } from '../../common/process/program.ts';
import { annotations, conditions, labels, names } from '../../common/well-known.ts';
import { controllerProgram } from '../../controller/commands/program.ts';
import { emptyPicture, mergeUpdate, type Picture } from '../../controller/commands/ui/merge-update.ts';
import type { Explained } from '../../controller/commands/ui/update.ts';
import { recorded } from '../../controller/services/testing/example-service.ts';
import { type KubeApiServer, startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { createKubeRest, type KubeRest, mergePatch } from '../kit/world/kube-rest.ts';
import { serviceAccountToken } from '../kit/world/manifests.ts';
import { until } from '../kit/world/scenario.ts';

describe('ui', () => {
  let folder: string;
  let api: KubeApiServer;
  let rest: KubeRest;

  async function setCondition(name: string, status: 'True' | 'False', reason: string, message: string): Promise<void> {
    const condition = { type: conditions.cloudInitialized, status, reason, message };
    const patch = { status: { conditions: [condition] } };
    await rest.must('PATCH', `/api/v1/nodes/${name}/status`, patch, { type: mergePatch });
  }

  async function addNode(name: string, zone: string): Promise<void> {
    const metadata = { name, labels: { [labels.zone]: zone } };
    const spec = { providerID: `simulated://sim-1/i-${name}` };
    await rest.must('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata, spec });
    await setCondition(name, 'True', 'Initialized', 'up to date with the cloud');
  }

  async function addEvent(name: string, component: string): Promise<void> {
    await rest.must('POST', '/api/v1/namespaces/default/events', {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace: 'default' },
      type: 'Normal',
      count: 1,
      involvedObject: { kind: 'Node', name: 'a' },
      source: { component },
      reason: 'Synced',
      message: name,
      lastTimestamp: '2026-01-01T00:00:00Z',
    });
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-ui-'));
    api = await startKubeApi();
    rest = createKubeRest(api);
    await writeFile(join(folder, 'admin'), api.kubeconfig());
    await rest.must('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'visitor' } });
    const token = await serviceAccountToken(rest, { namespace: 'default', name: 'visitor' });
    await writeFile(join(folder, 'visitor'), api.kubeconfig(token));
    await addNode('a', 'z1');
    await addNode('b', 'z2');
    await rest.must('POST', '/api/v1/namespaces/default/services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { type: 'LoadBalancer', ports: [{ port: 80 }] },
    });
    await rest.must('POST', '/api/v1/namespaces/default/services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'inner' },
      spec: { ports: [{ port: 80 }] },
    });
    await rest.must('POST', '/api/v1/namespaces/default/services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'left', ...recorded('http://cloud/demo/sim-1 lb-1') },
      spec: { ports: [{ port: 80 }] },
    });
    await addEvent('ours', names.controller);
    await addEvent('theirs', 'kubelet');
  });
  after(async () => {
    rest.close();
    await api.stop();
    await rm(folder, { recursive: true });
  });

  /** Runs the command, gives `use` its address and the picture as a page has it, and ends it. */
  async function withUi(
    kubeconfig: string,
    use: (url: string, picture: () => Picture, updates: readonly string[]) => Promise<void>,
  ): Promise<void> {
    const stop = new AbortController();
    const program = controllerProgram({
      clock: systemClock(),
      random: Math.random,
      signal: stop.signal,
      ask: async () => undefined,
    });
    let out = '';
    let err = '';
    const ended = runProgram(program, {
      argv: ['ui'],
      env: { KUBECONFIG: join(folder, kubeconfig) },
      stdout: (text) => {
        out += text;
      },
      stderr: (text) => {
        err += text;
      },
    });
    const url = await until('the address is printed', 10_000, async () => /^http\S+\n/.exec(out)?.[0].trim());
    const updates: string[] = [];
    let picture = emptyPicture;
    const leaving = new AbortController();
    const answer = await fetch(`${url}updates`, { signal: leaving.signal });
    const reading = (async () => {
      let text = '';
      for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
        const messages = (text + part).split('\n\n');
        text = messages.pop() ?? '';
        for (const message of messages) {
          updates.push(message);
          picture = mergeUpdate(picture, JSON.parse(message.replace(/^data: /, '')));
        }
      }
    })().catch(() => {});
    try {
      await use(url, () => picture, updates);
    } finally {
      leaving.abort();
      await reading;
      stop.abort();
      assert.equal(await ended, 0, err);
    }
  }

  const nodeIn = (picture: Picture, zone: string, name: string) => picture.zones.get(zone)?.get(name);

  it('shows Nodes by zone and Services as status does, and the Events of the controller alone', async () => {
    await withUi('admin', async (_url, picture) => {
      await until(
        'everything is shown',
        15_000,
        async () => picture().zones.size === 2 && picture().services.size === 2 && picture().decisions.length > 0,
      );
      const { state, reason, ok, providerID } = nodeIn(picture(), 'z1', 'a')!;
      assert.deepEqual([state, reason, ok, providerID], ['initialized', 'Initialized', true, 'simulated://sim-1/i-a']);
      const web = picture().services.get('default/web')!;
      assert.equal(picture().services.get('default/left')?.state, 'deleting');
      assert.deepEqual([web.state, web.ok, web.listeners], ['waiting', false, ['TCP 80']]);
      assert.match(web.why, /no controller holds the Lease/);
      assert.match(picture().head?.leaderFault ?? '', /no controller holds the Lease/);
      assert.deepEqual(
        picture().decisions.map(({ message }) => message),
        ['ours'],
      );
      assert.match(JSON.stringify(picture().metrics), /unknown: --metrics-url/);
    });
  });

  it('sends what changed, and nothing of the others', async () => {
    await withUi('admin', async (_url, picture, updates) => {
      await until('both Nodes are shown', 15_000, async () => picture().zones.size === 2);
      await until('the cluster was read', 15_000, async () => picture().head?.leaderFault);
      const before = updates.length;
      await setCondition('a', 'False', 'AddressConflict', 'two addresses');
      await until('the change is shown', 15_000, async () => nodeIn(picture(), 'z1', 'a')?.state === 'waiting');
      await addNode('c', 'z1');
      await until('the new Node is shown', 15_000, async () => nodeIn(picture(), 'z1', 'c')?.ok);
      await rest.must('DELETE', '/api/v1/nodes/c');
      await until('the deleted one is not', 15_000, async () => nodeIn(picture(), 'z1', 'c') === undefined);
      const sent = updates.slice(before).join();
      assert.doesNotMatch(sent, /"name":"b"|"full":true/);
      assert.match(sent, /AddressConflict/);
      await setCondition('a', 'True', 'Initialized', 'up to date with the cloud');
    });
  });

  it('follows the leader and the pause, which change what others wait for', async () => {
    await withUi('admin', async (_url, picture) => {
      await until('the Service is shown', 15_000, async () => picture().services.get('default/web'));
      const holder = { holderIdentity: 'pod-1_uid', renewTime: new Date().toISOString().replace('Z', '000Z') };
      const leases = `/apis/coordination.k8s.io/v1/namespaces/${names.namespace}/leases`;
      await rest.must('POST', leases, { metadata: { name: names.lease }, spec: holder });
      await until('the leader is shown', 15_000, async () => picture().head?.leader === 'pod-1_uid');
      await until('the Service waits for it', 15_000, async () =>
        picture().services.get('default/web')?.why.includes('pod-1_uid leads'),
      );
      const paused = { metadata: { name: names.certificates }, data: { [names.pausedKey]: 'true' } };
      await rest.must('POST', `/api/v1/namespaces/${names.namespace}/configmaps`, paused);
      await until('everything is paused', 15_000, async () => nodeIn(picture(), 'z1', 'a')?.state === 'paused');
      await rest.must('DELETE', `/api/v1/namespaces/${names.namespace}/configmaps/${names.certificates}`);
    });
  });

  it('counts the desired members of each Service as Nodes change, and explains them without another list', async () => {
    const scope = 'http://cloud/demo/sim-1';
    const record = (name: string, of: object) => rest.must('PATCH', name, { metadata: of }, { type: mergePatch });
    for (const name of ['a', 'b'])
      await record(`/api/v1/nodes/${name}`, { annotations: { [annotations.instance]: `${scope} 1` } });
    const path = '/api/v1/namespaces/default/services';
    for (const [name, noted] of [
      ['all', {}],
      ['some', { 'service.beta.kubernetes.io/simulated-load-balancer-node-selector': 'role=ingress' }],
    ] as const)
      await rest.must('POST', path, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name, annotations: { [annotations.loadBalancer]: `${scope} lb-${name}`, ...noted } },
        spec: { type: 'LoadBalancer', ports: [{ port: 80 }] },
      });
    await withUi('admin', async (url, picture, updates) => {
      const counts = (name: string) => {
        const members = picture().services.get(`default/${name}`)?.members;
        if (!members || 'unknown' in members) return members?.unknown;
        return [members.serving, members.draining, members.refused];
      };
      const shows = (what: string, expected: Readonly<Record<string, readonly number[] | string>>) =>
        until(what, 15_000, async () =>
          Object.entries(expected).every(([name, value]) => JSON.stringify(counts(name)) === JSON.stringify(value)),
        );
      await shows('both serve', { all: [2, 0, 0], some: [0, 0, 2], web: 'not recorded yet in which cloud' });
      const exclude = { labels: { [labels.excludeFromLoadBalancers]: '' } };
      await record('/api/v1/nodes/b', exclude);
      await shows('one drains', { all: [1, 1, 0], some: [0, 1, 1] });
      const before = updates.length;
      await record('/api/v1/nodes/a', { labels: { role: 'ingress' } });
      await shows('one is chosen', { all: [1, 1, 0], some: [1, 1, 0] });
      assert.doesNotMatch(updates.slice(before).join(), /"name":"default\/(all|web)"/);
      api.core.requests.reset();
      const explained = (await (await fetch(`${url}explain?service=default/all`)).json()) as Explained;
      const text = (label: string) => explained.facts.find((one) => one.label === label)?.text;
      assert.equal(text('desired members'), '1 Node');
      assert.match(text('draining') ?? '', /^1: b \(Excluded: a label excludes it/);
      assert.equal(api.core.requests.total({ verb: 'list', resource: 'nodes' }), 0);
    });
    await record('/api/v1/nodes/b', { labels: { [labels.excludeFromLoadBalancers]: null } });
    for (const name of ['all', 'some']) await rest.must('DELETE', `${path}/${name}`);
  });

  it('explains as the command does', async () => {
    await withUi('admin', async (url) => {
      const explained = (await (await fetch(`${url}explain?node=a`)).json()) as Explained;
      assert.deepEqual([explained.state, explained.reason], ['initialized', 'Initialized']);
      const zone = explained.facts.find(({ label }) => label === 'zone');
      assert.deepEqual(zone, { label: 'zone', text: 'z1' });
      assert.equal((await fetch(`${url}explain?node=nobody`)).status, 404);
    });
  });

  it('says what this credential may not read, and shows it as unknown', async () => {
    await withUi('visitor', async (url, picture) => {
      await until('the cluster was asked', 15_000, async () => picture().head?.hidden.includes('nodes'));
      const { hidden, leader, leaderFault, apiFault } = picture().head!;
      assert.deepEqual([...hidden].sort(), ['events', 'leader', 'nodes', 'pause', 'services']);
      assert.deepEqual([leader, leaderFault, apiFault], [null, null, null]);
      assert.match(await (await fetch(`${url}explain?node=a`)).text(), /this credential may not read it/);
    });
  });

  it('says that the API server does not answer, and when it does again', async () => {
    await withUi('admin', async (_url, picture) => {
      await until('both Nodes are shown', 15_000, async () => picture().zones.size === 2);
      const match = { resource: 'leases', userAgent: 'mooring-controller' };
      const mend = api.core.faults.add({ match, effect: { kind: 'answer', status: 503 } });
      await until('the fault is shown', 15_000, async () => picture().head?.apiFault?.includes('leases'));
      assert.equal(picture().zones.size, 2);
      mend();
      await until('it is over', 15_000, async () => picture().head?.apiFault === null);
    });
  });

  it('never asked the API server to change anything, and did not poll the Nodes', async () => {
    api.core.requests.reset();
    await withUi('admin', async (url, picture) => {
      await until('both Nodes are shown', 15_000, async () => picture().zones.size === 2);
      await fetch(`${url}explain?service=default/web`);
      const renewedAt = picture().head?.renewedAt;
      const patch = { spec: { renewTime: new Date().toISOString().replace('Z', '000Z') } };
      const path = `/apis/coordination.k8s.io/v1/namespaces/${names.namespace}/leases/${names.lease}`;
      await rest.must('PATCH', path, patch, { type: mergePatch });
      await until('the Lease was read again', 15_000, async () => picture().head?.renewedAt !== renewedAt);
      const asked = api.core.requests.list().filter(({ userAgent }) => userAgent.startsWith('mooring-controller'));
      assert.deepEqual([...new Set(asked.map(({ verb }) => verb))].sort(), ['get', 'list', 'watch']);
      // Whether it may list, and the list itself.
      assert.equal(api.core.requests.total({ verb: 'list', resource: 'nodes', userAgent: 'mooring-controller' }), 2);
    });
  });

  it('refuses flags that mean nothing to it, and an address of metrics on another machine', async () => {
    const refused: string[] = [];
    const program = controllerProgram({
      clock: systemClock(),
      random: Math.random,
      signal: new AbortController().signal,
      ask: async () => undefined,
    });
    for (const flag of ['--cloud-provider=aws', '--metrics-url=https://10.0.0.1/metrics']) {
      const io = { stdout: () => {}, stderr: (text: string) => void refused.push(text) };
      assert.equal(await runProgram(program, { argv: ['ui', flag], env: {}, ...io }), 2);
    }
    assert.match(refused[0]!, /cloud-provider/);
    assert.match(refused.at(-1)!, /--metrics-url: "https:\/\/10\.0\.0\.1/);
  });
});
