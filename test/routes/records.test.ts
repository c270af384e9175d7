import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../common/process/random.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import type { KubeApi } from '../../controller/kube/api.ts';
import { createShippedObjects, pathOf, shippedObjectsIn } from '../../controller/kube/shipped-objects.ts';
import { addressTarget, createRouteRecords, type RouteRecords } from '../../controller/routes/route-records.ts';
import { createKubeApiCore } from '../kit/kube-api/kube-api-core.ts';
import { inProcessKube } from '../nodes/harness/kube-in-process.ts';
import { deleteObject, shipObject } from '../nodes/harness/shipped-objects.ts';

const shippedObjects = shippedObjectsIn('kube-system');
const recordsOf = (api: KubeApi) => createRouteRecords(api, createShippedObjects('kube-system'));

function server() {
  const clock = fakeClock();
  const core = createKubeApiCore({ clock, random: seededRandom(1), historyLimit: 100 });
  shipObject(core, shippedObjects.routeRecords);
  const server = () => inProcessKube(core, clock);
  const remove = () => deleteObject(core, shippedObjects.routeRecords);
  return Object.assign(server, { remove, restore: () => shipObject(core, shippedObjects.routeRecords) });
}

const a = { destination: '10.244.0.0/24', target: 'i-1' };
const b = { destination: '10.244.1.0/24', target: 'i-2' };

describe('records of routes', () => {
  it('reads the records of the leader before', async () => {
    const kube = server();
    const records = recordsOf(kube());
    await records.load('cloud/one');
    assert.equal(records.has('cloud/one', a.destination, a.target), false);
    await records.change('cloud/one', { note: [a, b] });
    const next = recordsOf(kube());
    await next.load('cloud/one');
    assert.deepEqual(next.all('cloud/one'), [a, b]);
    assert.equal(next.has('cloud/one', a.destination, undefined), true);
    assert.equal(next.has('cloud/one', a.destination, 'i-2'), false);
  });

  it('finds the record of an address for any instance that has it', async () => {
    const records = recordsOf(server()());
    await records.load('s');
    await records.change('s', { note: [a, { ...a, target: addressTarget('10.0.0.4') }] });
    assert.equal(records.has('s', a.destination, 'i-9', '10.0.0.4'), true);
    assert.equal(records.has('s', a.destination, 'i-9', '10.0.0.5'), false);
    assert.equal(records.has('s', b.destination, 'i-9', '10.0.0.4'), false);
  });

  it('writes records of an address for the next leader, as comments to older versions', async () => {
    const kube = server();
    const api = kube();
    const records = recordsOf(api);
    await records.load('s');
    const address = { ...a, target: addressTarget('fd00::4') };
    await records.change('s', { note: [a, address, b] });
    const next = recordsOf(kube());
    await next.load('s');
    assert.deepEqual(next.all('s'), [address, a, b]);
    const path = pathOf(shippedObjects.routeRecords);
    const { data } = await api.call<{ readonly data: Record<string, string> }>({ verb: 'get', path });
    const lines = Object.values(data).flatMap((text) => text.split('\n'));
    assert.deepEqual(
      lines.filter((line) => !line.startsWith('#')),
      [a, b].map(({ destination, target }) => `${destination} ${target}`),
    );
  });

  it('keeps the records of one scope apart from those of another', async () => {
    const kube = server();
    const [one, two] = [recordsOf(kube()), recordsOf(kube())];
    await one.load('cloud/one');
    await two.load('cloud/two');
    await Promise.all([one.change('cloud/one', { note: [a] }), two.change('cloud/two', { note: [b] })]);
    const next = recordsOf(kube());
    await next.load('cloud/one');
    await next.load('cloud/two');
    assert.deepEqual([next.all('cloud/one'), next.all('cloud/two')], [[a], [b]]);
  });

  it('records several instances of one range, and forgets one of them', async () => {
    const records = recordsOf(server()());
    await records.load('s');
    const moved = { ...a, target: 'i-9' };
    await records.change('s', { note: [a, moved] });
    await records.change('s', { drop: [a] });
    assert.deepEqual(records.all('s'), [moved]);
  });

  it('takes over records of an older form of the scope, and merges them at the next change', async () => {
    const kube = server();
    const before = recordsOf(kube());
    await before.load('host/region');
    await before.change('host/region', { note: [a, b] });
    const upgraded = recordsOf(kube());
    await upgraded.load('host/region/account', ['host/region']);
    assert.deepEqual(upgraded.all('host/region/account'), [a, b]);
    await upgraded.change('host/region/account', { drop: [b] });
    const next = recordsOf(kube());
    await next.load('host/region/account', ['host/region']);
    await next.load('host/region');
    assert.deepEqual([next.all('host/region/account'), next.all('host/region')], [[a], []]);
  });

  it('makes no call for records where nothing changes', async () => {
    const kube = server()();
    const records = recordsOf(kube);
    await records.load('s');
    await records.change('s', { note: [a] });
    kube.forgetCalls();
    await records.change('s', { note: [a], drop: [b] });
    assert.deepEqual(kube.calls, []);
  });

  it('shows no records while the ConfigMap is missing, and says at a change how to restore it', async () => {
    const kube = server();
    kube.remove();
    const records = recordsOf(kube());
    await records.load('s');
    assert.deepEqual(records.all('s'), []);
    await assert.rejects(records.change('s', { note: [a] }), {
      message:
        /ConfigMap mooring-routes is missing in kube-system.*"kubectl -n kube-system create configmap mooring-routes"/,
    });
    kube.restore();
    await records.change('s', { note: [a] });
    assert.equal(records.has('s', a.destination, a.target), true);
  });

  for (const [how, again] of [
    ['the next load', (records: RouteRecords) => records.load('s')],
    ['the next change', (records: RouteRecords) => records.change('s', { note: [b], drop: [] })],
  ] as const)
    it(`writes its records again by ${how} after the ConfigMap was deleted and restored`, async () => {
      const kube = server();
      const records = recordsOf(kube());
      await records.load('s');
      await records.change('s', { note: [a] });
      kube.remove();
      await assert.rejects(records.load('s'), /ConfigMap mooring-routes is missing/);
      assert.deepEqual(records.all('s'), [a]);
      kube.restore();
      await again(records);
      const next = recordsOf(kube());
      await next.load('s');
      assert.equal(next.has('s', a.destination, a.target), true);
    });
});
