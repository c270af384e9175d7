import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../common/process/log.ts';
import { seededRandom } from '../../common/process/random.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { names } from '../../common/well-known.ts';
import { createShippedObjects, shippedObjectsIn } from '../../controller/kube/shipped-objects.ts';
import { watchPause } from '../../controller/runtime/pause.ts';
import { createKubeApiCore } from '../kit/kube-api/kube-api-core.ts';
import { inProcessKube } from './harness/kube-in-process.ts';
import { deleteObject, shipObject } from './harness/shipped-objects.ts';

function watched(options: { readonly shipped: boolean }) {
  const clock = fakeClock();
  const random = seededRandom(1);
  const core = createKubeApiCore({ clock, random, historyLimit: 100 });
  if (options.shipped) shipObject(core, shippedObjectsIn('kube-system').published);
  const kube = inProcessKube(core, clock);
  const lines: string[] = [];
  const missing = { now: Number.NaN };
  const log = createLog({ clock, level: 'info', format: 'json', write: (line) => lines.push(line) });
  const shipped = createShippedObjects('kube-system', { log, missing: { set: (_, value) => (missing.now = value) } });
  const pause = watchPause({ api: kube, clock, random, log, shipped });
  pause.start();
  const path = `/api/v1/namespaces/${names.namespace}/configmaps/${names.certificates}`;
  const write = (value: string) =>
    kube.call({ verb: 'patch', patch: 'merge', path, body: { data: { [names.pausedKey]: value } } });
  return { clock, core, lines, missing, pause, write };
}

describe('the pause key', () => {
  it('pauses nothing where the ConfigMap is missing, and logs the command that restores it', async () => {
    const { clock, core, lines, missing, pause, write } = watched({ shipped: false });
    await clock.advance(1_000);
    assert.deepEqual([pause.synced(), pause.paused(), missing.now], [true, false, 1]);
    assert.equal(lines.filter((line) => line.includes('kubectl -n kube-system create configmap mooring-ca')).length, 1);
    shipObject(core, shippedObjectsIn('kube-system').published);
    await write('true');
    await clock.advance(1_000);
    assert.deepEqual([pause.paused(), missing.now], [true, 0]);
    await pause.stop();
  });

  it('goes with a ConfigMap that is deleted, and the log tells both', async () => {
    const { clock, core, lines, missing, pause, write } = watched({ shipped: true });
    await write('true');
    await clock.advance(1_000);
    assert.deepEqual([pause.paused(), missing.now], [true, 0]);
    deleteObject(core, shippedObjectsIn('kube-system').published);
    await clock.advance(1_000);
    assert.deepEqual([pause.paused(), missing.now], [false, 1]);
    for (const text of ['no longer paused', 'an object of the manifests is missing'])
      assert.ok(
        lines.some((line) => line.includes(text)),
        text,
      );
    await pause.stop();
  });
});
