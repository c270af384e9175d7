import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createSilentServer } from 'node:net';
import { describe, it } from 'node:test';
import { testCa } from '../testing/certificates.ts';
import { fakeClock } from '../testing/fake-clock.ts';
import { systemClock } from './clock.ts';
import { createHttp } from './http.ts';
import { connectPinned } from './pinned-tls.ts';

describe('a pinned certificate', () => {
  it('trusts a pinned certificate alone, and sends nothing of a request to a server with another one', async () => {
    const ca = await testCa();
    const { certPem, keyPem } = await ca.issue({ dnsNames: ['elsewhere'] });
    const { certPem: validPem, keyPem: validKey } = await ca.issue({ ips: ['127.0.0.1'] });
    const bodies: string[] = [];
    const serve = async (cert: string, key: string) => {
      const server = createServer({ cert, key }, (request, response) => {
        request.on('data', (chunk) => bodies.push(String(chunk)));
        request.on('end', () => response.end('ok'));
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    };
    const [odd, valid] = [await serve(certPem, keyPem), await serve(validPem, validKey)];
    const ask = async (server: typeof odd, thumbprint: string, ca?: string) => {
      const tls = { keepAlive: true, ...(ca === undefined ? {} : { ca }) };
      const { http, close } = createHttp({ clock: systemClock(), tls, thumbprint });
      const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      try {
        const answers = await Promise.all(
          [1, 2, 3].map(() => http({ url, method: 'POST', body: 'secret', timeoutMs: 5000 })),
        );
        return answers.map(({ text }) => text).join();
      } catch (error) {
        return String(error);
      } finally {
        close();
      }
    };
    const { fingerprint, fingerprint256 } = new X509Certificate(certPem);
    for (const pin of [fingerprint, fingerprint256]) assert.equal(await ask(odd, pin.replaceAll(':', '')), 'ok,ok,ok');
    assert.equal(bodies.length, 6);
    assert.match(await ask(odd, '00'.repeat(20)), new RegExp(`thumbprint ${fingerprint}`));
    assert.match(await ask(odd, '00'.repeat(20), ca.caPem), /thumbprint/);
    assert.equal(bodies.length, 6);
    assert.equal(await ask(valid, '00'.repeat(20), ca.caPem), 'ok,ok,ok');
    for (const server of [odd, valid]) server.closeAllConnections();
    for (const server of [odd, valid]) await new Promise((resolve) => server.close(resolve));
  });

  it('gives up a TLS handshake after 30 s', async () => {
    const server = createSilentServer((socket) => socket.on('error', () => {}).resume());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const clock = fakeClock();
    const failure = new Promise<Error | null>((resolve) => {
      connectPinned('00'.repeat(20), clock).call({} as never, { host: '127.0.0.1', port }, resolve);
    });
    await clock.advance(30_000);
    assert.match(String(await failure), /no TLS handshake within 30 s/);
    assert.equal(clock.pending, 0);
    await new Promise((resolve) => server.close(resolve));
  });
});
