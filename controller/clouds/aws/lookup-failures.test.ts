import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { answerError, answerXml, type Fault } from '../../../test/clouds/aws/fake/fake-ec2.ts';
import {
  cutConnection,
  lookupHarness,
  named,
  providerID,
  ref,
  states,
} from '../../../test/clouds/aws/fake/lookup-harness.ts';

describe('looking up instances while EC2 fails', () => {
  const harness = lookupHarness();

  const failures: [string, Fault, string][] = [
    [
      '401',
      (_, r) => answerError(r, 401, 'AuthFailure', 'AWS was not able to validate the provided access credentials'),
      'Unauthorized',
    ],
    [
      'an expired token',
      (_, r) => answerError(r, 400, 'ExpiredToken', 'The security token is expired'),
      'Unauthorized',
    ],
    ['403', (_, r) => answerError(r, 403, 'UnauthorizedOperation', 'You are not authorized'), 'Forbidden'],
    [
      '503 RequestLimitExceeded',
      (_, r) => answerError(r, 503, 'RequestLimitExceeded', 'Request limit exceeded.'),
      'Throttled',
    ],
    ['429', (_, r) => answerError(r, 429, 'TooManyRequestsException', 'slow', { 'retry-after': '7' }), 'Throttled'],
    ['500', (_, r) => answerError(r, 500, 'InternalError', 'An internal error has occurred'), 'Unavailable'],
    ['a 502 of a proxy', (_, r) => answerXml(r, 502, '<html>Bad Gateway</html>'), 'Unavailable'],
    ['a 404 of a proxy', (_, r) => answerXml(r, 404, '<html>no such route</html>'), 'Unavailable'],
    ['a cut connection', cutConnection, 'Unavailable'],
    [
      'a cut body',
      (_, r) => {
        r.writeHead(200, { 'content-type': 'text/xml', 'content-length': '5000' });
        r.write('<DescribeInstancesResponse><reservationSet>', () => r.destroy());
        return 'answered';
      },
      'Unavailable',
    ],
    ['half a document', (_, r) => answerXml(r, 200, '<DescribeInstancesResponse><reservationSet><item'), 'Unavailable'],
  ];
  for (const [name, fault, kind] of failures) {
    it(`answers unknown (${kind}), never absent, after ${name}`, async () => {
      harness.ec2.fault = fault;
      const lookups = await (await harness.openCloud()).instances.lookup([ref(1), ref(2), named('n')], {
        canaries: [ref(3)],
      });
      assert.deepEqual(states(lookups), Array(3).fill(`unknown ${kind}`));
    });
  }

  it('leaves a suspect unknown when its proof fails', async () => {
    harness.ec2.fault = ({ ids }, response) =>
      ids.length > 0 ? answerError(response, 500, 'InternalError', 'oops') : undefined;
    harness.add(1);
    assert.deepEqual(states(await (await harness.openCloud()).instances.lookup([ref(1), ref(7)])), [
      'found running by list',
      'unknown Unavailable',
    ]);
  });

  it('keeps found what came before a failed page, and the rest unknown', async () => {
    harness.add(1, 2, 3);
    harness.ec2.pageSize = 2;
    harness.ec2.fault = ({ form }, response) =>
      form.has('NextToken') ? answerError(response, 500, 'InternalError', 'oops') : undefined;
    const lookups = await (await harness.openCloud()).instances.lookup([1, 2, 3].map(ref));
    assert.deepEqual(states(lookups), ['found running by list', 'found running by list', 'unknown Unavailable']);
    assert.deepEqual(
      harness.describes().filter(({ ids }) => ids.length > 0),
      [],
    );
  });

  it('ends pages that go in a circle, and proves nothing', async () => {
    harness.ec2.fault = (_, response) =>
      answerXml(
        response,
        200,
        '<DescribeInstancesResponse><reservationSet/><nextToken>again</nextToken></DescribeInstancesResponse>',
      );
    assert.deepEqual(states(await (await harness.openCloud()).instances.lookup([ref(1)])), ['unknown Unavailable']);
    assert.equal(harness.ec2.calls.length, 2);
  });

  it('gives up after 30 s without an answer', async () => {
    const clock = fakeClock();
    const asked = Promise.withResolvers<void>();
    harness.ec2.fault = () => {
      asked.resolve();
      return 'answered';
    };
    const lookup = (await harness.openCloud({ clock })).instances.lookup([ref(1)]);
    await asked.promise;
    await clock.advance(30_000);
    assert.deepEqual(states(await lookup), ['unknown Timeout']);
    assert.deepEqual(
      harness.calls.map(({ code }) => code),
      ['timeout'],
    );
  });

  it('ends by a signal, with everything unknown', async () => {
    const cancel = new AbortController();
    harness.ec2.fault = () => {
      cancel.abort();
      return 'answered';
    };
    const lookups = await (await harness.openCloud()).instances.lookup([ref(1)], { signal: cancel.signal });
    assert.deepEqual(states(lookups), ['unknown Unavailable']);
  });

  it('makes no call for as long as EC2 asked', async () => {
    const clock = fakeClock(undefined, 50);
    harness.ec2.fault = (_, response) =>
      answerError(response, 429, 'TooManyRequestsException', 'slow', { 'retry-after': '7' });
    const cloud = await harness.openCloud({ clock });
    const first = (await cloud.instances.lookup([ref(1)])).get(providerID(1));
    assert.ok(first?.state === 'unknown');
    assert.equal(first.error.retryAfterMs, 7000);
    harness.ec2.fault = undefined;
    harness.add(1);
    assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['unknown Throttled']);
    assert.equal(harness.ec2.calls.length, 1);
    await clock.advance(7000);
    assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['found running by list']);
  });
});
