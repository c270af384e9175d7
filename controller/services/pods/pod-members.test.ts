import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LoadBalancers } from '../../clouds/load-balancers.ts';
import { exampleService } from '../testing/example-service.ts';
import type { EndpointSliceView } from './endpoint-slice.ts';
import { type PodIds, podMembersOf } from './pod-members.ts';

const port = (name: string, number: number) => ({ name, port: number, protocol: 'TCP', nodePort: 30_000 + number });
const service = exampleService({ spec: { ports: [port('http', 80), port('admin', 81)] } });
const { signal } = new AbortController();

function slice(key: string, ports: Readonly<Record<string, number>>, addresses: readonly string[]): EndpointSliceView {
  const named = Object.entries(ports).map(([name, number]) => [`${name} TCP`, number] as const);
  const ready = addresses.map((address) => `${address} pod-${address}`);
  return { key, service: service.key, ports: new Map(named), ready: ready.join() };
}

/** Answers for all but addresses that begin with 9. */
function ask(slices: readonly EndpointSliceView[], { ids, nowMs = 0 }: { ids?: PodIds; nowMs?: number } = {}) {
  const asked: string[] = [];
  const loadBalancers = {
    async podIds(addresses) {
      asked.push(...addresses);
      return new Map(addresses.filter((one) => !one.startsWith('9')).map((one) => [one, `id/${one}`]));
    },
  } satisfies Pick<LoadBalancers, 'podIds'>;
  const cloud = { name: 'cloud', scope: 's', loadBalancers: loadBalancers as unknown as LoadBalancers };
  return podMembersOf({ service, cloud, slices, ids, nowMs }, signal).then((found) => ({ ...found, asked }));
}

describe('pods as members', () => {
  it('gives pods the ports of all slices that name them, each once and sorted', async () => {
    const { members } = await ask([
      slice('b', { admin: 9001 }, ['10.0.0.2']),
      slice('a', { http: 8080 }, ['10.0.0.2', '10.0.0.1']),
    ]);
    const shown = members.map(({ node, providerID, ports }) => [node, providerID, ports]);
    assert.deepEqual(shown, [
      ['10.0.0.1', 'id/10.0.0.1', { 'TCP/80': 8080 }],
      ['10.0.0.2', 'id/10.0.0.2', { 'TCP/80': 8080, 'TCP/81': 9001 }],
    ]);
  });

  it('looks up pods once, and again after 30 seconds those that the cloud did not know', async () => {
    const slices = [slice('a', { http: 8080 }, ['10.0.0.1', '9.0.0.1'])];
    const first = await ask(slices);
    assert.deepEqual([first.asked, first.unknown.map(({ node }) => node)], [['10.0.0.1', '9.0.0.1'], ['9.0.0.1']]);
    const { ids } = first;
    assert.deepEqual((await ask(slices, { ids, nowMs: 29_999 })).asked, []);
    assert.deepEqual((await ask(slices, { ids, nowMs: 30_000 })).asked, ['9.0.0.1']);
    const gone = await ask([slice('a', { http: 8080 }, ['10.0.0.1'])], { ids });
    assert.deepEqual([gone.againInMs, gone.ids.size], [undefined, 1]);
  });

  it('returns no members where no pod is ready, and fails where the cloud knows none of them', async () => {
    assert.deepEqual((await ask([slice('a', { http: 8080 }, [])])).members, []);
    const addresses = ['9.0.0.1', '9.0.0.2', '9.0.0.3', '9.0.0.4', '9.0.0.5', '9.0.0.6'];
    await assert.rejects(ask([slice('a', { http: 8080 }, addresses)]), {
      kind: 'NotFound',
      message: /9\.0\.0\.1, 9\.0\.0\.2, 9\.0\.0\.3, 9\.0\.0\.4, 9\.0\.0\.5 and 1 more: the cloud/,
    });
  });
});
