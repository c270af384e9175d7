import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../common/process/random.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { createRouteRecords, recordsName } from '../../controller/routes/route-records.ts';
import { inProcessKube } from '../nodes/harness/kube-in-process.ts';
import { createKubeApiCore } from '../sandbox/kube/kube-api-core.ts';

function server() {
  const clock = fakeClock();
  const core = createKubeApiCore({ clock, random: seededRandom(1), historyLimit: 100 });
  return () => inProcessKube(core, clock);
}

const a = { destination: '10.244.0.0/24', instance: 'i-1' };
const b = { destination: '10.244.1.0/24', instance: 'i-2' };

describe('records of routes', () => {
  it('are read by the next leader', async () => {
    const kube = server();
    const records = createRouteRecords(kube());
    await records.load('cloud/one');
    assert.equal(records.has('cloud/one', a.destination, a.instance), false);
    await records.change('cloud/one', { note: [a, b] });
    const next = createRouteRecords(kube());
    await next.load('cloud/one');
    assert.deepEqual(next.all('cloud/one'), [a, b]);
    assert.equal(next.has('cloud/one', a.destination, undefined), true);
    assert.equal(next.has('cloud/one', a.destination, 'i-2'), false);
  });

  it('of one scope are not those of another', async () => {
    const kube = server();
    const [one, two] = [createRouteRecords(kube()), createRouteRecords(kube())];
    await one.load('cloud/one');
    await two.load('cloud/two');
    await Promise.all([one.change('cloud/one', { note: [a] }), two.change('cloud/two', { note: [b] })]);
    const next = createRouteRecords(kube());
    await next.load('cloud/one');
    await next.load('cloud/two');
    assert.deepEqual([next.all('cloud/one'), next.all('cloud/two')], [[a], [b]]);
  });

  it('hold several instances of one range, and forget one of them', async () => {
    const records = createRouteRecords(server()());
    await records.load('s');
    const moved = { ...a, instance: 'i-9' };
    await records.change('s', { note: [a, moved] });
    await records.change('s', { drop: [a] });
    assert.deepEqual(records.all('s'), [moved]);
  });

  it('cost no call where nothing changes', async () => {
    const kube = server()();
    const records = createRouteRecords(kube);
    await records.load('s');
    await records.change('s', { note: [a] });
    kube.forgetCalls();
    await records.change('s', { note: [a], drop: [b] });
    assert.deepEqual(kube.calls, []);
    assert.ok(recordsName.length > 0);
  });
});
