import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { CreateRouteCommand, DescribeInstancesCommand } from '@aws-sdk/client-ec2';
import { DescribeLoadBalancersCommand, ElasticLoadBalancingClient } from '@aws-sdk/client-elastic-load-balancing';
import {
  DeleteTargetGroupCommand,
  DescribeTargetGroupsCommand,
  ElasticLoadBalancingV2Client,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import { isCloudError } from '../../../common/cloud-error.ts';
import { systemClock } from '../../../common/process/clock.ts';
import { restOrAbort } from '../../../common/process/until.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { startTestProxy } from '../../../common/testing/test-proxy.ts';
import type { CloudCall, CloudContext } from '../cloud.ts';
import { WithheldError } from '../permit.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import { createEc2 } from './ec2.ts';
import { codeOf } from './errors.ts';
import { clientDefaults, createServiceCalls, type ServiceCallsOptions } from './service-calls.ts';

interface Answer {
  readonly status: number;
  readonly xml: string;
  readonly headers?: Record<string, string>;
}

const ec2Error = (code: string): Answer => ({
  status: 400,
  xml: `<Response><Errors><Error><Code>${code}</Code><Message>said</Message></Error></Errors></Response>`,
});
const elbError = (code: string): Answer => ({
  status: 400,
  xml:
    `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>said</Message></Error><RequestId>1</` +
    'RequestId></ErrorResponse>',
});

let server: Server;
let url: string;
let requests: string[] = [];
let answerWith: (body: string) => Answer | Promise<Answer>;
let calls: CloudCall[] = [];

function options(more: Partial<CloudContext> = {}): ServiceCallsOptions {
  const clock = more.clock ?? systemClock();
  const rateLimiter = () => createRateLimiter({ cloud: 'aws', clock, random: () => 0.5 });
  return {
    context: { onCall: (call) => calls.push(call), ...more, clock },
    rateLimiters: { read: rateLimiter(), change: rateLimiter() },
  };
}
const credential = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };
const config = (env: CloudContext['env'] = {}) => ({
  region: 'eu-west-1',
  endpoint: url,
  credentials: async () => credential,
  ...clientDefaults(env),
});
const route = () => new CreateRouteCommand({ RouteTableId: 'rtb-1', DestinationCidrBlock: '10.0.0.0/24' });
const permit = () => {};

describe('calls to AWS', () => {
  before(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', async () => {
        requests.push(body);
        const { status, xml, headers } = await answerWith(body);
        response.writeHead(status, { 'content-type': 'text/xml', ...headers });
        response.end(xml);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  beforeEach(() => {
    requests = [];
    calls = [];
    answerWith = () => ({ status: 200, xml: '<CreateRouteResponse><return>true</return></CreateRouteResponse>' });
  });

  it('asks for the permit after the credential was found, and sends nothing when it is withheld', async () => {
    const order: string[] = [];
    const credentials = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      order.push('credential');
      return credential;
    };
    const ec2 = createEc2({ ...config(), credentials }, options({ mutationTimeoutMs: 7000 }));
    const refusing = (ms: number) => {
      order.push(`permit for ${ms}`);
      throw new WithheldError('Fenced', 'not now');
    };
    await assert.rejects(ec2.change(route(), { permit: refusing }), { name: 'WithheldError' });
    assert.deepEqual(order, ['credential', 'permit for 7000']);
    assert.deepEqual([requests, calls], [[], []]);
    assert.equal((await ec2.change(route(), { permit })).Return, true);
    assert.equal(requests.length, 1);
    ec2.close();
  });

  it('go through the proxy of the environment, the only one that knows the name of the endpoint', async () => {
    const proxy = await startTestProxy(() => Number(new URL(url).port));
    const endpoint = 'http://ec2.test';
    const ec2 = createEc2({ ...config({ http_proxy: proxy.url }), endpoint }, options());
    try {
      assert.equal((await ec2.change(route(), { permit })).Return, true);
      assert.deepEqual(proxy.seen, ['POST http://ec2.test/ user:pass']);
    } finally {
      ec2.close();
      proxy.close();
    }
  });

  it('passes on whatever the permit throws', async () => {
    const ec2 = createEc2(config(), options());
    const odd = new TypeError('odd');
    const refusing = () => {
      throw odd;
    };
    await assert.rejects(ec2.change(route(), { permit: refusing }), (error) => error === odd);
    assert.deepEqual([requests, calls], [[], []]);
    ec2.close();
  });

  it('never sends a change whose credential came after the deadline', async () => {
    const clock = fakeClock();
    const late = Promise.withResolvers<typeof credential>();
    const ec2 = createEc2({ ...config(), credentials: () => late.promise }, options({ clock }));
    let asked = 0;
    const attempt = ec2.change(route(), {
      permit: () => {
        asked += 1;
      },
    });
    const refused = assert.rejects(attempt, { name: 'CloudError', kind: 'Timeout' });
    await clock.advance(30_000);
    await refused;
    late.resolve(credential);
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([asked, requests.length], [0, 0]);
    ec2.close();
  });

  it('gives a change the time that its permit was asked for', async () => {
    const clock = fakeClock();
    const arrived = Promise.withResolvers<void>();
    answerWith = () => {
      arrived.resolve();
      return new Promise(() => {});
    };
    const ec2 = createEc2(config(), options({ clock, mutationTimeoutMs: 4000 }));
    const refused = assert.rejects(ec2.change(route(), { permit }), { kind: 'Timeout' });
    await arrived.promise;
    await clock.advance(3999);
    assert.deepEqual(calls, []);
    await clock.advance(1);
    await refused;
    assert.deepEqual(
      calls.map(({ code }) => code),
      ['timeout'],
    );
    ec2.close();
  });

  it('makes one exchange for each call, whatever the answer', async () => {
    answerWith = () => ({
      status: 503,
      xml: '<Response><Errors><Error><Code>Unavailable</Code></Error></Errors></Response>',
    });
    const ec2 = createEc2(config(), options());
    await assert.rejects(ec2.read(new DescribeInstancesCommand({})), { kind: 'Unavailable' });
    await assert.rejects(ec2.change(route(), { permit }), { kind: 'Unavailable' });
    assert.equal(requests.length, 2);
    assert.deepEqual(
      calls.map(({ operation, code }) => `${operation} ${code}`),
      ['DescribeInstances Unavailable', 'CreateRoute Unavailable'],
    );
    ec2.close();
  });

  it('sends 32 changes at once', async () => {
    const all = Promise.withResolvers<void>();
    let underWay = 0;
    let mostUnderWay = 0;
    answerWith = async () => {
      underWay += 1;
      mostUnderWay = Math.max(mostUnderWay, underWay);
      if (underWay === 32) all.resolve();
      await all.promise;
      underWay -= 1;
      return { status: 200, xml: '<CreateRouteResponse><return>true</return></CreateRouteResponse>' };
    };
    const ec2 = createEc2(config(), options());
    const changes = Promise.all(Array.from({ length: 32 }, () => ec2.change(route(), { permit })));
    // Fewer at once would wait for one another: they are let go then, and counted.
    const waiting = new AbortController();
    await Promise.race([all.promise, restOrAbort(systemClock(), 20_000, waiting.signal)]);
    waiting.abort();
    assert.equal(mostUnderWay, 32);
    all.resolve();
    await changes;
    ec2.close();
  });

  it('rests reads and changes apart from one another', async () => {
    answerWith = (body) => (body.includes('CreateRoute') ? ec2Error('RequestLimitExceeded') : ec2Error('Other'));
    const ec2 = createEc2(config(), options());
    const change = () => ec2.change(route(), { permit });
    await assert.rejects(change(), { kind: 'Throttled' });
    await assert.rejects(change(), { kind: 'Throttled' });
    await assert.rejects(ec2.read(new DescribeInstancesCommand({})), { kind: 'Invalid' });
    assert.equal(requests.length, 2);
    ec2.close();
  });

  const ofEc2: [string, string][] = [
    ['RequestLimitExceeded', 'Throttled'],
    ['RouteLimitExceeded', 'QuotaExceeded'],
    ['RulesPerSecurityGroupLimitExceeded', 'QuotaExceeded'],
    ['RouteAlreadyExists', 'Conflict'],
    ['DependencyViolation', 'Conflict'],
    ['InvalidGroup.Duplicate', 'Conflict'],
    ['InvalidPermission.Duplicate', 'Conflict'],
    ['InvalidGroup.InUse', 'Conflict'],
    ['InvalidRoute.NotFound', 'NotFound'],
    ['InvalidRouteTableID.NotFound', 'NotFound'],
    ['UnauthorizedOperation', 'Forbidden'],
    ['AuthFailure', 'Unauthorized'],
    ['InvalidParameterValue', 'Invalid'],
  ];
  const ofElb: [string, string][] = [
    ['Throttling', 'Throttled'],
    ['LoadBalancerNotFound', 'NotFound'],
    ['TargetGroupNotFound', 'NotFound'],
    ['DuplicateLoadBalancerName', 'Conflict'],
    ['DuplicateTargetGroupName', 'Conflict'],
    ['ResourceInUse', 'Conflict'],
    ['OperationNotPermitted', 'Conflict'],
    ['PriorRequestNotComplete', 'Conflict'],
    ['TooManyLoadBalancers', 'QuotaExceeded'],
    ['TooManyTargets', 'QuotaExceeded'],
    ['InvalidTarget', 'Invalid'],
    ['ValidationError', 'Invalid'],
    ['AccessDenied', 'Forbidden'],
    ['ExpiredToken', 'Unauthorized'],
  ];
  for (const [code, kind] of ofEc2) {
    it(`EC2 ${code} is ${kind}`, async () => {
      answerWith = () => ec2Error(code);
      const ec2 = createEc2(config(), options());
      await assert.rejects(ec2.change(route(), { permit }), (error) => codeAndKind(error, code, kind));
      ec2.close();
    });
  }
  for (const [code, kind] of ofElb) {
    it(`ELB ${code} is ${kind}, by both of its APIs`, async () => {
      answerWith = () => elbError(code);
      const elb = createServiceCalls(new ElasticLoadBalancingClient(config()), options());
      const elbv2 = createServiceCalls(new ElasticLoadBalancingV2Client(config()), options());
      const expected = (error: unknown) => codeAndKind(error, code, kind);
      const change = new DeleteTargetGroupCommand({ TargetGroupArn: 'arn:x' });
      await assert.rejects(elbv2.change(change, { permit }), expected);
      const read = new DescribeTargetGroupsCommand({});
      await assert.rejects(elbv2.read(read), expected);
      await assert.rejects(elb.read(new DescribeLoadBalancersCommand({})), expected);
      assert.deepEqual(new Set(calls.map((call) => call.code)), new Set([code]));
      elb.close();
      elbv2.close();
    });
  }
});

function codeAndKind(error: unknown, code: string, kind: string): true {
  assert.ok(isCloudError(error), String(error));
  assert.deepEqual([codeOf(error.cause), error.kind], [code, kind]);
  return true;
}
