import assert from 'node:assert/strict';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { names } from '../../common/well-known.ts';
import type { KubeApi, KubeError } from '../../controller/kube/api.ts';
import { createKubeClient } from '../../controller/kube/client.ts';
import { createLeaseStore } from '../../controller/kube/lease-store.ts';
import { createShippedObjects } from '../../controller/kube/shipped-objects.ts';
import { fixedConnection } from '../../controller/kube/testing/fixed-connection.ts';
import { createReplicaDirectory } from '../../controller/reports/certificates/urls.ts';
import { createRouteRecords } from '../../controller/routes/route-records.ts';
import type { ApiUnderTest } from '../conformance/api-under-test.ts';
import type { Client } from '../conformance/client.ts';

/** Where the objects are that the controllers write in kube-system. */
export const configMaps = `/api/v1/namespaces/${names.namespace}/configmaps`;
export const ownSecret = `/api/v1/namespaces/${names.namespace}/secrets/${names.certificates}`;
export const ownConfigMap = `${configMaps}/${names.certificates}`;
export const ownRecords = `${configMaps}/${names.routeRecords}`;
export const lease = `/apis/coordination.k8s.io/v1/namespaces/${names.namespace}/leases/${names.lease}`;

/** Throws unless the server accepts it. */
export async function must(client: Client, method: string, path: string, body: object, type = 'application/json') {
  const { status, text, object } = await client.call(method, path, { body, type });
  assert.ok(status < 300, `${method} ${path}: ${text}`);
  return object;
}

/** The parts that write these objects, with the controller's own account. */
export async function worksAndRecovers(api: ApiUnderTest, client: Client, token: string): Promise<void> {
  const clock = systemClock();
  const config = fixedConnection({ server: api.url, token, tls: { ca: api.caPem } });
  const { api: kube, close } = createKubeClient({ config, clock, log: silentLog });
  try {
    const leases = createLeaseStore(kube, { namespace: names.namespace, name: names.lease }, 10_000);
    const directory = createReplicaDirectory({
      api: kube,
      fencedApi: kube,
      clock,
      identity: 'a',
      url: 'https://a:1',
      namespace: 'kube-system',
    });
    const recordsOf = (api: KubeApi) => createRouteRecords(api, createShippedObjects(names.namespace));
    const records = recordsOf(kube);
    await records.load('scope');
    for (const round of [1, 2]) {
      for (const path of [lease, `${lease.slice(0, lease.lastIndexOf('/'))}/${names.replicasLease}`])
        await client.call('DELETE', path);
      assert.equal(await leases.read(), undefined);
      const made = await leases.write(undefined, undefined, { round: String(round) });
      await leases.write(made, undefined, { round: 'again' });
      await assert.rejects(leases.write(undefined, undefined, {}), (error: KubeError) => error.status === 409);
      await directory.withdraw();
      await directory.announce();
      assert.deepEqual(await directory.collect(), ['https://a:1']);
      const note = [{ destination: `10.0.${round}.0/24`, target: 'i' }];
      await client.call('DELETE', ownRecords);
      await assert.rejects(records.change('scope', { note }), /kubectl -n kube-system create configmap mooring-routes/);
      await must(client, 'POST', configMaps, { metadata: { name: names.routeRecords } });
      await records.change('scope', { note });
    }
    const next = recordsOf(kube);
    await next.load('scope');
    assert.equal(next.all('scope').length, 2);
  } finally {
    await client.call('DELETE', lease);
    close();
  }
}
