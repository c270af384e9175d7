import assert from 'node:assert/strict';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import type { WatchEvent } from '../../controller/kube/api.ts';
import { createKubeClient } from '../../controller/kube/client.ts';
import { fixedConnection } from '../../controller/kube/testing/fixed-connection.ts';
import { nodeFields } from '../../controller/model/node-fields.ts';
import { viewNode } from '../../controller/model/node-view.ts';
import type { ApiSuite, ApiUnderTest } from './api-under-test.ts';

const path = '/api/v1/nodes';
const names = ['fields-a', 'fields-b', 'fields-c'];
const query = { labelSelector: 'fields-suite' };
const time = '2026-01-01T00:00:00Z';

function node(name: string): object {
  return {
    metadata: { name, labels: { 'fields-suite': '', zone: 'a' }, annotations: { 'mooring.dev/paused': 'für immer' } },
    spec: {
      podCIDR: '10.0.0.0/24',
      podCIDRs: ['10.0.0.0/24', 'fd00::/64'],
      providerID: `simulated:///${name}`,
      taints: [
        { key: 'a', effect: 'NoSchedule' },
        { key: 'b', value: 'c', effect: 'NoExecute', timeAdded: time },
      ],
    },
    status: {
      addresses: [{ type: 'Hostname', address: name }],
      conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '', lastTransitionTime: time }],
      capacity: { cpu: '4' },
      nodeInfo: { systemUUID: 'AB' },
    },
  };
}

/** The client of the controller on Nodes by their fields: the real server answers in protobuf. */
export const protobuf: ApiSuite = {
  name: 'protobuf',
  async run(api, check) {
    const { api: kube, close } = clientOf(api);
    const deleted = (name: string) => kube.call({ verb: 'delete', path: `${path}/${name}` });
    try {
      for (const name of names) await kube.call({ verb: 'create', path, body: node(name) });
      await check('Q1 a list of Nodes by their fields shows what its JSON shows', async () => {
        const call = { verb: 'list', path, query: { ...query, limit: '2' } } as const;
        const [whole, read] = [await kube.call<Listed>(call), await kube.call<Listed>({ ...call, fields: nodeFields })];
        assert.equal(read.metadata.resourceVersion, whole.metadata.resourceVersion);
        assert.ok(read.metadata.continue);
        assert.deepEqual(read.items.map(seen), whole.items.map(seen));
        if (api.kind === 'real') assert.equal(read.items[0]?.status?.capacity, undefined, 'not read, so no JSON');
      });
      await check('Q2 a watch of Nodes by their fields shows what its JSON shows', async () => {
        const { metadata } = await kube.call<Listed>({ verb: 'list', path, query });
        const { resourceVersion } = metadata;
        const body = { metadata: { labels: { changed: 'yes' } } };
        await kube.call({ verb: 'patch', path: `${path}/fields-a`, body });
        await deleted('fields-b');
        const watched = async (fields?: typeof nodeFields) => {
          const events: WatchEvent[] = [];
          const options = { ...query, resourceVersion, timeoutSeconds: '1' };
          const signal = AbortSignal.timeout(30_000);
          await kube.watch({ path, query: options, fields, signal, onEvent: (event) => void events.push(event) });
          return events.map(({ type, object }) => [type, seen(object)]);
        };
        const [read, whole] = await Promise.all([watched(nodeFields), watched()]);
        assert.deepEqual(read, whole);
        assert.deepEqual(
          read.map(([type]) => type),
          ['MODIFIED', 'DELETED'],
        );
      });
      await check('Q3 a failure tells its reason whatever its form', async () => {
        const absent = kube.call({ verb: 'get', path: `${path}/fields-none`, fields: nodeFields });
        await assert.rejects(absent, { status: 404, reason: 'NotFound', message: /"fields-none" not found/ });
      });
    } finally {
      for (const name of names) await deleted(name).catch(() => {});
      close();
    }
  },
};

interface Listed {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly { readonly status?: { readonly capacity?: object } }[];
}

const seen = (raw: unknown) => viewNode(raw);

function clientOf({ url, adminToken, caPem }: ApiUnderTest) {
  const config = fixedConnection({ server: url, token: adminToken, tls: { ca: caPem } });
  return createKubeClient({ config, clock: systemClock(), log: silentLog });
}
