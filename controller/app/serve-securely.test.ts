import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { createMetricRegistry } from '../../common/process/metrics.ts';
import { type SecureParts, serveSecurely } from './serve-securely.ts';

const parts: SecureParts = {
  api: { call: () => Promise.reject(new Error('not asked')), watch: async () => {} },
  clock: systemClock(),
  log: silentLog,
  live: [],
  ready: [],
  registry: createMetricRegistry(),
  configz: () => ({}),
  reports: () => ({ lines: [] }),
};

test('a port that is taken is an error that names the flag', async (context) => {
  const other = createServer().listen(0, '127.0.0.1');
  context.after(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await assert.rejects(serveSecurely({ host: '127.0.0.1', port, files: undefined }, parts), (error: Error) => {
    assert.match(error.message, /^--secure-port: .*EADDRINUSE.*give another with --secure-port$/);
    assert.ok(error.message.includes(`port ${port} of --bind-address 127.0.0.1`), error.message);
    return true;
  });
});
