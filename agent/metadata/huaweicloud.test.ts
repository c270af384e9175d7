import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { type FakeAnswer, type SeenRequest, treeAnswer } from '../testing/fake-metadata.ts';
import { hurried, never, openBeside } from '../testing/source-suite.ts';
import { huaweicloud } from './huaweicloud.ts';

const fixture = (name: string) => readFile(new URL(`fixtures/huaweicloud/${name}.json`, import.meta.url), 'utf8');
const tree = {
  '/openstack/latest/meta_data.json': await fixture('meta_data'),
  '/openstack/latest/network_data.json': await fixture('network_data'),
  '/latest/meta-data/instance-type': 's6.large.2',
  '/latest/meta-data/local-ipv4': '192.168.0.12',
};
const tokenPath = '/meta-data/latest/api/token';

/** A service that requires tokens, each valid as long as `valid` returns true. */
function hardened(valid: (token: string) => boolean = () => true, status = 401) {
  let issued = 0;
  return (request: SeenRequest): FakeAnswer => {
    if (request.path === tokenPath) {
      const ttl = Number(request.headers['x-metadata-token-ttl-seconds']);
      if (request.method !== 'PUT' || !(ttl >= 60 && ttl <= 21_600)) return { status: 400 };
      issued += 1;
      return `token-${issued}`;
    }
    const token = String(request.headers['x-metadata-token'] ?? '');
    return token !== '' && valid(token) ? treeAnswer(tree)(request) : { status };
  };
}

const puts = (requests: readonly SeenRequest[]) => requests.filter(({ method }) => method === 'PUT').length;

test('requests no token where none is required', async (context) => {
  const { source, service } = await openBeside(context, huaweicloud, treeAnswer(tree));
  assert.equal((await source.read(never)).region, 'eu-west-101');
  assert.equal(puts(service.requests), 0);
});

test('uses one token for all reads until shortly before it expires, where tokens are required', async (context) => {
  const clock = fakeClock(undefined, 1);
  const { source, service } = await openBeside(context, huaweicloud, hardened(), { clock });
  await source.read(never);
  await source.read(never);
  assert.equal(puts(service.requests), 1);
  await clock.advance(21_600_000);
  await hurried(clock, source.read(never));
  assert.equal(puts(service.requests), 2);
});

test('a token that is refused during a read is fetched again', async (context) => {
  let left = 2;
  const answer = hardened((token) => token === 'token-2' || left-- > 0, 403);
  const { source } = await openBeside(context, huaweicloud, answer);
  assert.equal((await source.read(never)).type, 's6.large.2');
});

test('a service that refuses every token, or has none, is an error without endless retries', async (context) => {
  const refusing = await openBeside(
    context,
    huaweicloud,
    hardened(() => false),
  );
  assert.equal((await failureOf(refusing.source.read(never))).kind, 'Unauthorized');
  assert.equal(refusing.service.requests.length, 3);
  const tokenless = await openBeside(context, huaweicloud, ({ method }) =>
    method === 'PUT' ? undefined : { status: 403 },
  );
  assert.equal((await failureOf(tokenless.source.read(never))).kind, 'Forbidden');
});
