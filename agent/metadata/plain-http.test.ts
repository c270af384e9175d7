import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import type { Http, HttpFailure } from '../../common/process/http.ts';
import { startFakeMetadata } from '../testing/fake-metadata.ts';
import { withPlainHttp } from './plain-http.ts';

const clock = systemClock();
const other: Http = async ({ url }) => ({ status: 299, header: () => null, text: url });

test('path, query, headers and method arrive as they were given, and the answer as it was sent', async (context) => {
  const service = await startFakeMetadata(() => ({ status: 410, headers: { ETag: 'x' }, body: 'gone' }));
  context.after(() => service.close());
  const http = withPlainHttp(other, clock);
  const headers = { 'metadata-flavor': 'Google' };
  const url = `${service.url}/a%20b/?recursive=true&last=1%202`;
  const answer = await http({ method: 'PUT', url, headers, timeoutMs: 2000 });
  assert.deepEqual([answer.status, answer.header('etag'), answer.header('x'), answer.text], [410, 'x', null, 'gone']);
  const [seen] = service.requests;
  assert.equal(`${seen?.method} ${seen?.path}`, 'PUT /a%20b/?recursive=true&last=1%202');
  assert.equal(seen?.headers['metadata-flavor'], 'Google');
  assert.equal(seen?.headers['host'], new URL(service.url).host);
});

test('https is left to the given Http', async () => {
  const answer = await withPlainHttp(other, clock)({ url: 'https://seeds.example/meta-data', timeoutMs: 1 });
  assert.equal(answer.text, 'https://seeds.example/meta-data');
});

test('a request that was given up before it began sends nothing', async (context) => {
  const service = await startFakeMetadata(() => 'text');
  context.after(() => service.close());
  const given = withPlainHttp(other, clock)({ url: service.url, timeoutMs: 2000, signal: AbortSignal.abort() });
  await assert.rejects(given, (error: HttpFailure) => error.kind === 'aborted');
  assert.equal(service.requests.length, 0);
});
