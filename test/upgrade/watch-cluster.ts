import assert from 'node:assert/strict';
import { taints } from '../../common/well-known.ts';
import type { ApiUnderTest } from '../conformance/api-under-test.ts';
import { makeClient } from '../conformance/client.ts';
import { type NodeObject, taintKeys } from '../kit/world/scenario.ts';
import type { ServiceObject } from '../kit/world/services.ts';

/** Sees every change of Nodes and Services as it happens, those that are taken back too. */
export interface ClusterWatch {
  /** What a swap of controllers must not do, in words; empty is good. */
  readonly harm: readonly string[];
  close(): void;
}

const addressesIn = (service: ServiceObject): string =>
  (service.status?.loadBalancer?.ingress ?? [])
    .map(({ ip, hostname }: { ip?: string; hostname?: string }) => ip ?? hostname)
    .join();

/** From now on. Nodes that are there are initialised, and Services have the addresses that they shall keep. */
export async function watchCluster(api: ApiUnderTest): Promise<ClusterWatch> {
  const client = makeClient(api.url, api.caPem, api.adminToken);
  const harm: string[] = [];
  let closed = false;

  async function follow(path: string, changed: (type: string, object: NodeObject, first: NodeObject) => void) {
    const list = (await client.call('GET', path)).body as NodeObject;
    const first = new Map<string, NodeObject>(list.items.map((one: NodeObject) => [one.metadata.uid, one]));
    const watch = await client.watch(path, { resourceVersion: list.metadata.resourceVersion });
    void (async () => {
      while (!closed) {
        // It throws when nothing has come for a second.
        const event = await watch.next(1000).catch(() => 'none' as const);
        if (event === 'none') continue;
        if (event === undefined) break;
        const known = first.get(event.object.metadata?.uid);
        if (known !== undefined) changed(event.type, event.object, known);
      }
      if (!closed) harm.push(`the watch of ${path} ended`);
    })();
  }

  await follow('/api/v1/nodes', (type, node) => {
    const { name } = node.metadata;
    if (type === 'DELETED') harm.push(`Node ${name} was deleted`);
    const own = [taints.uninitialized, taints.shutdown].filter((key) => taintKeys(node).includes(key));
    for (const key of own) harm.push(`Node ${name} got the taint ${key}`);
  });
  await follow('/api/v1/services', (type, service, known) => {
    const { name } = service.metadata;
    if (type === 'DELETED') harm.push(`Service ${name} was deleted`);
    const [before, now] = [addressesIn(known), addressesIn(service)];
    if (before !== now) harm.push(`Service ${name} showed ${now || 'no address'}, not ${before}`);
  });
  return {
    harm,
    close() {
      closed = true;
      client.close();
    },
  };
}

/** Runs `work` and fails where a Node or an address did not outlast it. */
export async function withoutHarm(api: ApiUnderTest, work: () => Promise<void>): Promise<void> {
  const watch = await watchCluster(api);
  try {
    await work();
    assert.deepEqual(watch.harm, []);
  } finally {
    watch.close();
  }
}
