import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readBootId, readDmi } from '../../../agent/dmi.ts';
import { simulated } from '../../../agent/metadata/simulated.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { writeFirmware } from './firmware.ts';
import { createCloudModel } from './model.ts';

test("an agent recognises the cloud and its machine's UUID, and a rebuilt VM by another boot", async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'mooring-firmware-'));
  t.after(() => rm(root, { recursive: true }));
  const model = createCloudModel({ clock: fakeClock(), random: seededRandom(8) });
  const vm = model.create();
  await writeFirmware(root, vm);
  const dmi = await readDmi(root);
  assert.equal(simulated.detect(dmi), true);
  assert.equal(dmi.productUuid, vm.smbiosUuid);
  const boot = await readBootId(root);
  assert.match(boot ?? '', /^[0-9a-f-]{36}$/);
  await writeFirmware(root, model.rebuild(vm.id));
  assert.notEqual(await readBootId(root), boot);
});
