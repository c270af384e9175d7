import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failureOf } from '../../../common/testing/cloud-failure.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import { type FakeAnswer, type FakeCall, refusal } from '../../../test/clouds/gce/fake/fake-api.ts';
import { createFakeGce, network } from '../../../test/clouds/gce/fake/fake-gce.ts';
import type { CloudCall } from '../cloud.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import { createClient } from './client.ts';

function setUp(token = async () => 'good') {
  const clock = fakeClock();
  const fake = createFakeGce(clock);
  fake.identity.tokens.set('good', Number.POSITIVE_INFINITY);
  const calls: CloudCall[] = [];
  let refusedTokens = 0;
  const client = createClient({
    http: fake.http,
    clock,
    endpoint: 'http://gce.test/compute/v1',
    token,
    rateLimiter: createRateLimiter({ cloud: 'gce', clock, random: () => 0.5 }),
    onCall: (call) => void calls.push(call),
    mutationTimeoutMs: 10_000,
    onUnauthorized: () => void refusedTokens++,
  });
  const during = <T>(work: Promise<T>) => advanceDuring(clock, work);
  return { clock, fake, client, calls, during, refusedTokens: () => refusedTokens };
}
const instances = { path: '/projects/proj/aggregated/instances', operation: 'instances.aggregatedList' };
const inZone = { path: '/projects/proj/zones/us-central1-a/instances', operation: 'instances.list' };
const routes = { path: '/projects/proj/global/routes', operation: 'routes.insert' };
const route = {
  name: 'r',
  destRange: '10.0.0.0/24',
  network: `projects/proj/global/networks/${network}`,
  nextHopInstance: 'projects/proj/zones/us-central1-a/instances/n',
};
const insert = { ...routes, method: 'POST', body: route } as const;
const always = { permit: () => {} };

describe('the client of Compute Engine', () => {
  it('reads all pages of a list, 500 items each, in a zone and over all zones', async () => {
    const { fake, client } = setUp();
    for (let each = 0; each < 1001; each += 1) fake.addVm(`n${each}`);
    fake.addVm('far', { in: 'europe-west1-d' });
    const { items, unreachable } = await client.aggregated(instances, 'instances');
    assert.deepEqual([items.length, unreachable.size], [1002, 0]);
    assert.equal((await client.list(inZone)).length, 1001);
    assert.equal(fake.calls.length, 6);
    assert.equal((await client.list({ ...inZone, path: inZone.path.replace('1-a', '1-b') })).length, 0);
  });

  it('names the zones that were not reached, and has the items of the others', async () => {
    const { fake, client } = setUp();
    for (const zone of ['us-central1-a', 'us-central1-b']) fake.addVm('n', { in: zone });
    fake.unreachable.add('us-central1-b');
    const { items, unreachable } = await client.aggregated(instances, 'instances');
    assert.deepEqual([items.length, [...unreachable]], [1, ['us-central1-b']]);
  });

  it('takes a zone with a warning for one that was not reached, though it has items and no list names it', async () => {
    const { fake, client } = setUp();
    const items = {
      'zones/a': { instances: [{ name: 'n' }], warning: { code: 'UNREACHABLE' } },
      'zones/b': { warning: { code: 'NO_RESULTS_ON_PAGE' } },
      'zones/c': { warning: {} },
    };
    fake.fault = () => ({ status: 200, body: { items } });
    const found = await client.aggregated(instances, 'instances');
    assert.deepEqual([found.items.length, [...found.unreachable]], [1, ['a', 'c']]);
  });

  const incomplete: readonly (readonly [string, FakeCall['path'], object])[] = [
    ['a warning without the name of a zone', instances.path, { items: {}, warning: { code: 'UNREACHABLE' } }],
    ['a warning without a code', instances.path, { items: {}, warning: {} }],
    ['a warning of a list', inZone.path, { items: [], warning: { code: 'UNREACHABLE' } }],
    ['pages in a circle', inZone.path, { items: [], nextPageToken: 'again' }],
  ];
  for (const [what, path, body] of incomplete)
    it(`takes no list for complete that has ${what}`, async () => {
      const { fake, client } = setUp();
      fake.fault = () => ({ status: 200, body });
      const read = path === inZone.path ? client.list(inZone) : client.aggregated(instances, 'instances');
      assert.equal((await failureOf(read)).kind, 'Unavailable');
    });

  it('takes no list for complete whose second page fails', async () => {
    const { fake, client } = setUp();
    for (let each = 0; each < 501; each += 1) fake.addVm(`n${each}`);
    fake.fault = ({ query }) => (query.has('pageToken') ? refusal(500, 'internalError', 'x') : undefined);
    assert.equal((await failureOf(client.list(inZone))).kind, 'Unavailable');
  });

  const failures: readonly (readonly [string, FakeAnswer, string])[] = [
    ['a refused token', refusal(401, 'authError', 'Invalid Credentials'), 'Unauthorized'],
    ['a missing permission', refusal(403, 'forbidden', "Required 'compute.instances.get' permission"), 'Forbidden'],
    ['an API that is off', refusal(403, 'accessNotConfigured', 'Compute Engine API has not been used'), 'Forbidden'],
    ['too many calls', refusal(403, 'rateLimitExceeded', 'Rate Limit Exceeded'), 'Throttled'],
    ['too many calls of a user', refusal(403, 'userRateLimitExceeded', 'User Rate Limit Exceeded'), 'Throttled'],
    ['too many calls, by the status', refusal(429, 'x', 'Too Many Requests'), 'Throttled'],
    ['a full quota', refusal(403, 'quotaExceeded', "Quota 'ROUTES' exceeded. Limit: 250.0 globally."), 'QuotaExceeded'],
    ['what is not there', refusal(404, 'notFound', "The resource 'x' was not found"), 'NotFound'],
    ["a proxy's 404", { status: 404, body: '<html>' }, 'Unavailable'],
    ['a taken name', refusal(409, 'alreadyExists', 'already exists'), 'Taken'],
    ['another 409', refusal(409, 'x', 'conflict'), 'Conflict'],
    ['an outdated fingerprint', refusal(412, 'conditionNotMet', 'Invalid fingerprint'), 'Stale'],
    ['another 412', refusal(412, 'x', 'precondition'), 'Stale'],
    ['a resource in use', refusal(400, 'resourceInUseByAnotherResource', 'being used by'), 'Busy'],
    ['a resource that is not ready', refusal(400, 'resourceNotReady', 'is not ready'), 'Busy'],
    ['a bad request', refusal(400, 'invalid', 'Invalid value'), 'Invalid'],
    ['a server that is down', { status: 503, body: 'busy' }, 'Unavailable'],
    ['a gateway that gave up', { status: 504, body: 'late' }, 'Timeout'],
    ['a body that was cut', { status: 200, body: '{"items": [' }, 'Unavailable'],
  ];
  for (const [what, answer, kind] of failures)
    it(`takes ${what} for ${kind}`, async () => {
      const { fake, client } = setUp();
      fake.fault = () => answer;
      const error = await failureOf(client.call(inZone));
      assert.deepEqual([error.kind, error.operation], [kind, 'instances.list']);
    });

  it('leaves the API alone for as long as it asks, a minute at the most', async () => {
    for (const [after, ms] of [
      ['7', 7000],
      ['Thu, 01 Jan 2026 00:00:09 GMT', 9000],
      ['86400', 60_000],
    ] as const) {
      const { fake, client } = setUp();
      const { body } = refusal(429, 'rateLimitExceeded', 'slow down');
      fake.fault = () => ({ status: 429, body, headers: { 'retry-after': after } });
      const { kind, retryAfterMs } = await failureOf(client.call(inZone));
      assert.deepEqual([kind, retryAfterMs], ['Throttled', ms]);
      await failureOf(client.call(inZone));
      assert.equal(fake.calls.length, 1);
    }
  });

  it('tells who keeps the tokens of each one that is refused', async () => {
    const { fake, client, refusedTokens } = setUp();
    fake.identity.tokens.clear();
    await failureOf(client.call(inZone));
    assert.equal(refusedTokens(), 1);
  });

  it('counts calls by the names of methods, without names of resources', async () => {
    const { client, calls, during } = setUp();
    await during(client.change(insert, always));
    assert.deepEqual(
      calls.map(({ operation, code }) => [operation, code]),
      [
        ['routes.insert', 'ok'],
        ['globalOperations.wait', 'ok'],
      ],
    );
  });
});

describe('a change', () => {
  it('ends when its operation has ended, in one request that waits', async () => {
    const { clock, fake, client, during } = setUp();
    fake.operations.durationMs = 60_000;
    await during(client.change(insert, always));
    assert.ok(fake.routes.has('r'));
    assert.equal(fake.calls.length, 2);
    assert.ok(clock.monotonic() >= 60_000);
  });

  it('sends one request for a change whose operation has ended at once', async () => {
    const { fake, client } = setUp();
    fake.operations.durationMs = 0;
    await client.change(insert, always);
    assert.equal(fake.calls.length, 1);
  });

  it('asks once a second where the server does not wait, and gives up after two minutes', async () => {
    const { fake, client, during } = setUp();
    Object.assign(fake.operations, { durationMs: 600_000, waitMs: 0 });
    const error = await failureOf(during(client.change(insert, always)));
    assert.deepEqual([error.kind, error.operation], ['Timeout', 'routes.insert']);
    assert.ok(fake.calls.length <= 122, String(fake.calls.length));
  });

  for (const [code, status, kind] of [
    ['QUOTA_EXCEEDED', 403, 'QuotaExceeded'],
    ['RATE_LIMIT_EXCEEDED', 403, 'Throttled'],
    ['RESOURCE_ALREADY_EXISTS', 409, 'Taken'],
    ['RESOURCE_IN_USE_BY_ANOTHER_RESOURCE', 400, 'Busy'],
    ['RESOURCE_NOT_READY', 400, 'Busy'],
    ['RESOURCE_NOT_FOUND', 404, 'NotFound'],
    ['CONDITION_NOT_MET', 412, 'Stale'],
    ['PERMISSIONS_ERROR', 403, 'Forbidden'],
    ['INTERNAL_ERROR', 503, 'Unavailable'],
    ['SOMETHING_NEW', 400, 'Invalid'],
  ] as const)
    it(`takes an operation that ends in ${code} for ${kind}`, async () => {
      const { fake, client, during } = setUp();
      fake.operations.failNext = { code, status, message: 'why' };
      const error = await failureOf(during(client.change(insert, always)));
      assert.deepEqual([error.kind, error.operation], [kind, 'routes.insert']);
      assert.match(error.message, /why$/);
    });

  it('asks for the permit after the token, and sends no change without it', async () => {
    const order: string[] = [];
    const { fake, client } = setUp(async () => {
      order.push('token');
      return 'good';
    });
    const withheld = () => {
      order.push('permit');
      throw new Error('paused');
    };
    await assert.rejects(client.change(insert, { permit: withheld }), /paused/);
    assert.deepEqual([order, fake.calls.length], [['token', 'permit'], 0]);
  });
});
