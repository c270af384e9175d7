import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { startFakeMetadata } from '../testing/fake-metadata.ts';
import { never } from '../testing/source-suite.ts';
import { imdsTokens } from './aws-session.ts';
import { createMetadataHttp } from './client.ts';
import { createTokenSession, type TokenScheme } from './token-session.ts';

function sessionOf(endpoints: readonly string[], scheme: TokenScheme = imdsTokens) {
  const clock = systemClock();
  return createTokenSession(scheme, { http: createMetadataHttp(clock), clock, log: silentLog, endpoints });
}

/** An address that refuses connections. */
async function deadUrl(): Promise<string> {
  const service = await startFakeMetadata(() => undefined);
  await service.close();
  return service.url;
}

test('the second endpoint is asked when the first cannot be reached, and kept', async (context) => {
  const dead = await deadUrl();
  const service = await startFakeMetadata(({ method }) => (method === 'PUT' ? 'token' : 'text'));
  context.after(() => service.close());
  const session = sessionOf([dead, service.url]);
  assert.equal(await session.get('/latest/meta-data/a', never), 'text');
  assert.equal(await session.get('/latest/meta-data/b', never), 'text');
  assert.deepEqual(
    service.requests.map(({ method, path }) => `${method} ${path}`),
    ['PUT /latest/api/token', 'GET /latest/meta-data/a', 'GET /latest/meta-data/b'],
  );
});

test('a refusal is an answer: no other endpoint is tried', async (context) => {
  const refusing = await startFakeMetadata(() => ({ status: 403 }));
  const other = await startFakeMetadata(() => 'token');
  context.after(() => Promise.all([refusing.close(), other.close()]));
  const error = await failureOf(sessionOf([refusing.url, other.url]).get('/x', never));
  assert.equal(error.kind, 'Forbidden');
  assert.equal(other.requests.length, 0);
});

test('names every endpoint in the error when none can be reached', async () => {
  const [first, second] = [await deadUrl(), await deadUrl()];
  const error = await failureOf(sessionOf([first, second]).get('/x', never));
  assert.equal(error.kind, 'Unavailable');
  assert.ok(error.message.includes(first) && error.message.includes(second), error.message);
});

test('a token that is invalid in a header is refused', async (context) => {
  for (const token of ['', 'two words', 'tökén']) {
    const service = await startFakeMetadata(() => token);
    context.after(() => service.close());
    const error = await failureOf(sessionOf([service.url]).get('/x', never));
    assert.equal(error.kind, 'Invalid');
    assert.match(error.message, /token is malformed/);
  }
});

test('optional tokens are used only where the service requires one', async (context) => {
  let wants = false;
  const service = await startFakeMetadata(({ method, headers }) => {
    if (method === 'PUT') return wants ? 'token' : undefined;
    return wants && headers['x-aws-ec2-metadata-token'] !== 'token' ? { status: 403 } : 'text';
  });
  context.after(() => service.close());
  const session = sessionOf([service.url], { ...imdsTokens, optional: true });
  assert.equal(await session.get('/a', never), 'text');
  wants = true;
  assert.equal(await session.get('/a', never), 'text');
  assert.equal(service.requests.filter(({ method }) => method === 'PUT').length, 2);
});
