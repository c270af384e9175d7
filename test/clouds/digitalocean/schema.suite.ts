import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createHttp } from '../../../common/process/http.ts';
import { listen } from '../fake-http.ts';
import { startPrism } from '../start-prism.ts';
import { cloudSuite } from '../suite/cloud-suite.ts';
import { hurriedClock } from '../suite/hurried-clock.ts';
import { digitalOceanCapabilities, digitalOceanWorld } from './digitalocean-world.ts';
import { createFakeDigitalOcean, token } from './fake/fake-digitalocean.ts';

/**
 * The conformance suite through Prism: what Mooring sends and what the fake answers are as the vendor's document has
 * them.
 */
const { PRISM: script, DIGITALOCEAN_OPENAPI: document } = process.env;
assert.ok(script && document, 'run by test/clouds/digitalocean/run.ts');
const clock = hurriedClock();
const fake = createFakeDigitalOcean(clock);
fake.activeMs = 50;
const served = await listen(fake);
const prism = await startPrism(script, document, served.url);
const { http, close } = createHttp({ clock, plain: { keepAlive: true, maxSockets: 16 } });

cloudSuite({
  name: 'digitalocean, on a fake one behind Prism',
  capabilities: { ...digitalOceanCapabilities, enumerateFaults: false },
  open: async () =>
    digitalOceanWorld({
      served: {
        clock,
        fake,
        http,
        endpoint: prism.url,
        during: (work) => work,
        pass: clock.pass,
      },
      env: { DO_API_RATE_LIMIT_QPS: '999' },
    }),
});

describe('what went through Prism', () => {
  after(async () => {
    close();
    await prism.close();
    await served.close();
  });
  it('passes every call through the OpenAPI document of DigitalOcean without a violation', () => {
    assert.ok(fake.calls.length > 50, `${fake.calls.length} calls`);
    assert.deepEqual(prism.violations(), []);
  });

  it('refuses an answer in which a field of a droplet is missing', async () => {
    fake.fault = () => ({ status: 200, body: { droplet: { id: 1 } } });
    const headers = { authorization: `Bearer ${token}` };
    const { status } = await http({ url: `${prism.url}/v2/droplets/1`, headers, timeoutMs: 10_000 });
    assert.equal(status, 500);
  });
});
