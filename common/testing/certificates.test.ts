import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { testCa } from './certificates.ts';

test('a server with an issued certificate is trusted by its own authority alone', async (context) => {
  const ca = await testCa();
  const stranger = await testCa();
  const { certPem, keyPem } = await ca.issue({ dnsNames: ['a.example.internal'], ips: ['127.0.0.1'] });
  const server = createServer({ cert: certPem, key: keyPem }, (_, response) => response.end('hello'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  const { port } = server.address() as AddressInfo;

  async function get(caPem: string, servername?: string): Promise<number | string> {
    return new Promise((resolve) => {
      const sent = request({ host: '127.0.0.1', port, ca: caPem, agent: false, ...(servername ? { servername } : {}) });
      sent.on('response', (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      sent.end();
    });
  }
  assert.equal(await get(ca.caPem), 200);
  assert.equal(await get(ca.caPem, 'a.example.internal'), 200);
  assert.equal(await get(ca.caPem, 'b.example.internal'), 'ERR_TLS_CERT_ALTNAME_INVALID');
  assert.notEqual(await get(stranger.caPem), 200);
});
