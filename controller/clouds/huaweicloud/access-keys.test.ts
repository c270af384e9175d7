import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HttpRequest } from '../../../common/process/http.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { createAgencyKeys } from './access-keys.ts';
import { createClient } from './client.ts';

const answerOf = (status: number, body: unknown) => ({
  status,
  header: () => null,
  text: typeof body === 'string' ? body : JSON.stringify(body),
});

/** A metadata service that gives out this key, and an API that takes it. */
function setUp({ needsToken = false } = {}) {
  const clock = fakeClock();
  const service = { key: 'first', reads: 0 };
  async function metadata(_operation: string, { method, headers = {} }: Partial<HttpRequest>) {
    if (method === 'PUT') return answerOf(200, 'a-token\n');
    if (needsToken && headers['x-metadata-token'] !== 'a-token') return answerOf(401, '');
    service.reads += 1;
    const key = { access: service.key, secret: 's', securitytoken: 't' };
    const expires = new Date(clock.now() + 24 * 3_600_000).toISOString();
    return answerOf(200, { credential: { ...key, expires_at: expires } });
  }
  const keys = createAgencyKeys(metadata, clock, 'http://metadata.test');
  const client = createClient({
    clock,
    keys,
    onCall: () => {},
    region: 'cn-north-4',
    projectId: 'p',
    mutationTimeoutMs: 1000,
    http: async ({ headers }) =>
      JSON.stringify(headers).includes(`Access=${service.key},`)
        ? answerOf(200, { servers: [] })
        : answerOf(401, { error_code: 'APIGW.0301', error_msg: 'Incorrect IAM authentication information' }),
    rateLimiter: { run: (_operation, call) => call() },
    endpointOf: () => 'http://localhost',
  });
  const read = () => client.call({ service: 'ecs', path: '/v1/{project}/cloudservers/detail' });
  return { clock, service, keys, read };
}

describe('keys of an agency of Huawei Cloud', () => {
  it('reads the keys again when the API refuses one before its end', async () => {
    const { clock, service, read } = setUp();
    await read();
    service.key = 'second';
    await clock.advance(3_600_000);
    await assert.rejects(read(), { kind: 'Unauthorized' });
    await read();
    assert.equal(service.reads, 2);
  });

  it('reads the keys with a token where the metadata service requires one', async () => {
    const { keys } = setUp({ needsToken: true });
    assert.equal((await keys.get()).id, 'first');
  });
});
