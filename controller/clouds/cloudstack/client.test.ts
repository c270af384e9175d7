import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isCloudError } from '../../../common/cloud-error.ts';
import { HttpFailure } from '../../../common/process/http.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import { createFakeCloudStack } from '../../../test/clouds/cloudstack/fake/fake-cloudstack.ts';
import { apiKey, secretKey } from '../../../test/clouds/cloudstack/fake/fake-keys.ts';
import type { FakeAnswer } from '../../../test/clouds/fake-http.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import { createClient, signedForm } from './client.ts';
import { cloud, isNoEntity } from './fault.ts';

function setUp(secret = secretKey) {
  const clock = fakeClock();
  const fake = createFakeCloudStack(clock);
  const calls: string[] = [];
  const rateLimiter = createRateLimiter({ cloud, clock, random: seededRandom(1) });
  const client = createClient({
    http: (request) => fake.http(request),
    clock,
    rateLimiter,
    endpoint: 'http://cs.test/client/api',
    apiKey,
    secretKey: secret,
    mutationTimeoutMs: 10_000,
    onCall: ({ operation, code }) => calls.push(`${operation} ${code}`),
  });
  const during = <T>(work: Promise<T>) => advanceDuring(clock, work);
  const failing = async (work: Promise<unknown>) => {
    const error = await during(work).catch((failure: unknown) => failure);
    assert.ok(isCloudError(error), String(error));
    return error;
  };
  return { clock, fake, client, calls, during, failing };
}
const answer = (status: number, errorcode: number, errortext: string): FakeAnswer => {
  return { status, body: { listvirtualmachinesresponse: { errorcode, cserrorcode: 9999, errortext } } };
};

describe('commands', () => {
  it('signs a command as the documentation of CloudStack does', () => {
    const secret = 'VDaACYb0LV9eNjTetIOElcVQkvJck_J_QljX_FcHRj87ZKiy0z0ty0ZsYBkoXkY9b7eq1EhwJaw7FF3akA3KBQ';
    const key = 'plgWJfZK4gyS3mOMTVmjUVg-X-jlWlnfaUJ9GAbBbf9EdM-kAYMmAiLqzzq1ElZLYq_u38zCm0bewzGUdP66mg';
    const form = signedForm({ command: 'listUsers', response: 'json', apikey: key }, secret);
    assert.equal(new URLSearchParams(form).get('signature'), 'TTpdDq/7j/J58XCRHomKoQXEQds=');
  });

  it('signs any characters so that the server reads what was meant', async () => {
    const { client, fake, during } = setUp();
    for (const value of ['a b', 'ü+/=&', "!'()*~", '100%', 'A,B'])
      await during(client.call('listVirtualMachines', { name: value }));
    assert.deepEqual(
      fake.commands.map(({ params }) => params.get('name')),
      ['a b', 'ü+/=&', "!'()*~", '100%', 'A,B'],
    );
  });

  it('rejects with Unauthorized when the secret is wrong', async () => {
    const { client, failing } = setUp('x'.repeat(86));
    assert.equal((await failing(client.call('listVirtualMachines', {}))).kind, 'Unauthorized');
  });

  for (const [status, code, text, kind] of [
    [431, 431, 'Page size can not exceed max', 'Invalid'],
    [431, 431, 'Invalid parameter id value=x due to incorrect long value format, or entity does not exist', 'NotFound'],
    [431, 431, 'IP address 192.0.2.1 is already allocated', 'Taken'],
    [432, 432, 'The user is not allowed to request the API command', 'Forbidden'],
    [429, 429, 'The given user has reached his/her account api limit', 'Throttled'],
    [530, 530, 'Internal error', 'Unavailable'],
    [533, 533, 'Insufficient address capacity', 'QuotaExceeded'],
    [535, 535, 'Maximum number of resources of type public_ip has been exceeded', 'QuotaExceeded'],
    [536, 536, 'Resource is in use', 'Busy'],
    [537, 537, 'The range specified, 80-80, conflicts with rule 12', 'Taken'],
  ] as const)
    it(`takes ${code} ${text.slice(0, 30)} for ${kind}, with the reason`, async () => {
      const { client, fake, calls, failing } = setUp();
      fake.fault = () => answer(status, code, text);
      const error = await failing(client.call('listVirtualMachines', {}));
      assert.equal(error.kind, kind);
      assert.deepEqual(calls, [`listVirtualMachines ${kind === 'NotFound' ? kind : status}`]);
      assert.match(error.message, new RegExp(`^cloudstack listVirtualMachines: ${status} ${text.slice(0, 20)}`));
    });

  it('takes the page of a proxy for Unavailable, a 404 and a success too', async () => {
    const { client, fake, failing } = setUp();
    for (const status of [200, 404, 502]) {
      fake.fault = () => ({ status, body: '<html>' });
      assert.equal((await failing(client.call('listVirtualMachines', {}))).kind, 'Unavailable', String(status));
    }
  });

  it('takes an answer without a list for Unavailable, not for an empty list', async () => {
    const { client, fake, failing } = setUp();
    for (const body of [{}, { status: {} }, { error: { code: 7 } }]) {
      fake.fault = () => ({ status: 200, body });
      const work = client.list('listVirtualMachines', 'virtualmachine', {});
      assert.equal((await failing(work)).kind, 'Unavailable', JSON.stringify(body));
    }
  });

  it('tell an id of nothing from a project of nothing', async () => {
    const { client, failing } = setUp();
    const nothing = '00000000-0000-4000-8000-000000000000';
    const error = await failing(client.call('listVirtualMachines', { id: nothing }));
    assert.deepEqual([isNoEntity(error, 'id'), isNoEntity(error, 'projectid')], [true, false]);
    const other = await failing(client.call('listVirtualMachines', { projectid: nothing }));
    assert.deepEqual([isNoEntity(other, 'id'), isNoEntity(other, 'projectid')], [false, true]);
  });

  it('counts a call without an answer as a timeout, and shows no key', async () => {
    const { client, fake, calls, failing } = setUp();
    fake.fault = () => {
      throw new HttpFailure('timeout', 'no answer');
    };
    const error = await failing(client.call('listVirtualMachines', {}));
    assert.deepEqual([error.kind, calls], ['Timeout', ['listVirtualMachines timeout']]);
    assert.ok(!error.message.includes(apiKey) && !error.message.includes(secretKey));
  });
});

describe('lists', () => {
  it('reads a list to the last page', async () => {
    const { client, fake, during } = setUp();
    for (let each = 0; each < 1001; each += 1) fake.addVm(`n${each}`);
    const vms = await during(client.list('listVirtualMachines', 'virtualmachine', {}));
    assert.equal(new Set(vms.map((vm) => vm.text('id'))).size, 1001);
    assert.equal(fake.commands.length, 3);
  });

  it('reads a list again when something goes between its pages, and fails where that does not end', async () => {
    const { client, fake, during, failing } = setUp();
    for (let each = 0; each < 501; each += 1) fake.addVm(`n${each}`);
    const first = [...fake.vms.keys()];
    let losses = 1;
    fake.fault = ({ params }) => {
      if (params.get('page') === '2' && losses > 0) {
        losses -= 1;
        fake.vms.delete(first.shift()!);
      }
      return undefined;
    };
    assert.equal((await during(client.list('listVirtualMachines', 'virtualmachine', {}))).length, 500);
    for (let each = 0; each < 600; each += 1) fake.addVm(`m${each}`);
    losses = 100;
    const error = await failing(client.list('listVirtualMachines', 'virtualmachine', {}));
    assert.match(error.message, /the list changed while its pages were read/);
  });
});

describe('jobs', () => {
  it('run, end, and fail with the reason that they tell', async () => {
    const { client, clock, fake, during } = setUp();
    const start = () =>
      during(client.start('associateIpAddress', { networkid: fake.network.id }, { permit: () => {} }));
    const { job, id } = await start();
    assert.ok(fake.addresses.has(id!));
    assert.deepEqual(await during(client.jobs([job])), new Map([[job, 'running']]));
    await clock.advance(1000);
    assert.deepEqual(await during(client.jobs([job])), new Map([[job, 'done']]));
    fake.fault = ({ name }) => {
      if (name !== 'queryAsyncJobResult') return undefined;
      const jobresult = { errorcode: 533, errortext: 'Insufficient address capacity' };
      return { status: 200, body: { queryasyncjobresultresponse: { jobstatus: 2, jobresultcode: 530, jobresult } } };
    };
    const failed = (await during(client.jobs([job]))).get(job);
    assert.ok(isCloudError(failed));
    assert.deepEqual([failed.kind, failed.message.includes('Insufficient address capacity')], ['QuotaExceeded', true]);
  });

  it('leaves out jobs that the API does not know any more, and tells the others', async () => {
    const { client, fake, during } = setUp();
    const { job } = await during(
      client.start('associateIpAddress', { networkid: fake.network.id }, { permit: () => {} }),
    );
    const gone = '00000000-0000-4000-8000-000000000000';
    assert.deepEqual(await during(client.jobs([gone, job])), new Map([[job, 'running']]));
  });

  it('starts no job without a permit', async () => {
    const { client, fake, during } = setUp();
    const refuse = () => {
      throw new Error('withheld');
    };
    const work = client.start('associateIpAddress', { networkid: fake.network.id }, { permit: refuse });
    await assert.rejects(during(work), /withheld/);
    assert.equal(fake.commands.length, 0);
  });
});
