import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { clientHarness, failure } from './testing/client-harness.ts';
import { answerJson, statusObject } from './testing/test-server.ts';

describe('the errors of the client of the Kubernetes API', () => {
  const harness = clientHarness();

  it('turns a Status into an error with its reason', async () => {
    const message = 'Operation cannot be fulfilled on nodes "n1": the object has been modified';
    harness.handle = (_, response) => answerJson(response, 409, statusObject(409, 'Conflict', message));
    const error = await failure(harness.client().call({ verb: 'patch', path: '/api/v1/nodes/n1', body: {} }));
    assert.equal(error.status, 409);
    assert.equal(error.reason, 'Conflict');
    assert.ok(error.message.includes(message) && error.message.includes('PATCH /api/v1/nodes/n1'));
    assert.equal(error.retryAfterMs, undefined);
  });

  it('reads Retry-After from a 429 of plain text, in seconds or as a date, and never repeats the call', async () => {
    harness.handle = (_, response) => {
      response.writeHead(429, { 'content-type': 'text/plain', 'retry-after': '7' });
      response.end('Too many requests, please try again later.\n');
    };
    const before = harness.server.requests.length;
    const error = await failure(harness.client().call({ verb: 'get', path: '/api/v1/nodes' }));
    assert.deepEqual([error.status, error.reason, error.retryAfterMs], [429, 'TooManyRequests', 7_000]);
    assert.ok(error.message.includes('Too many requests, please try again later.'));
    assert.equal(harness.server.requests.length - before, 1);

    const clock = fakeClock(Date.parse('2026-01-01T00:00:00Z'));
    harness.handle = (_, response) => {
      response.writeHead(503, { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' });
      response.end('<html>backend fetch failed</html>');
    };
    const late = await failure(harness.client({ clock }).call({ verb: 'get', path: '/api/v1/nodes' }));
    assert.deepEqual([late.status, late.reason, late.retryAfterMs], [503, 'ServiceUnavailable', 30_000]);
  });

  it('waits no longer than a minute, whatever a proxy asks for', async () => {
    harness.handle = (_, response) => {
      response.writeHead(503, { 'retry-after': '3600' });
      response.end();
    };
    const asked = await failure(harness.client().call({ verb: 'get', path: '/api/v1/nodes' }));
    const status = statusObject(429, 'TooManyRequests', 'busy', { retryAfterSeconds: 3600 });
    harness.handle = (_, response) => answerJson(response, 429, status);
    const told = await failure(harness.client().call({ verb: 'get', path: '/api/v1/nodes' }));
    assert.deepEqual([asked.retryAfterMs, told.retryAfterMs], [60_000, 60_000]);
  });

  it('hints at the manifests where the account of the controller lacks a permission', async () => {
    const denied = (account: string) =>
      `leases "x" is forbidden: User "system:serviceaccount:kube-system:${account}" cannot get resource "leases"`;
    const asked = async (message: string) => {
      harness.handle = (_, response) => answerJson(response, 403, statusObject(403, 'Forbidden', message));
      return (await failure(harness.client().call({ verb: 'get', path: '/x' }))).message;
    };
    assert.match(await asked(denied('mooring-controller')), /cannot get resource "leases"; apply the manifests/);
    assert.doesNotMatch(await asked(denied('another-account')), /manifests/);
  });

  it('reads retryAfterSeconds where there is no header', async () => {
    const status = statusObject(504, 'Timeout', 'Too large resource version', { retryAfterSeconds: 1 });
    harness.handle = (_, response) => answerJson(response, 504, status);
    const error = await failure(harness.client().call({ verb: 'list', path: '/api/v1/nodes' }));
    assert.deepEqual([error.status, error.reason, error.retryAfterMs], [504, 'Timeout', 1_000]);
  });

  it('reports an answer that is not JSON, broken or cut', async () => {
    harness.handle = (_, response) => response.end('<html>login</html>');
    assert.equal((await failure(harness.client().call({ verb: 'get', path: '/x' }))).reason, 'Unreadable');
    harness.handle = (_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end('not gzip');
    };
    assert.equal((await failure(harness.client().call({ verb: 'get', path: '/x' }))).reason, 'Unreachable');
    harness.handle = (_, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"half":');
      setImmediate(() => response.destroy());
    };
    const cut = await failure(harness.client().call({ verb: 'get', path: '/x' }));
    assert.deepEqual([cut.status, cut.reason], [0, 'Unreachable']);
  });

  it('never follows a redirect with its token', async () => {
    harness.handle = (_, response) => {
      response.writeHead(302, { location: `${harness.server.url}/elsewhere` });
      response.end();
    };
    const before = harness.server.requests.length;
    assert.equal((await failure(harness.client().call({ verb: 'get', path: '/x' }))).status, 302);
    assert.equal(harness.server.requests.length, before + 1);
  });

  it('names neither token nor query in errors', async () => {
    harness.handle = (_, response) => response.destroy();
    const error = await failure(harness.client().call({ verb: 'get', path: '/x', query: { continue: 'opaque' } }));
    assert.ok(!error.message.includes('secret-token') && !error.message.includes('opaque'));
  });
});
