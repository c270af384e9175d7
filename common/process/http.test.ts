import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { systemClock } from './clock.ts';
import { createHttp, HttpFailure, type HttpRequest } from './http.ts';

/** Serves one listener for as long as `body` runs. */
async function serving(
  listener: RequestListener,
  body: (url: string, http: ReturnType<typeof createHttp>['http']) => Promise<void>,
): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { http, close } = createHttp({ clock: systemClock() });
  try {
    await body(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, http);
  } finally {
    close();
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}

async function failureOf(work: Promise<unknown>): Promise<HttpFailure> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof HttpFailure, String(error));
    return error;
  }
  throw new Error('it did not fail');
}

const request = (url: string, more: Partial<HttpRequest> = {}): HttpRequest => ({ url, timeoutMs: 2000, ...more });

describe('an HTTP exchange', () => {
  it('answers any status, and a redirect as it is', async () => {
    await serving(
      (_, response) => response.writeHead(307, { location: 'http://127.0.0.2/' }).end('elsewhere'),
      async (url, http) => {
        const answer = await http(request(url));
        assert.equal(answer.status, 307);
        assert.equal(answer.header('Location'), 'http://127.0.0.2/');
        assert.equal(answer.text, 'elsewhere');
      },
    );
  });

  it('fails as a timeout when no answer comes, and when an answer never ends', async () => {
    await serving(
      (incoming, response) => {
        if (incoming.url === '/begun') response.write('half');
      },
      async (url, http) => {
        for (const path of ['/silent', '/begun']) {
          assert.equal((await failureOf(http(request(url + path, { timeoutMs: 50 })))).kind, 'timeout');
        }
      },
    );
  });

  it('fails on an answer that is too long, and on one that is cut off', async () => {
    await serving(
      (incoming, response) => {
        if (incoming.url === '/long') response.end('x'.repeat(2000));
        else {
          response.writeHead(200, { 'content-length': '100' });
          response.write('half');
          setImmediate(() => response.destroy());
        }
      },
      async (url, http) => {
        assert.equal((await failureOf(http(request(`${url}/long`, { maxBytes: 1000 })))).kind, 'too-large');
        assert.equal((await failureOf(http(request(`${url}/cut`)))).kind, 'unreachable');
      },
    );
  });

  it('unpacks an answer that the server compressed, up to the maximal length', async () => {
    const text = JSON.stringify({ items: Array.from({ length: 200 }, () => 'zürich') });
    await serving(
      (incoming, response) => {
        assert.equal(incoming.headers['accept-encoding'], 'gzip');
        response.writeHead(200, { 'content-encoding': 'gzip' });
        response.end(incoming.url === '/broken' ? 'no gzip' : gzipSync(text));
      },
      async (url, http) => {
        assert.equal((await http(request(url))).text, text);
        assert.equal((await failureOf(http(request(url, { maxBytes: 1000 })))).kind, 'too-large');
        assert.equal((await failureOf(http(request(`${url}/broken`)))).kind, 'unreachable');
      },
    );
  });

  it('sends a body with its length, and an empty one where a method has a body by nature', async () => {
    await serving(
      (incoming, response) => {
        const { 'content-length': length, 'transfer-encoding': encoding } = incoming.headers;
        incoming.setEncoding('utf8');
        let body = '';
        incoming.on('data', (part) => {
          body += part;
        });
        incoming.on('end', () => response.end(JSON.stringify({ length, encoding, body })));
      },
      async (url, http) => {
        const told = async (more: Partial<HttpRequest>) => JSON.parse((await http(request(url, more))).text);
        assert.deepEqual(await told({ method: 'POST', body: '{"é":1}' }), { length: '8', body: '{"é":1}' });
        assert.deepEqual(await told({ method: 'DELETE', body: '{}' }), { length: '2', body: '{}' });
        assert.deepEqual(await told({ method: 'PUT' }), { length: '0', body: '' });
        assert.deepEqual(await told({ method: 'DELETE' }), { body: '' });
      },
    );
  });

  it('uses a kept connection again', async () => {
    const ports = new Set<number | undefined>();
    const server = createServer((incoming, response) => {
      ports.add(incoming.socket.remotePort);
      response.end('x');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { http, close } = createHttp({ clock: systemClock(), plain: { keepAlive: true } });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (let at = 0; at < 3; at += 1) assert.equal((await http(request(url))).text, 'x');
    assert.equal(ports.size, 1);
    close();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });

  it('ends at once when its signal has aborted or aborts', async () => {
    await serving(
      () => {},
      async (url, http) => {
        const before = await failureOf(http(request(url, { method: 'POST', body: '{}', signal: AbortSignal.abort() })));
        assert.equal(before.kind, 'aborted');
        const giveUp = new AbortController();
        const during = failureOf(http(request(url, { method: 'POST', body: '{}', signal: giveUp.signal })));
        setImmediate(() => giveUp.abort());
        assert.equal((await during).kind, 'aborted');
      },
    );
  });

  for (const [what, url] of [
    ['queries', 'http://127.0.0.1:1/path?signature=secret'],
    ['passwords', 'http://user:secret@127.0.0.1:1/path'],
  ] as const) {
    it(`keeps ${what} out of messages`, async () => {
      const { http, close } = createHttp({ clock: systemClock() });
      const failure = await failureOf(http(request(url)));
      close();
      assert.equal(failure.kind, 'unreachable');
      assert.doesNotMatch(failure.message, /secret/);
    });
  }
});
