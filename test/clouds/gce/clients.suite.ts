import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '../../../common/process/clock.ts';
import { createFakeGce, listen } from './fake/fake-gce.ts';

const run = promisify(execFile);

it('google-cloud-compute, the client for Python, reads VMs and changes routes of the fake', async () => {
  const fake = createFakeGce(systemClock());
  fake.identity.tokens.set('good', Number.POSITIVE_INFINITY);
  fake.operations.durationMs = 300;
  for (let each = 0; each < 600; each += 1) fake.addVm(`node-${each}`);
  const served = await listen(fake);
  const env = { ...process.env, GCE_URL: served.url };
  const work = run(process.env['GCE_PYTHON']!, [join(import.meta.dirname, 'drive.py')], { env, timeout: 120_000 });
  const { stdout } = await work.finally(served.close);
  assert.equal(stdout, 'ok\n');
});
