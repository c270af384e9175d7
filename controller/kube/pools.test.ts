import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { describe, it } from 'node:test';
import { startTestProxy } from '../../common/testing/test-proxy.ts';
import { createPools, type Pool } from './pools.ts';
import { clientHarness } from './testing/client-harness.ts';
import { fixedConnection } from './testing/fixed-connection.ts';

/** The established connections to this port of loopback that have a timer of the kernel for keep-alive, and all. */
async function connectionsTo(port: number): Promise<{ readonly alive: number; readonly all: number }> {
  const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((row) => row.trim().split(/\s+/));
  const ours = rows.filter(([, , to, state]) => to === remote && state === '01');
  return { alive: ours.filter(([, , , , , timer]) => timer?.startsWith('02:')).length, all: ours.length };
}

describe('the pools of connections to the API server', () => {
  const harness = clientHarness();

  for (const through of ['a proxy', 'no proxy']) {
    const skip = process.platform !== 'linux' && 'the kernel shows its timers in /proc on Linux alone';
    it(`keeps the connection of a quiet watch through ${through} alive`, { skip }, async () => {
      const { port } = new URL(harness.server.url);
      const proxy = await startTestProxy(() => Number(port));
      const giveUp = new AbortController();
      try {
        harness.handle = (_, response) => response.writeHead(200).flushHeaders();
        const tls = { ca: harness.server.caPem, servername: 'kubernetes.default.svc' };
        const config = fixedConnection({
          server: harness.server.url,
          tls,
          ...(through === 'a proxy' && { proxy: proxy.url }),
        });
        const before = harness.server.requests.length;
        const watch = { path: '/api/v1/nodes', query: {}, signal: giveUp.signal, onEvent() {} };
        const watching = harness.client({ config }).watch(watch);
        watching.catch(() => {});
        await harness.server.seen(before + 1);
        const to = Number(through === 'a proxy' ? new URL(proxy.url).port : port);
        // Until the last bytes are acknowledged the kernel shows the timer for sending them again.
        for (let tries = 0; ; tries += 1) {
          const { alive, all } = await connectionsTo(to);
          if (alive >= 1 && alive === all) break;
          assert.ok(tries < 200, `${alive} of ${all} connections are kept alive`);
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        giveUp.abort();
        await assert.rejects(watching);
      } finally {
        proxy.close();
      }
    });
  }

  it('drops the connections of earlier TLS material once they are unused', async () => {
    const pools = createPools(true, undefined);
    const destroyed: string[] = [];
    const noted = (name: string, pool: Pool) => {
      const destroy = pool.calls.destroy.bind(pool.calls);
      pool.calls.destroy = () => {
        destroyed.push(name);
        destroy();
      };
      return pool;
    };
    harness.handle = () => {};
    noted('unused', pools.of({}));
    const before = harness.server.requests.length;
    const busy = noted('busy', pools.of({ ca: harness.server.caPem }));
    const sent = request(harness.server.url, { agent: busy.calls });
    sent.on('error', () => {});
    sent.end();
    await harness.server.seen(before + 1);
    noted('third', pools.of({}));
    noted('current', pools.of({}));
    pools.close();
    assert.deepEqual(destroyed, ['busy', 'current']);
  });
});
