import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createHttp } from '../../../common/process/http.ts';
import { listen } from '../fake-http.ts';
import { startPrism } from '../start-prism.ts';
import { cloudSuite } from '../suite/cloud-suite.ts';
import { hurriedClock } from '../suite/hurried-clock.ts';
import { createFakeHetzner } from './fake-hetzner.ts';
import { hetznerCapabilities, hetznerWorld } from './hetzner-world.ts';

/**
 * The conformance suite through Prism: what Mooring sends and what the fake answers are as the vendor's document has
 * them.
 */
const { PRISM: script, HETZNER_OPENAPI: document } = process.env;
assert.ok(script && document, 'run by test/clouds/hetzner/run.ts');
const clock = hurriedClock();
const fake = createFakeHetzner(clock);
fake.actions.durationMs = 50;
const served = await listen(fake);
const prism = await startPrism(script, document, `${served.url}/v1`);
const { http, close } = createHttp({ clock, plain: { keepAlive: true, maxSockets: 16 } });

cloudSuite({
  name: 'hetzner, on a fake one behind Prism',
  capabilities: { ...hetznerCapabilities, enumerateFaults: false },
  open: async () =>
    hetznerWorld({
      served: {
        clock,
        fake,
        http,
        endpoint: prism.url,
        during: (work) => work,
        pass: clock.pass,
      },
    }),
});

describe('the traffic through Prism', () => {
  after(async () => {
    close();
    await prism.close();
    await served.close();
  });
  it('matches the OpenAPI document of Hetzner Cloud', () => {
    assert.ok(fake.calls.length > 50, `${fake.calls.length} calls`);
    assert.deepEqual(prism.violations(), []);
  });
});
