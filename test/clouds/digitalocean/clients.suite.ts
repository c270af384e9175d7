import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '../../../common/process/clock.ts';
import { type ListeningFake, listen } from '../fake-http.ts';
import { type RunningPrism, startPrism } from '../start-prism.ts';
import type { FakeAccount } from './fake/fake-account.ts';
import { createFakeDigitalOcean, token } from './fake/fake-digitalocean.ts';

const { PRISM: script, DIGITALOCEAN_OPENAPI: document, DIGITALOCEAN_GO_CLIENT: program } = process.env;
const run = promisify(execFile);

describe('godo, the client of the classic controller', () => {
  let fake: FakeAccount;
  let served: ListeningFake;
  let prism: RunningPrism | undefined;

  before(async () => {
    fake = createFakeDigitalOcean(systemClock());
    fake.activeMs = 500;
    for (let each = 0; each < 60; each += 1) fake.addDroplet(`node-${each}`);
    fake.addDroplet('trainer', { isGpu: true });
    fake.certificates.set('892071a0-bb95-49bc-8021-3afd67a210bf', 'web');
    served = await listen(fake);
    if (script && document) prism = await startPrism(script, document, served.url);
  });
  after(async () => {
    await prism?.close();
    await served.close();
  });

  async function drive(url: string): Promise<void> {
    assert.ok(program);
    const env = { ...process.env, DIGITALOCEAN_URL: `${url}/`, DIGITALOCEAN_TOKEN: token };
    const { stdout } = await run(program, [], { env, timeout: 120_000 });
    assert.equal(stdout, 'ok\n');
  }

  it('reads droplets and changes load balancers of the fake', () => drive(served.url));

  it('finds them as the OpenAPI document has them', { skip: script === undefined }, async () => {
    assert.ok(prism);
    await drive(prism.url);
    assert.deepEqual(prism.violations(), []);
  });
});
