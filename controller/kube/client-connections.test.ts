import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { testCa } from '../../common/testing/certificates.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { createKubeClient } from './client.ts';
import { maxCallSockets } from './pools.ts';
import { clientHarness, failure } from './testing/client-harness.ts';
import { fixedConnection } from './testing/fixed-connection.ts';
import { answerJson, startTestServer } from './testing/test-server.ts';

describe('the connections of the client', () => {
  const harness = clientHarness();

  it('makes 500 calls one after another over one connection', async () => {
    harness.handle = (_, response) => answerJson(response, 200, { kind: 'Node' });
    const api = harness.client();
    const before = harness.server.connections;
    for (let i = 0; i < 500; i += 1) await api.call({ verb: 'get', path: `/api/v1/nodes/n${i}` });
    assert.equal(harness.server.connections - before, 1);
  });

  it('makes 500 calls at once over at most 32 connections', async () => {
    const own = await startTestServer((_, response) => setImmediate(() => answerJson(response, 200, {})), {
      testCa: harness.ca,
    });
    const api = harness.client({ config: fixedConnection({ server: own.url, tls: { ca: own.caPem } }) });
    await Promise.all(Array.from({ length: 500 }, (_, i) => api.call({ verb: 'get', path: `/api/v1/nodes/n${i}` })));
    assert.ok(own.mostOpen <= 32, `${own.mostOpen} connections`);
    assert.equal(own.requests.length, 500);
    await own.close();
  });

  it('counts the wait for a free connection towards the deadline', async () => {
    const clock = fakeClock();
    const own = await startTestServer(() => {}, { testCa: harness.ca });
    const api = harness.client({ clock, config: fixedConnection({ server: own.url, tls: { ca: own.caPem } }) });
    const call = (timeoutMs: number) => failure(api.call({ verb: 'get', path: '/api/v1/nodes', timeoutMs }));
    const sent = Array.from({ length: maxCallSockets }, () => call(2_000));
    await own.seen(maxCallSockets);
    const queued = [call(1_000), call(1_000)];
    await clock.advance(1_000);
    for (const error of await Promise.all(queued)) assert.equal(error.reason, 'Timeout');
    assert.equal(own.requests.length, maxCallSockets);
    await clock.advance(1_000);
    await Promise.all(sent);
    assert.equal(own.requests.length, maxCallSockets);
    await own.close();
  });

  it('sends an urgent call before waiting ones', async () => {
    const own = await startTestServer(
      (request, response) => {
        if (request.path === '/urgent') answerJson(response, 200, {});
      },
      { testCa: harness.ca },
    );
    const { api, close } = createKubeClient({
      config: fixedConnection({ server: own.url, tls: { ca: own.caPem } }),
      clock: systemClock(),
      log: silentLog,
    });
    const stuck = Array.from({ length: 40 }, () => failure(api.call({ verb: 'get', path: '/stuck' })));
    await own.seen(maxCallSockets);
    await api.call({ verb: 'update', path: '/urgent', body: {}, urgent: true });
    assert.equal(own.mostOpen, 32);
    close();
    await own.close();
    await Promise.all(stuck);
  });

  it('gives up at the deadline, whether nothing or half an answer came', async () => {
    const clock = fakeClock();
    for (const start of [() => {}, (response: { write(text: string): void }) => response.write('{"half":')]) {
      harness.handle = (_, response) => start(response);
      const before = harness.server.requests.length;
      const pending = failure(
        harness.client({ clock }).call({ verb: 'patch', path: '/api/v1/nodes/a', body: {}, timeoutMs: 4_999.6 }),
      );
      await harness.server.seen(before + 1);
      let over = false;
      void pending.then(() => {
        over = true;
      });
      await clock.advance(4_999);
      assert.equal(over, false);
      await clock.advance(1);
      const error = await pending;
      assert.deepEqual([error.status, error.reason], [0, 'Timeout']);
      assert.match(error.message, /PATCH \/api\/v1\/nodes\/a: no answer within 5000 ms/);
    }
    assert.equal(clock.pending, 0);
  });

  it('gives up when the caller does', async () => {
    harness.handle = () => {};
    const giveUp = new AbortController();
    const before = harness.server.requests.length;
    const pending = failure(harness.client().call({ verb: 'get', path: '/x', signal: giveUp.signal }));
    await harness.server.seen(before + 1);
    giveUp.abort(new Error('shutting down'));
    assert.equal((await pending).reason, 'Aborted');
    assert.equal(
      (await failure(harness.client().call({ verb: 'get', path: '/x', signal: giveUp.signal }))).reason,
      'Aborted',
    );
    assert.equal(harness.server.requests.length, before + 1);
  });

  it('refuses a server that the CA does not know, or that has another name', async () => {
    const stranger = await testCa('stranger');
    const other = harness.client({
      config: fixedConnection({ server: harness.server.url, tls: { ca: stranger.caPem } }),
    });
    assert.equal((await failure(other.call({ verb: 'get', path: '/x' }))).reason, 'Unreachable');
    const tls = { ca: harness.server.caPem, servername: 'elsewhere.example.com' };
    const misnamed = harness.client({ config: fixedConnection({ server: harness.server.url, tls }) });
    assert.match((await failure(misnamed.call({ verb: 'get', path: '/x' }))).message, /elsewhere.example.com/);
    const named = harness.client({
      config: fixedConnection({ server: harness.server.url, tls: { ...tls, servername: 'kubernetes.default.svc' } }),
    });
    harness.handle = (_, response) => answerJson(response, 200, {});
    await named.call({ verb: 'get', path: '/x' });
  });
});
