import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../../common/process/log.ts';
import { failureOf } from '../../../common/testing/cloud-failure.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { createFakeDigitalOcean, token } from '../../../test/clouds/digitalocean/fake/fake-digitalocean.ts';
import type { FakeCall } from '../../../test/clouds/fake-http.ts';
import type { CloudCall } from '../cloud.ts';
import { openClient } from './client.ts';

function setUp() {
  const clock = fakeClock();
  const fake = createFakeDigitalOcean(clock);
  const calls: CloudCall[] = [];
  const onCall = (call: CloudCall) => void calls.push(call);
  const client = openClient(
    { clock, random: () => 0.5, log: silentLog, env: {}, onCall },
    {
      endpoint: 'http://do.test',
      authorization: `Bearer ${token}`,
      limits: { perSecond: 10, burst: 10 },
      wrapHttp: () => fake.http,
    },
  );
  return { clock, fake, client, calls };
}
const droplets = { path: '/v2/droplets' };

describe('the client of DigitalOcean', () => {
  it('reads all pages of a list, 200 items each', async () => {
    const { fake, client } = setUp();
    for (let each = 0; each < 401; each += 1) fake.addDroplet(`n${each}`);
    assert.equal((await client.list(droplets, 'droplets')).length, 401);
    assert.deepEqual(
      fake.calls.map(({ query }) => query.get('page')),
      ['1', '2', '3'],
    );
  });

  it('reads a list again where something went while its pages were read, and gives up after three times', async () => {
    const { fake, client } = setUp();
    for (let each = 0; each < 401; each += 1) fake.addDroplet(`n${each}`);
    const remove = (times: number) => {
      fake.fault = ({ query }: FakeCall) => {
        if (query.get('page') === '2' && times-- > 0) fake.droplets.delete([...fake.droplets.keys()].at(-1)!);
        return undefined;
      };
    };
    remove(1);
    assert.equal((await client.list(droplets, 'droplets')).length, 400);
    remove(3);
    const { kind, message } = await failureOf(client.list(droplets, 'droplets'));
    assert.deepEqual([kind, /the list changed/.test(message)], ['Unavailable', true]);
  });

  const failures: readonly (readonly [string, number, unknown, string])[] = [
    ['a refused token', 401, { id: 'unauthorized', message: 'Unable to authenticate you' }, 'Unauthorized'],
    ['a missing right', 403, { id: 'forbidden', message: 'You are not authorized' }, 'Forbidden'],
    ['what is not there', 404, { id: 'not_found', message: 'could not be found' }, 'NotFound'],
    ["a proxy's 404", 404, '<html>', 'Unavailable'],
    [
      'a load balancer at work',
      403,
      { id: 'forbidden', message: "Load Balancer can't be updated while it processes previous actions" },
      'Busy',
    ],
    ['a name that is taken', 422, { id: 'unprocessable_entity', message: 'name is not unique' }, 'Taken'],
    ['a limit', 403, { id: 'forbidden', message: 'Load Balancer limit exceeded' }, 'QuotaExceeded'],
    ['a bad request', 422, { id: 'unprocessable_entity', message: 'droplet ids are invalid' }, 'Invalid'],
    ['a server that is down', 503, 'busy', 'Unavailable'],
  ];
  for (const [what, status, body, kind] of failures)
    it(`takes ${what} for ${kind}`, async () => {
      const { fake, client } = setUp();
      fake.fault = () => ({ status, body });
      const error = await failureOf(client.call({ path: '/v2/droplets/1' }));
      assert.deepEqual([error.kind, error.operation], [kind, 'GET /v2/droplets/{id}']);
    });

  it('leaves the API alone for as long as it asks, a minute at the most', async () => {
    for (const [headers, ms] of [
      [{ 'retry-after': '7' }, 7000],
      [{ 'ratelimit-reset': '99999999999' }, 60_000],
    ] as const) {
      const { fake, client } = setUp();
      fake.fault = () => ({
        status: 429,
        body: { id: 'too_many_requests', message: 'API Rate limit exceeded.' },
        headers,
      });
      const { kind, retryAfterMs } = await failureOf(client.call(droplets));
      assert.deepEqual([kind, retryAfterMs], ['Throttled', ms]);
    }
  });

  it('counts calls by operations without ids, UUIDs included', async () => {
    const { fake, client, calls } = setUp();
    const path = `/v2/vpcs/${fake.vpc}`;
    await client.call({ path });
    assert.deepEqual(
      calls.map(({ operation, code }) => [operation, code]),
      [['GET /v2/vpcs/{id}', 'ok']],
    );
  });
});
