import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '../../../common/process/clock.ts';
import { type ListeningFake, listen } from '../fake-http.ts';
import { type RunningPrism, startPrism } from '../start-prism.ts';
import { createFakeHetzner, token } from './fake-hetzner.ts';
import type { FakeHetzner } from './fake-project.ts';

/** Each drives the fake by itself and, where Prism is there, through it. */
const clients = [
  { name: 'hcloud, the client for Python', command: process.env['HETZNER_PYTHON'], args: ['clients/drive.py'] },
  { name: 'hcloud-go, the client of the classic controller', command: process.env['HETZNER_GO_CLIENT'], args: [] },
];
const { PRISM: script, HETZNER_OPENAPI: document } = process.env;
const run = promisify(execFile);

for (const { name, command, args } of clients) {
  describe(name, { skip: command === undefined }, () => {
    let fake: FakeHetzner;
    let served: ListeningFake;
    let prism: RunningPrism | undefined;

    before(async () => {
      fake = createFakeHetzner(systemClock());
      served = await listen(fake);
      if (script && document) prism = await startPrism(script, document, `${served.url}/v1`);
    });
    beforeEach(() => {
      for (const all of [fake.servers, fake.networks, fake.balancers]) all.clear();
      const network = fake.addNetwork('k8s');
      for (let each = 0; each < 60; each += 1) fake.addServer(`node-${each}`, { network: network.id });
      for (const server of fake.servers.values()) if (server.name === 'node-3') server.labels = { pool: 'blue' };
    });
    after(async () => {
      await prism?.close();
      await served.close();
    });

    async function drive(url: string): Promise<void> {
      const env = { ...process.env, HETZNER_URL: url, HETZNER_TOKEN: token };
      const paths = args.map((arg) => join(import.meta.dirname, arg));
      const { stdout } = await run(command!, paths, { env, timeout: 120_000 });
      assert.equal(stdout, 'ok\n');
    }

    it('reads and changes servers, routes, load balancers and certificates of the fake', () =>
      drive(`${served.url}/v1`));

    it('finds the shapes of the OpenAPI document', { skip: script === undefined }, async () => {
      assert.ok(prism);
      await drive(prism.url);
      assert.deepEqual(prism.violations(), []);
    });
  });
}
