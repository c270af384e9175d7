import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { reportServerHarness, wholeReport } from './testing/report-server-harness.ts';

describe('connections of the report API', () => {
  const start = reportServerHarness();

  const quick = { headersTimeoutMs: 100, requestTimeoutMs: 200, checkIntervalMs: 20, idleTimeoutMs: 1_000 };

  it('closes a connection that sends headers or a body too slowly', async () => {
    const { registry, raw } = await start({ limits: quick });
    assert.match(await raw(['POST /v1/report HTTP/1.1\r\nHost: x\r\n']), /^HTTP\/1.1 408 /);
    const head =
      'POST /v1/report HTTP/1.1\r\nHost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{';
    assert.match(await raw([head]), /^HTTP\/1.1 408 [\s\S]*"RequestTooSlow"/);
    assert.match(await registry.text(), /mooring_reports_total\{outcome="RequestTooSlow"\} 2/);
  });

  it('closes a silent connection', async () => {
    const { raw } = await start({ limits: { ...quick, idleTimeoutMs: 50 } });
    assert.equal(await raw([]), '');
  });

  it('answers one request a connection', async () => {
    const { raw } = await start();
    const request = 'GET /x HTTP/1.1\r\nHost: x\r\n\r\n';
    const text = await raw([request + request]);
    assert.equal(text.match(/HTTP\/1.1 404/g)?.length, 1);
  });

  it('holds no more connections of one address than it should, and frees them', async () => {
    const { reviewer, post, dial } = await start({ limits: { maxConnectionsPerAddress: 2 } });
    const hold = () =>
      new Promise<TLSSocket>((resolve, reject) => {
        const socket = dial();
        socket.once('secureConnect', () => resolve(socket));
        socket.on('error', reject);
      });
    const held = [await hold(), await hold()];
    await assert.rejects(hold());
    for (const socket of held) {
      const gone = new Promise((resolve) => socket.once('close', resolve));
      socket.end();
      await gone;
    }
    assert.equal((await post(reviewer.issue({ node: 'a' }), wholeReport)).status, 200);
  });

  it('closes a connection of the largest group at the limit, for a client of a smaller one', async () => {
    const { dial } = await start({ limits: { maxConnections: 4, maxConnectionsPerAddress: 10 } });
    const cut: string[] = [];
    const hold = (localAddress: string, name: string) =>
      new Promise<boolean>((resolve) => {
        const socket = dial(localAddress);
        socket.once('secureConnect', () => resolve(true));
        socket.on('error', () => {});
        socket.on('close', () => {
          cut.push(name);
          resolve(false);
        });
        socket.resume();
      });
    for (const name of ['greedy 1', 'greedy 2', 'greedy 3']) assert.equal(await hold('127.0.0.2', name), true);
    assert.equal(await hold('127.0.0.3', 'third'), true);
    assert.equal(await hold('127.0.0.4', 'fourth'), true);
    assert.equal(await hold('127.0.0.5', 'fifth'), true);
    assert.deepEqual(cut, ['greedy 1', 'greedy 2']);
    assert.equal(await hold('127.0.0.6', 'sixth'), false, 'each address holds one: none is closed for it');
    assert.equal(await hold('127.0.0.2', 'greedy 4'), false);
    assert.deepEqual(cut, ['greedy 1', 'greedy 2', 'sixth', 'greedy 4']);
  });

  it('reports no internal error when the sender is gone before its request is read', async () => {
    const { reviewer, lines, post, dial } = await start();
    const head =
      'POST /v1/report HTTP/1.1\r\nhost: x\r\nauthorization: Bearer a.b.c\r\ncontent-type: application/json\r\n';
    let release = () => {};
    reviewer.hold = new Promise((resolve) => {
      release = resolve;
    });
    const socket = dial();
    socket.on('error', () => {});
    socket.write(`${head}content-length: 2\r\n\r\n{}`);
    while (reviewer.reviews === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    release();
    assert.equal((await post(reviewer.issue({ node: 'a' }), wholeReport)).status, 200);
    assert.ok(!lines.some((line) => line.includes('"level":"error"')), lines.at(-1));
  });
});
