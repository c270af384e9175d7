import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, afterEach, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '../../../common/process/clock.ts';
import { silentLog } from '../../../common/process/log.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import type { Cloud, CloudCall, CloudContext, InstanceRef, Lookup } from '../cloud.ts';
import { maxAbsenceProofs } from '../cloud.ts';
import { cloudModule } from './index.ts';
import { answerError, answerXml, type FakeEc2, type Fault, running, startFakeEc2 } from './testing/fake-ec2.ts';

const id = (n: number) => `i-${n.toString(16).padStart(17, '0')}`;
const providerID = (n: number) => `aws:///eu-west-1a/${id(n)}`;
const ref = (n: number): InstanceRef => ({ by: 'providerID', providerID: providerID(n) });
const emptyAnswer = '<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>';
const named = (name: string): InstanceRef => ({ by: 'name', name });

function cutConnection(_: unknown, response: ServerResponse): 'answered' {
  response.destroy();
  return 'answered';
}

let ec2: FakeEc2;
let calls: CloudCall[] = [];
const opened: Cloud[] = [];

async function openCloud(more: Partial<CloudContext> = {}, text?: string): Promise<Cloud> {
  const file = text === undefined ? undefined : { path: 'aws.conf', text };
  const cloud = await cloudModule.open(file, {
    clock: systemClock(),
    random: () => 0.5,
    log: silentLog,
    env: {
      AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
      AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI',
      AWS_REGION: 'eu-west-1',
      AWS_ENDPOINT_URL_EC2: ec2.url,
      AWS_EC2_METADATA_DISABLED: 'true',
    },
    onCall: (call) => calls.push(call),
    ...more,
  });
  assert.ok('scope' in cloud);
  opened.push(cloud);
  return cloud;
}

const states = (lookups: ReadonlyMap<string, Lookup>) => [...lookups.values()].map(summary);
function summary(lookup: Lookup): string {
  if (lookup.state === 'unknown') return `unknown ${lookup.error.kind}`;
  return lookup.state === 'found' ? `found ${lookup.power} by ${lookup.request}` : lookup.state;
}

describe('looking up instances on AWS', () => {
  before(async () => {
    ec2 = await startFakeEc2();
  });
  after(() => ec2.close());
  afterEach(() => {
    for (const cloud of opened.splice(0)) cloud.close();
    ec2.instances.clear();
    ec2.calls.length = 0;
    ec2.fault = undefined;
    ec2.pageSize = 1000;
    calls = [];
  });
  const add = (...numbers: number[]) => {
    for (const n of numbers) ec2.instances.set(id(n), running(id(n)));
  };
  const describes = () => ec2.calls.filter(({ action }) => action === 'DescribeInstances');

  it('finds many instances by one filter call each 200, signed for the region', async () => {
    const numbers = Array.from({ length: 401 }, (_, n) => n);
    add(...numbers);
    const cloud = await openCloud();
    const lookups = await cloud.instances.lookup(numbers.map(ref));
    assert.equal(lookups.size, 401);
    assert.ok([...lookups.values()].every((lookup) => summary(lookup) === 'found running by list'));
    assert.deepEqual(
      describes()
        .map(({ filters }) => filters.get('instance-id')?.length)
        .toSorted(),
      [1, 200, 200],
    );
    assert.ok(ec2.calls.every(({ authorization }) => authorization.includes('/eu-west-1/ec2/aws4_request')));
    assert.ok(calls.some(({ operation, code }) => operation === 'DescribeInstances' && code === 'ok'));
  });

  it('follows the pages of a filter', async () => {
    add(1, 2, 3, 4, 5);
    ec2.pageSize = 2;
    const lookups = await (await openCloud()).instances.lookup([1, 2, 3, 4, 5].map(ref));
    assert.deepEqual(states(lookups), Array(5).fill('found running by list'));
    assert.equal(describes().length, 3);
  });

  it('tells the power state, and a terminated instance is gone', async () => {
    const table: [string, string][] = [
      ['pending', 'found changing by list'],
      ['running', 'found running by list'],
      ['stopping', 'found changing by list'],
      ['shutting-down', 'found changing by list'],
      ['stopped', 'found stopped by list'],
      ['terminated', 'gone'],
    ];
    for (const [n, [state]] of table.entries()) ec2.instances.set(id(n), running(id(n), { state }));
    ec2.instances.set(id(99), running(id(99), { state: undefined }));
    const lookups = await (await openCloud()).instances.lookup([...table.keys(), 99].map(ref));
    assert.deepEqual(states(lookups), [...table.map(([, expected]) => expected), 'unknown Invalid']);
  });

  it('a name that two VPCs give out is the instance of the cluster', async () => {
    const privateDnsName = 'ip-10-0-0-4.eu-west-1.compute.internal';
    const tags = (cluster: string) => ({ [`kubernetes.io/cluster/${cluster}`]: 'owned' });
    ec2.instances.set(id(1), running(id(1), { privateDnsName, tags: tags('one') }));
    ec2.instances.set(id(2), running(id(2), { privateDnsName, tags: tags('two') }));
    const found = async (text?: string) => {
      const cloud = await openCloud({}, text);
      const lookup = [...(await cloud.instances.lookup([named(privateDnsName)])).values()][0]!;
      return lookup.state === 'found' ? lookup.instance.id : summary(lookup);
    };
    assert.equal(await found('[Global]\nKubernetesClusterID = two\n'), id(2));
    assert.equal(await found(), 'unknown Conflict');
    ec2.instances.delete(id(2));
    assert.equal(await found('[Global]\nKubernetesClusterID = two\n'), 'unknown NotFound');
    const cloud = await openCloud({}, '[Global]\nKubernetesClusterID = two\n');
    const [none] = [...(await cloud.instances.lookup([named(privateDnsName)])).values()];
    assert.ok(none?.state === 'unknown' && none.error.message.includes(`has the tag of this cluster: ${id(1)}`));
    assert.equal(await found(), id(1));
  });

  it('proves absence by asking for the very ids, in one refused call, and leaves the others alone', async () => {
    add(1, 2);
    const lookups = await (await openCloud()).instances.lookup([ref(1), ref(7), ref(2), ref(8)]);
    assert.deepEqual(states(lookups), ['found running by list', 'absent', 'found running by list', 'absent']);
    assert.deepEqual(
      describes().map((call) => [...call.ids]),
      [[], [id(7), id(8)]],
    );
  });

  it('keeps an instance that the filter left out but its id finds', async () => {
    add(1);
    ec2.fault = ({ filters }, response) =>
      filters.has('instance-id') ? answerXml(response, 200, emptyAnswer) : undefined;
    assert.deepEqual(states(await (await openCloud()).instances.lookup([ref(1)])), ['found running by id']);
  });

  it('a malformed id proves nothing and spoils no proof', async () => {
    const lookups = await (await openCloud()).instances.lookup([
      ref(7),
      { by: 'providerID', providerID: 'aws:///eu-west-1a/i-xyz' },
      ref(8),
    ]);
    assert.deepEqual(states(lookups), ['absent', 'unknown Invalid', 'absent']);
  });

  it('asks one by one when a refusal names none of the ids', async () => {
    add(1);
    ec2.fault = ({ ids }, response) => {
      if (ids.length === 0) return answerXml(response, 200, emptyAnswer);
      if (ids.length === 1) return undefined;
      return answerError(response, 400, 'InvalidInstanceID.NotFound', 'The instance IDs do not exist');
    };
    const lookups = await (await openCloud()).instances.lookup([ref(1), ref(7)]);
    assert.deepEqual(states(lookups), ['found running by id', 'absent']);
  });

  it('an empty answer to a request by id proves nothing', async () => {
    ec2.fault = (_, response) => answerXml(response, 200, emptyAnswer);
    assert.deepEqual(states(await (await openCloud()).instances.lookup([ref(1)])), ['unknown Unavailable']);
  });

  it(`proves at most ${maxAbsenceProofs} a pass; the rest waits`, async () => {
    const many = Array.from({ length: maxAbsenceProofs + 5 }, (_, n) => n + 1);
    const lookups = await (await openCloud()).instances.lookup(many.map(ref));
    assert.equal(states(lookups).filter((state) => state === 'absent').length, maxAbsenceProofs);
    assert.equal(states(lookups).filter((state) => state === 'unknown NotFound').length, 5);
  });

  it('asks for canaries the way of the proofs, and only when something is absent', async () => {
    add(1, 2);
    const cloud = await openCloud();
    const quiet = await cloud.instances.lookup([ref(1)], { canaries: [ref(2)] });
    assert.deepEqual([...quiet.keys()], [providerID(1)]);
    const loud = await cloud.instances.lookup([ref(1), ref(7)], { canaries: [ref(2), ref(1)] });
    assert.deepEqual(Object.fromEntries([...loud].map(([key, lookup]) => [key, summary(lookup)])), {
      [providerID(1)]: 'found running by id',
      [providerID(7)]: 'absent',
      [providerID(2)]: 'found running by id',
    });
    assert.deepEqual([...describes().at(-1)!.ids], [id(2), id(1)]);
  });

  it('credentials of another account leave the canary absent too', async () => {
    const lookups = await (await openCloud()).instances.lookup([ref(1)], { canaries: [ref(2)] });
    assert.deepEqual(states(lookups), ['absent', 'absent']);
  });

  it('finds nodes by private DNS name in bulk and by a name that is an id; a name never proves absence', async () => {
    ec2.instances.set(id(1), running(id(1), { privateDnsName: 'ip-10-0-0-1.eu-west-1.compute.internal' }));
    ec2.instances.set(id(2), running(id(2), { privateDnsName: 'twin' }));
    ec2.instances.set(id(3), running(id(3), { privateDnsName: 'twin' }));
    ec2.instances.set(id(4), running(id(4), { privateDnsName: 'dead', state: 'terminated' }));
    const lookups = await (await openCloud()).instances.lookup([
      named('ip-10-0-0-1.eu-west-1.compute.internal'),
      named('twin'),
      named('dead'),
      named('nobody'),
      named(`${id(1)}.eu-west-1.compute.internal`),
      named(id(77)),
      named('*'),
    ]);
    assert.deepEqual(states(lookups), [
      'found running by list',
      'unknown Conflict',
      'unknown NotFound',
      'unknown NotFound',
      'found running by list',
      'unknown NotFound',
      'unknown Invalid',
    ]);
    assert.deepEqual(
      describes().filter(({ ids }) => ids.length > 0),
      [],
    );
  });

  it('asks for 150 names a call', async () => {
    const names = Array.from({ length: 151 }, (_, n) => named(`ip-10-0-0-${n}.eu-west-1.compute.internal`));
    await (await openCloud()).instances.lookup(names);
    assert.deepEqual(
      describes()
        .map(({ filters }) => filters.get('private-dns-name')?.length)
        .toSorted(),
      [1, 150],
    );
  });

  it('never asks for what this scope cannot hold', async () => {
    const foreign = [
      'openstack:///x',
      'aws:///us-east-1a/i-00000001',
      'aws:///eu-west-1a/fargate-ip-1',
      'aws:///eu-west-1a/i-*',
    ];
    const lookups = await (await openCloud()).instances.lookup(
      foreign.map((text) => ({ by: 'providerID', providerID: text })),
    );
    assert.deepEqual(states(lookups), Array(4).fill('unknown Invalid'));
    assert.deepEqual(ec2.calls, []);
  });

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
    it(`${name}: everything is unknown (${kind}), nothing absent`, async () => {
      ec2.fault = fault;
      const lookups = await (await openCloud()).instances.lookup([ref(1), ref(2), named('n')], { canaries: [ref(3)] });
      assert.deepEqual(states(lookups), Array(3).fill(`unknown ${kind}`));
    });
  }

  it('the proof failing leaves the candidate unknown', async () => {
    ec2.fault = ({ ids }, response) =>
      ids.length > 0 ? answerError(response, 500, 'InternalError', 'oops') : undefined;
    add(1);
    assert.deepEqual(states(await (await openCloud()).instances.lookup([ref(1), ref(7)])), [
      'found running by list',
      'unknown Unavailable',
    ]);
  });

  it('a page that fails leaves what came before it found and the rest unknown', async () => {
    add(1, 2, 3);
    ec2.pageSize = 2;
    ec2.fault = ({ form }, response) =>
      form.has('NextToken') ? answerError(response, 500, 'InternalError', 'oops') : undefined;
    const lookups = await (await openCloud()).instances.lookup([1, 2, 3].map(ref));
    assert.deepEqual(states(lookups), ['found running by list', 'found running by list', 'unknown Unavailable']);
    assert.deepEqual(
      describes().filter(({ ids }) => ids.length > 0),
      [],
    );
  });

  it('pages that go in a circle end, and prove nothing', async () => {
    ec2.fault = (_, response) =>
      answerXml(
        response,
        200,
        '<DescribeInstancesResponse><reservationSet/><nextToken>again</nextToken></DescribeInstancesResponse>',
      );
    assert.deepEqual(states(await (await openCloud()).instances.lookup([ref(1)])), ['unknown Unavailable']);
    assert.equal(ec2.calls.length, 2);
  });

  it('gives up after 30 s without an answer', async () => {
    const clock = fakeClock();
    const asked = Promise.withResolvers<void>();
    ec2.fault = () => {
      asked.resolve();
      return 'answered';
    };
    const lookup = (await openCloud({ clock })).instances.lookup([ref(1)]);
    await asked.promise;
    await clock.advance(30_000);
    assert.deepEqual(states(await lookup), ['unknown Timeout']);
    assert.deepEqual(
      calls.map(({ code }) => code),
      ['timeout'],
    );
  });

  it('a signal ends the lookup, everything unknown', async () => {
    const cancel = new AbortController();
    ec2.fault = () => {
      cancel.abort();
      return 'answered';
    };
    const lookups = await (await openCloud()).instances.lookup([ref(1)], { signal: cancel.signal });
    assert.deepEqual(states(lookups), ['unknown Unavailable']);
  });

  it('leaves EC2 alone for as long as it asked', async () => {
    const clock = fakeClock(undefined, 50);
    ec2.fault = (_, response) => answerError(response, 429, 'TooManyRequestsException', 'slow', { 'retry-after': '7' });
    const cloud = await openCloud({ clock });
    const first = (await cloud.instances.lookup([ref(1)])).get(providerID(1));
    assert.ok(first?.state === 'unknown');
    assert.equal(first.error.retryAfterMs, 7000);
    ec2.fault = undefined;
    add(1);
    assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['unknown Throttled']);
    assert.equal(ec2.calls.length, 1);
    await clock.advance(7000);
    assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['found running by list']);
  });

  it('answers every ref once, and absent only for an id it asked for', async () => {
    const cloud = await openCloud();
    const world = fc.record({
      existing: fc.uniqueArray(fc.integer({ min: 0, max: 40 })),
      asked: fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 45 }),
      pageSize: fc.integer({ min: 1, max: 50 }),
      failing: fc.constantFrom('nothing', 'lists', 'gets', 'second pages'),
    });
    await fc.assert(
      fc.asyncProperty(world, async ({ existing, asked, pageSize, failing }) => {
        ec2.instances.clear();
        add(...existing);
        ec2.calls.length = 0;
        ec2.pageSize = pageSize;
        ec2.fault = ({ ids, form }, response) => {
          const hit =
            (failing === 'lists' && ids.length === 0) ||
            (failing === 'gets' && ids.length > 0) ||
            (failing === 'second pages' && form.has('NextToken'));
          return hit ? answerError(response, 500, 'InternalError', 'oops') : undefined;
        };
        const lookups = await cloud.instances.lookup(asked.map(ref));
        assert.deepEqual(new Set(lookups.keys()), new Set(asked.map(providerID)));
        const askedById = new Set(describes().flatMap(({ ids }) => ids));
        for (const n of asked) {
          const lookup = lookups.get(providerID(n))!;
          if (existing.includes(n)) assert.notEqual(lookup.state, 'absent');
          if (lookup.state === 'absent') assert.ok(askedById.has(id(n)));
        }
        if (failing === 'nothing')
          assert.ok(asked.every((n) => !existing.includes(n) || lookups.get(providerID(n))?.state === 'found'));
      }),
      { numRuns: 60 },
    );
  });
});
