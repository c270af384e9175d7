import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CloudError } from '../../../common/cloud-error.ts';
import type { HttpAnswer } from '../../../common/process/http.ts';
import { azureWorld } from '../../../test/clouds/azure/azure-world.ts';
import { subscription } from '../../../test/clouds/azure/fake/fake-state.ts';
import type { FakeAnswer, Json } from '../../../test/clouds/fake-http.ts';
import { versions } from './client.ts';
import { errorOf } from './fault.ts';
import { groupPath } from './resource-id.ts';

const vmList = /\/providers\/Microsoft\.Compute\/virtualMachines$/;

/** Looks three VMs up while the list of their resource group is answered so. */
async function listing(answer: (page: string) => FakeAnswer | undefined) {
  const world = azureWorld();
  const vms = [1, 2, 3, 4, 5].map(() => world.addVm());
  const cloud = await world.open();
  world.fake.fault = ({ path, query }) =>
    vmList.test(path) && !query.has('statusOnly') ? answer(query.get('$skiptoken') ?? 'first') : undefined;
  const refs = vms.map(({ id }) => ({ by: 'providerID', providerID: `azure://${id}` }) as const);
  const found = [...(await world.during(cloud.instances.lookup(refs))).values()];
  await world.close();
  return { world, found, states: found.map((one) => (one.state === 'unknown' ? one.error.kind : one.state)) };
}

describe('lists of Azure', () => {
  it('answers unknown for every VM when a page of the list is missing', async () => {
    const { states } = await listing((page) => (page === '3' ? { status: 500 } : undefined));
    assert.deepEqual(states, Array(5).fill('Unavailable'));
  });

  it('follow no link to another host, and send no token there', async () => {
    for (const nextLink of [
      'http://evil.test/next',
      'https://management.azure.test/next',
      'http://u:p@management.azure.test/',
      'next',
    ]) {
      const { world, states, found } = await listing(() => ({ status: 200, body: { value: [], nextLink } }));
      assert.deepEqual(states, Array(5).fill('Invalid'), nextLink);
      assert.ok(world.fake.calls.every(({ origin }) => origin === 'http://management.azure.test'));
      assert.ok(!JSON.stringify(found).includes('Bearer'));
    }
  });

  it('end where their links lead in a circle', async () => {
    const path = groupPath(subscription, 'rg', 'Microsoft.Compute/virtualMachines');
    const nextLink = `http://management.azure.test${path}?api-version=${versions.compute}`;
    const { states } = await listing(() => ({ status: 200, body: { value: [], nextLink } }));
    assert.deepEqual(states, Array(5).fill('Unavailable'));
  });

  for (const [what, body] of [
    ['no list', {}],
    ['a list that is cut', '{"value":['],
    ['a VM without an id', { value: [{}] }],
  ] as const)
    it(`answers unknown for every VM when the answer has ${what}`, async () => {
      const { states } = await listing(() => ({ status: 200, body }));
      assert.ok(
        states.every((state) => state === 'Invalid' || state === 'Unavailable'),
        String(states),
      );
    });
});

describe('refusals of Azure', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  const refusal = (
    status: number,
    code: string,
    more: { message?: string; details?: Json[]; retryAfter?: string } = {},
  ) => {
    const { message = 'no', details, retryAfter = null } = more;
    const answer: HttpAnswer = {
      status,
      text: JSON.stringify({ error: { code, message, details } }),
      header: (name) => (name === 'retry-after' ? retryAfter : null),
    };
    return errorOf('GET x', answer, now);
  };

  for (const [status, code, kind] of [
    [400, 'InvalidParameter', 'Invalid'],
    [400, 'RouteTableRoutesLimitReached', 'QuotaExceeded'],
    [401, 'InvalidAuthenticationToken', 'Unauthorized'],
    [401, 'InvalidAuthenticationTokenTenant', 'Forbidden'],
    [403, 'AuthorizationFailed', 'Forbidden'],
    [403, 'ResourceNotFound', 'Forbidden'],
    [404, 'ResourceNotFound', 'NotFound'],
    [404, 'NotFound', 'NotFound'],
    [404, 'ParentResourceNotFound', 'NotFound'],
    [404, 'ResourceGroupNotFound', 'Unavailable'],
    [404, 'SubscriptionNotFound', 'Forbidden'],
    [404, 'SomethingNew', 'Unavailable'],
    [409, 'AnotherOperationInProgress', 'Busy'],
    [409, 'Conflict', 'Conflict'],
    [409, 'QuotaExceeded', 'QuotaExceeded'],
    [410, 'Gone', 'Unavailable'],
    [410, 'ResourceNotFound', 'Unavailable'],
    [412, 'PreconditionFailed', 'Stale'],
    [412, 'ConditionNotMet', 'Stale'],
    [429, 'TooManyRequests', 'Throttled'],
    [429, 'SubscriptionRequestsThrottledLimitExceeded', 'Throttled'],
    [429, 'RetryableError', 'Busy'],
    [500, 'InternalServerError', 'Unavailable'],
    [503, 'ServerTimeout', 'Unavailable'],
    [504, 'GatewayTimeout', 'Timeout'],
  ] as const)
    it(`takes ${status} ${code} for ${kind}`, () => assert.equal(refusal(status, code).kind, kind));

  it('take the word of their details before their own', () => {
    const details = [{ code: 'AnotherOperationInProgress', message: 'can be retried in 11 seconds.' }];
    const { kind, retryAfterMs } = refusal(400, 'BadRequest', { details });
    assert.deepEqual([kind, retryAfterMs], ['Busy', 11_000]);
  });

  it('say how long to wait, in seconds or by a date', () => {
    assert.equal(refusal(429, 'TooManyRequests', { retryAfter: '17' }).retryAfterMs, 17_000);
    assert.equal(refusal(503, '', { retryAfter: 'Thu, 01 Jan 2026 00:00:30 GMT' }).retryAfterMs, 30_000);
    assert.equal(refusal(503, '', { retryAfter: 'soon' }).retryAfterMs, undefined);
  });

  it('takes a 404, 410 or 502 of a proxy for Unavailable', () => {
    const answer = { text: '<html>', header: () => null };
    assert.equal(errorOf('GET x', { ...answer, status: 404 }, now).kind, 'Unavailable');
    assert.equal(errorOf('GET x', { ...answer, status: 410 }, now).kind, 'Unavailable');
    assert.equal(errorOf('GET x', { ...answer, status: 502 }, now).kind, 'Unavailable');
  });
});

describe('throttling of Azure', () => {
  it('keeps every call to the subscription back as long as Retry-After says', async () => {
    const world = azureWorld();
    const cloud = await world.open();
    await world.during(cloud.ping!());
    const body = { error: { code: 'TooManyRequests', message: 'too many' } };
    world.fake.fault = () => ({ status: 429, headers: { 'retry-after': '30' }, body });
    await assert.rejects(world.during(cloud.ping!()), { kind: 'Throttled' });
    world.fake.fault = undefined;
    const before = world.fake.calls.length;
    await assert.rejects(world.during(cloud.routes!.observe('c')), (error: CloudError) => {
      return error.kind === 'Throttled' && error.retryAfterMs! > 20_000;
    });
    assert.equal(world.fake.calls.length, before);
    await world.pass(30_000);
    await world.during(cloud.routes!.observe('c'));
    await world.close();
  });
});
