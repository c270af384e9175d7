import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../common/process/log.ts';
import { createMetricRegistry } from '../../common/process/metrics.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import type { Lookup } from '../clouds/cloud.ts';
import { type KubeApi, type KubeCall, KubeError } from '../kube/api.ts';
import type { Informer } from '../kube/informer.ts';
import type { NodeView } from '../model/node-view.ts';
import { exampleInstance } from '../model/testing/example-instance.ts';
import { exampleNode, uninitializedTaint } from '../model/testing/example-node.ts';
import { createReportStore } from '../reports/store.ts';
import { exampleReport } from '../reports/testing/example-report.ts';
import { createSemaphore } from '../runtime/semaphore.ts';
import { nodeMetrics } from './metrics.ts';
import { createNodeReconciler } from './node-reconciler.ts';

/** The end-to-end behaviour is tested in test/nodes; these tests cover the state in memory. */
describe('the memory of the node reconciler', () => {
  function setUp(log = silentLog, call?: KubeApi['call']) {
    const clock = fakeClock();
    const nodes = new Map<string, NodeView>();
    const informer: Informer<NodeView> = {
      synced: true,
      whenSynced: async () => {},
      get: (name) => nodes.get(name),
      values: () => nodes.values(),
      get size() {
        return nodes.size;
      },
      stalenessMs: () => 0,
      subscribe: () => {},
    };
    const answers: ((lookup: Lookup) => void)[] = [];
    const api: KubeApi = {
      call:
        call ??
        (async () => {
          throw new KubeError({ status: 404, reason: 'NotFound', message: 'gone' });
        }),
      watch: async () => {},
    };
    const lookups = {
      lookup: () => new Promise<Lookup>((resolve) => answers.push(resolve)),
      lookupAll: async () => new Map<string, Lookup>(),
      hasSeenInstance: true,
    };
    const reconciler = createNodeReconciler(
      {
        api,
        clock,
        random: () => 0.5,
        log,
        nodes: informer,
        reports: createReportStore(clock),
        resolver: {
          configured: [
            // Only that there is an API matters to callers of `lookups`.
            { name: 'simulated', scope: 's', accepts: () => true, selector: undefined, api: {} as never },
          ],
          lookupsOf: () => lookups,
        },
        events: { emit: () => {} },
        metrics: createMetricRegistry().define(nodeMetrics),
        paused: () => false,
        pausedNode: () => false,
      },
      createSemaphore(1),
    );
    return { nodes, reconciler, answers };
  }

  it('keeps no entry of a Node that was deleted during its lookup', async () => {
    const { nodes, reconciler, answers } = setUp();
    const node = exampleNode({ taints: [uninitializedTaint] });
    nodes.set(node.name, node);
    const run = reconciler.reconcile(node.name);
    nodes.delete(node.name);
    reconciler.observe({ type: 'deleted', key: node.name, old: node });
    answers[0]?.({ state: 'found', instance: exampleInstance(), power: 'running', request: 'id' });
    await run;
    assert.equal(reconciler.instances.get(node.name, node.uid), undefined);
    assert.equal(reconciler.waiting.get(node.name), undefined);
  });

  it('ignores the cached instance of a Node that was re-created under the same name', async () => {
    const { nodes, reconciler } = setUp();
    const node = exampleNode({ providerID: 'simulated://sim-1/i-1' });
    nodes.set(node.name, node);
    reconciler.instances.put(node.name, { uid: node.uid, instance: exampleInstance(), scope: 's', readAtMs: 0 });
    assert.equal(reconciler.instances.get(node.name, 'another-uid'), undefined);
    reconciler.observe({ type: 'deleted', key: node.name, old: node });
    assert.equal(reconciler.instances.get(node.name, node.uid), undefined);
  });

  it('writes nothing but the reason while the cloud cannot tell the zone of a new Node', async () => {
    const bodies: unknown[] = [];
    const call = async <T>({ body }: KubeCall) => {
      bodies.push(body);
      return { metadata: { resourceVersion: '2' } } as T;
    };
    const { nodes, reconciler, answers } = setUp(silentLog, call);
    const node = exampleNode({ providerID: 'simulated://sim-1/i-1', taints: [uninitializedTaint] });
    nodes.set(node.name, node);
    const run = reconciler.reconcile(node.name);
    const instance = exampleInstance({ placeUnknown: 'Unavailable: no tags' });
    answers[0]?.({ state: 'found', instance, power: 'running', request: 'id' });
    await run;
    assert.deepEqual(
      bodies.map((body) => Object.keys(body as object)),
      [['metadata', 'status']],
    );
    assert.match(JSON.stringify(bodies), /"status":"False","reason":"AwaitingCloud".*"Unavailable: no tags"/);
    assert.equal(reconciler.waiting.get(node.name)?.reason, 'AwaitingCloud');
  });

  it('says in the log what it changed on a Node', async () => {
    const lines: unknown[] = [];
    const log = { ...silentLog, info: (message: string, fields?: object) => void lines.push({ message, ...fields }) };
    const { nodes, reconciler } = setUp(log, async <T>() => ({ metadata: { resourceVersion: '2' } }) as T);
    const node = exampleNode({ providerID: 'simulated://sim-1/i-1' });
    nodes.set(node.name, node);
    const instance = exampleInstance({ addresses: [{ type: 'InternalIP', address: '10.9.9.9' }] });
    reconciler.instances.put(node.name, { uid: node.uid, instance, scope: 's', readAtMs: 0 });
    await reconciler.reconcile(node.name);
    const { message, changed } = lines[0] as { message: string; changed: string[] };
    assert.equal(message, 'node updated');
    assert.ok(changed.includes('addresses: none -> InternalIP 10.9.9.9'), changed.join('; '));
  });
});

describe('a Node of a platform that is none of ours', () => {
  it('reports a foreign Node once, again when it changes or registers again, and never writes it', async () => {
    const nodes = new Map<string, NodeView>();
    const lines: unknown[] = [];
    const calls: unknown[] = [];
    const clock = fakeClock();
    const reconciler = createNodeReconciler(
      {
        clock,
        random: () => 0.5,
        reports: createReportStore(clock),
        events: { emit: () => {} },
        api: { call: async <T>(call: KubeCall) => calls.push(call) as T, watch: async () => {} },
        log: { ...silentLog, info: (message, fields) => void lines.push([message, fields?.['why']]) },
        nodes: { get: (name: string) => nodes.get(name), size: 0 } as unknown as Informer<NodeView>,
        resolver: {
          configured: [{ name: 'aws', scope: 's', accepts: () => false, selector: undefined, api: undefined }],
          lookupsOf: () => undefined,
        },
        metrics: createMetricRegistry().define(nodeMetrics),
        paused: () => false,
        pausedNode: () => false,
      },
      createSemaphore(1),
    );
    const register = async (providerID: string) => {
      const node = exampleNode({ name: 'old', providerID, taints: [uninitializedTaint] });
      nodes.set('old', node);
      await reconciler.reconcile('old');
      await reconciler.reconcile('old');
      return node;
    };
    const old = await register('mesos://x');
    const line = (id: string) => [
      'node is foreign and never changed',
      `no configured cloud accepts its providerID ${id}`,
    ];
    assert.deepEqual(lines, [line('mesos://x')]);
    reconciler.observe({ type: 'deleted', key: 'old', old });
    await register('mesos://x');
    await register('photon://y');
    assert.deepEqual(lines.slice(1), [line('mesos://x'), line('photon://y')]);
    assert.deepEqual(calls, []);
  });
});

describe('a Node that only a report describes', () => {
  function setUp() {
    const clock = fakeClock();
    const nodes = new Map<string, NodeView>();
    const informer = { get: (name: string) => nodes.get(name), size: 0 } as unknown as Informer<NodeView>;
    const calls: KubeCall[] = [];
    const reports = createReportStore(clock);
    const reconciler = createNodeReconciler(
      {
        api: {
          async call<T>(call: KubeCall) {
            calls.push(call);
            return { metadata: { resourceVersion: String(100 + calls.length) } } as T;
          },
          watch: async () => {},
        },
        clock,
        random: () => 0.5,
        log: silentLog,
        nodes: informer,
        reports,
        resolver: {
          configured: [{ name: 'simulated', scope: 's', accepts: () => true, selector: undefined, api: undefined }],
          lookupsOf: () => undefined,
        },
        events: { emit: () => {} },
        metrics: createMetricRegistry().define(nodeMetrics),
        paused: () => false,
        pausedNode: () => false,
      },
      createSemaphore(1),
    );
    function joins(name: string, address: string): Promise<unknown> {
      const node = exampleNode({ name, uid: `uid-${name}`, taints: [uninitializedTaint], addresses: [] });
      nodes.set(name, node);
      reconciler.observe({ type: 'added', key: name, object: node });
      const sender = { nodeName: name, nodeUid: node.uid, podUid: 'p', credentialId: `c-${name}` };
      const addresses = [{ type: 'InternalIP' as const, address }];
      const instance = exampleInstance({ id: name, providerID: `simulated://sim-1/${name}`, addresses });
      const { smbiosUuid: _, ...reported } = instance;
      reports.put(sender, exampleReport({ instance: reported }));
      return reconciler.reconcile(name);
    }
    const written = (name: string) => JSON.stringify(calls.filter(({ path }) => path.includes(`/nodes/${name}`)));
    return { nodes, joins, written, reconciler };
  }
  const ready = (status: string) => [{ type: 'Ready', status, reason: '', message: '' }];

  it('refuses an address that another live Node holds, and names that Node', async () => {
    const { nodes, joins, written } = setUp();
    await joins('first', '10.0.0.7');
    nodes.set('first', exampleNode({ name: 'first', conditions: ready('True') }));
    await joins('second', '10.0.0.7');
    assert.match(written('first'), /10\.0\.0\.7/);
    assert.match(written('second'), /IdentityConflict.*address 10\.0\.0\.7 is held by live Node first/);
    assert.doesNotMatch(written('second'), /providerID/);
  });

  it('gives the address of a silent Node to another one, and its own address to a re-created Node', async () => {
    const { nodes, joins, written, reconciler } = setUp();
    await joins('first', '10.0.0.7');
    const silent = exampleNode({ name: 'first', conditions: ready('Unknown') });
    nodes.set('first', silent);
    await joins('second', '10.0.0.7');
    assert.match(written('second'), /providerID/);
    nodes.delete('second');
    reconciler.observe({ type: 'deleted', key: 'second', old: exampleNode({ name: 'second' }) });
    await joins('second', '10.0.0.7');
    assert.doesNotMatch(written('second'), /IdentityConflict/);
  });
});
