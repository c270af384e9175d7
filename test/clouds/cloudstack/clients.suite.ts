import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '../../../common/process/clock.ts';
import { listen } from '../fake-http.ts';
import { createFakeCloudStack } from './fake/fake-cloudstack.ts';
import { apiKey, secretKey } from './fake/fake-keys.ts';

const run = promisify(execFile);

it('cs, a client for Python, signs as the fake expects it, pages, and makes and removes a load balancer', async () => {
  const fake = createFakeCloudStack(systemClock());
  fake.jobMs = 100;
  for (let each = 0; each < 600; each += 1) fake.addVm(`node-${each}`);
  const served = await listen(fake);
  const given = {
    CS_ENDPOINT: `${served.url}/client/api`,
    CS_KEY: apiKey,
    CS_SECRET: secretKey,
    CS_NETWORK: fake.network.id,
  };
  const script = join(import.meta.dirname, 'clients/drive.py');
  const work = run(process.env['CLOUDSTACK_PYTHON']!, [script], {
    env: { ...process.env, ...given },
    timeout: 120_000,
  });
  const { stdout } = await work.finally(served.close);
  assert.equal(stdout, 'ok\n');
  assert.deepEqual([fake.addresses.size, fake.rules.size, fake.firewall.size], [0, 0, 0]);
});
