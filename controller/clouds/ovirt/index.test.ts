import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLog } from '../../../common/process/log.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { connection } from '../../../test/clouds/ovirt/ovirt-world.ts';
import { createModule } from './index.ts';

it('the module of oVirt says once that there are nodes alone, however often it opens a cloud', async () => {
  const lines: string[] = [];
  const clock = fakeClock();
  const log = createLog({ clock, level: 'info', format: 'json', write: (line) => void lines.push(line) });
  const module = createModule();
  for (const path of ['one.conf', 'other.conf']) {
    const context = { clock, random: () => 0.5, log, env: {}, onCall() {} };
    const cloud = await module.open({ path, text: connection }, context);
    assert.ok('instances' in cloud);
    cloud.close();
  }
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).msg),
    ['nodes alone: oVirt has no load balancers and no routes'],
  );
});
