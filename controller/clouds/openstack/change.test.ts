import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { isCloudError } from '../../../common/cloud-error.ts';
import { createHttp } from '../../../common/process/http.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { answerJson, answerText } from '../../../test/clouds/openstack/fake/answers.ts';
import { catalogOf, password, startFakeOpenStack } from '../../../test/clouds/openstack/fake/fake-openstack.ts';
import type { FakeOpenStack, Fault } from '../../../test/clouds/openstack/fake/openstack-state.ts';
import { WithheldError } from '../permit.ts';
import { type ChangeRequest, createClient, type OpenStackClient } from './client.ts';
import { faultOf } from './fault.ts';
import { createRateLimiters } from './rate-limiters.ts';

const neutronError = (type: string, message: string) => ({ NeutronError: { type, message, detail: '' } });
const octaviaFault = (faultstring: string) => ({ faultcode: 'Client', faultstring, debuginfo: null });

describe('a call that changes something', () => {
  let fake: FakeOpenStack;
  let clock: ReturnType<typeof fakeClock>;
  let client: OpenStackClient;
  let close: () => void;
  before(async () => {
    fake = await startFakeOpenStack();
  });
  after(() => fake.close());
  afterEach(() => close());

  /** A client of a fresh process; `answer` is what the service says. */
  function start(answer: Fault): void {
    fake.calls.length = 0;
    fake.revoked.clear();
    fake.catalog = catalogOf(new URL(fake.authUrl).origin, ['RegionOne']);
    fake.fault = (call, response) =>
      call.service === 'identity' || call.method === 'GET' ? undefined : answer(call, response);
    clock = fakeClock();
    const opened = createHttp({ clock });
    close = opened.close;
    client = createClient({
      http: opened.http,
      clock,
      rateLimiters: createRateLimiters({ clock, random: () => 0.5 }),
      onCall: () => {},
      authUrl: `${fake.authUrl}/v3`,
      credential: { method: 'password', user: { id: 'u1' }, password, scope: { project: { id: 'p1' } } },
      interface: 'public',
      region: undefined,
      timeoutMs: 60_000,
      mutationTimeoutMs: 7000,
    });
  }
  const put: ChangeRequest = {
    service: 'network',
    method: 'PUT',
    path: '/routers/r1',
    operation: 'PUT /routers/{id}',
    body: { router: { routes: [] } },
    permit: () => {},
  };
  const sent = () => fake.calls.filter(({ service }) => service !== 'identity');

  it('carries method, body and headers, and answers the document, or nothing for an empty one', async () => {
    start((_, response) => answerJson(response, 200, { router: { id: 'r1' } }));
    assert.deepEqual((await client.change({ ...put, headers: { 'if-match': 'revision_number=7' } })).json(), {
      router: { id: 'r1' },
    });
    const [call] = sent();
    assert.deepEqual([call?.method, call?.path, call?.body], ['PUT', '/routers/r1', '{"router":{"routes":[]}}']);
    assert.equal(call?.headers['if-match'], 'revision_number=7');
    assert.equal(call?.headers['content-type'], 'application/json');
    start((_, response) => answerText(response, 204, ''));
    assert.deepEqual((await client.change({ ...put, method: 'DELETE', body: undefined })).json(), {});
    assert.equal(sent()[0]?.headers['content-type'], undefined);
  });

  it('asks the permit after the token has come, with the time a change may take', async () => {
    start((_, response) => answerJson(response, 200, {}));
    const asked: [number, number][] = [];
    await client.change({ ...put, permit: (timeoutMs) => asked.push([timeoutMs, fake.tokens]) });
    assert.deepEqual(asked, [[7000, fake.tokens]]);
  });

  it('sends nothing when the permit is withheld', async () => {
    start((_, response) => answerJson(response, 200, {}));
    const permit = () => {
      throw new WithheldError('Fenced', 'the lease ends too soon');
    };
    await assert.rejects(client.change({ ...put, permit }), WithheldError);
    assert.deepEqual(sent(), []);
  });

  it('renews a refused token once and asks for the permit again', async () => {
    start((call, response) =>
      sent().length > 1 && call.method === 'PUT' ? answerJson(response, 200, {}) : answerJson(response, 401, {}),
    );
    const asked: number[] = [];
    await client.change({ ...put, permit: (timeoutMs) => asked.push(timeoutMs) });
    assert.deepEqual(asked, [7000, 7000]);
    start((_, response) => answerJson(response, 401, {}));
    await assert.rejects(client.change(put), (error) => isCloudError(error) && error.kind === 'Unauthorized');
    assert.equal(sent().length, 2);
  });

  const kinds: [number, unknown, string][] = [
    [400, neutronError('InvalidInput', 'Invalid input for operation'), 'Invalid'],
    [
      400,
      neutronError(
        'RoutesExhausted',
        'Unable to complete operation for r1. The number of routes exceeds the maximum 30.',
      ),
      'QuotaExceeded',
    ],
    [
      400,
      neutronError('AllowedAddressPairExhausted', 'The number of allowed address pair exceeds the maximum 10.'),
      'QuotaExceeded',
    ],
    [403, octaviaFault('Quota has been met for resources: Load Balancer'), 'QuotaExceeded'],
    [403, octaviaFault('Policy does not allow this request to be performed.'), 'Forbidden'],
    [404, neutronError('RouterNotFound', 'Router r1 could not be found'), 'NotFound'],
    [409, neutronError('OverQuota', "Quota exceeded for resources: ['port']."), 'QuotaExceeded'],
    [409, neutronError('RouterInUse', 'Router r1 still has ports'), 'Conflict'],
    [409, neutronError('FloatingIPPortAlreadyAssociated', 'Cannot associate floating IP'), 'Taken'],
    [409, octaviaFault('Another Listener on this Load Balancer is already using protocol_port 80'), 'Taken'],
    [409, octaviaFault('Load Balancer lb1 is immutable and cannot be updated.'), 'Stale'],
    [412, neutronError('RevisionNumberConstraintFailed', 'Constrained to 7, but current revision is 8'), 'Stale'],
    [429, octaviaFault('slow down'), 'Throttled'],
    [501, octaviaFault("Provider 'ovn' does not support a requested option: flavors"), 'Invalid'],
    [501, '<html>Not Implemented</html>', 'Unavailable'],
    [503, neutronError('RetryRequest', 'x'), 'Unavailable'],
  ];
  for (const [status, body, kind] of kinds) {
    it(`${status} ${JSON.stringify(body).slice(0, 60)} is ${kind}, and is not repeated`, async () => {
      start((_, response) => answerJson(response, status, body, status === 429 ? { 'retry-after': '9' } : {}));
      const error = await client.change(put).catch((thrown: unknown) => thrown);
      assert.ok(isCloudError(error), String(error));
      assert.equal(error.kind, kind, error.message);
      assert.equal(sent().length, 1);
      if (status === 429) assert.equal(error.retryAfterMs, 9000);
      else assert.equal(faultOf(error)?.status, status);
    });
  }

  it('a service that wants rest is left alone, and the others are not', async () => {
    start((_, response) => answerJson(response, 429, {}, { 'retry-after': '9' }));
    await client.change(put).catch(() => {});
    await assert.rejects(client.change(put), /the cloud asked for fewer calls/);
    assert.equal(sent().length, 1);
    fake.fault = (call, response) =>
      call.service === 'load-balancer' ? answerJson(response, 200, { versions: [{ id: 'v2.0' }] }) : undefined;
    assert.deepEqual(await client.versions('load-balancer'), ['v2.0']);
    await clock.advance(9000);
    fake.fault = (_, response) => answerJson(response, 200, {});
    assert.deepEqual((await client.change(put)).json(), {});
  });

  it('an answer that never comes is a Timeout after the time of a change', async () => {
    let arrived = () => {};
    const there = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    start(() => {
      arrived();
      return 'answered';
    });
    const failed = client.change(put).catch((thrown: unknown) => thrown);
    await there;
    await clock.advance(7000);
    const error = await failed;
    assert.ok(isCloudError(error) && error.kind === 'Timeout', String(error));
  });

  it('a thing that is not there is told from a path that is not there', async () => {
    const bodies: [unknown, string][] = [
      [neutronError('PortNotFound', 'Port p could not be found.'), 'NotFound'],
      [neutronError('HTTPNotFound', 'The resource could not be found.'), 'Unavailable'],
      [octaviaFault('Load Balancer lb1 not found.'), 'NotFound'],
      [{ message: 'no Route matched with those values' }, 'Unavailable'],
    ];
    for (const [body, kind] of bodies) {
      start((_, response) => answerJson(response, 404, body));
      const error = await client.change(put).catch((thrown: unknown) => thrown);
      assert.equal(isCloudError(error) && error.kind, kind, JSON.stringify(body));
    }
  });

  it('finds a load balancer service by either name, and reads its versions once', async () => {
    start((_, response) => answerJson(response, 200, {}));
    const origin = new URL(fake.authUrl).origin;
    for (const [type, url] of [
      ['load-balancer', `${origin}/load-balancer`],
      ['octavia', `${origin}/load-balancer/v2.0/`],
    ] as const) {
      fake.catalog = [{ type, endpoints: [{ interface: 'public', region: 'R', url }] }];
      fake.fault = (call, response) =>
        call.service === 'load-balancer'
          ? answerJson(response, 200, { versions: [{ id: 'v2.0' }, { id: 'v2.27' }] })
          : undefined;
      fake.calls.length = 0;
      await client.session();
      assert.equal(await client.endpoint('load-balancer'), `${origin}/load-balancer/v2.0`);
      assert.deepEqual(await client.versions('load-balancer'), ['v2.0', 'v2.27']);
      await client.versions('load-balancer');
      close();
      start((_, response) => answerJson(response, 200, {}));
    }
  });
});
