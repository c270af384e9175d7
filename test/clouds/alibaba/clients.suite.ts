import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '../../../common/process/clock.ts';
import { listen } from '../fake-http.ts';
import { accessKey, createFakeAlibaba } from './fake/fake-alibaba.ts';

const run = promisify(execFile);

describe("the vendor's clients for Python", () => {
  for (const [title, signature, algorithm] of [
    ['with signatures of today', '', 'ACS3-HMAC-SHA256'],
    ['with signatures of the former generation', 'v2', 'HMAC-SHA1'],
  ] as const)
    it(`the vendor's clients read and change all kinds of resources of the fake ${title}`, async () => {
      const fake = createFakeAlibaba(systemClock());
      for (let each = 0; each < 150; each += 1) fake.addInstance(`node-${each}`, { eip: each === 3 ? '8.8.4.4' : '' });
      const first = fake.addPod();
      const pods = [first, fake.addPod(first.interfaceId), ...Array.from({ length: 10 }, () => fake.addPod())];
      const ALIBABA_PODS = JSON.stringify(Object.fromEntries(pods.map((one) => [one.address, one.interfaceId])));
      const served = await listen(fake);
      const key = { ALIBABA_KEY_ID: accessKey.id, ALIBABA_KEY_SECRET: accessKey.secret, ALIBABA_SIGNATURE: signature };
      const env = { ...process.env, ...key, ALIBABA_URL: served.url, ALIBABA_VPC: fake.vpc, ALIBABA_PODS };
      const work = run(process.env['ALIBABA_PYTHON']!, [join(import.meta.dirname, 'clients/drive.py')], {
        env,
        timeout: 120_000,
      });
      const { stdout } = await work.finally(served.close);
      assert.equal(stdout, 'ok\n');
      assert.equal(fake.balancers.size + fake.networks.size + fake.networkGroups.size, 0);
      assert.deepEqual([...fake.algorithms], [algorithm]);
    });
});
