import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { classicActions } from './fake-classic.ts';
import { elbV2Actions } from './fake-elbv2.ts';
import { instanceActions } from './fake-instances.ts';
import { networkActions } from './fake-network.ts';
import { routeActions } from './fake-routes.ts';
import { volumeActions } from './fake-volumes.ts';
import { AwsFault, decoded, encoded, type Wire } from './query.ts';
import { type FakeInstance, type FakeRegion, newRegion } from './region.ts';

export interface FakeCall {
  readonly action: string;
  readonly form: URLSearchParams;
  readonly authorization: string;
  /** InstanceId.N of the request. */
  readonly ids: readonly string[];
  /** Filter name to values. */
  readonly filters: ReadonlyMap<string, readonly string[]>;
}

/** Answers a call in place of the fake's own answer; undefined leaves it to the fake. */
export type Fault = (call: FakeCall, response: ServerResponse) => 'answered' | undefined;

export interface FakeAnswer {
  readonly status: number;
  readonly body: string;
}

export interface FakeEc2 extends FakeRegion {
  readonly url: string;
  readonly calls: FakeCall[];
  /** Of an instance: its place in the network, the widest layer first. */
  readonly topologies: Map<string, readonly string[]>;
  /** Of every credential. */
  account: string;
  zones: ReadonlyMap<string, string>;
  fault: Fault | undefined;
  /** What is answered to a request, without a connection; `fault` and `calls` know nothing of it. */
  answer(form: URLSearchParams): FakeAnswer;
  close(): Promise<void>;
}

export const fakeCaller = 'arn:aws-us-gov:sts::123456789012:assumed-role/mooring/session';

/**
 * One region of AWS in this process, over HTTP in the SDK's protocol: EC2 as far as nodes, routes and security groups
 * need it, both APIs of Elastic Load Balancing, and STS, with AWS's answers and errors. Changes show at once, but the
 * network interfaces of a deleted load balancer hold its security groups for a while.
 */
export async function startFakeEc2(): Promise<FakeEc2> {
  const server = createServer((request, response) => {
    void readBody(request).then((body) => handle(fake, body, request.headers.authorization ?? '', response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const fake: FakeEc2 = {
    ...newRegion(),
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    topologies: new Map(),
    account: '123456789012',
    zones: new Map([['eu-west-1a', 'euw1-az1']]),
    fault: undefined,
    answer: (form) => answerTo(fake, form),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return fake;
}

export function running(id: string, more: Partial<FakeInstance> = {}): FakeInstance {
  return {
    id,
    state: 'running',
    zone: 'eu-west-1a',
    type: 'm6i.large',
    privateDnsName: `ip-${id.slice(2)}.eu-west-1.compute.internal`,
    interfaces: [{ deviceIndex: 0, privateIps: ['10.0.0.1'] }],
    ...more,
  };
}

export function answerXml(
  response: ServerResponse,
  status: number,
  xml: string,
  headers: Record<string, string> = {},
): 'answered' {
  response.writeHead(status, { 'content-type': 'text/xml;charset=UTF-8', ...headers });
  response.end(xml);
  return 'answered';
}

/** An error as EC2 sends it. */
export function answerError(
  response: ServerResponse,
  status: number,
  code: string,
  message: string,
  headers: Record<string, string> = {},
): 'answered' {
  return answerXml(response, status, ec2Error(code, message), headers);
}

function ec2Error(code: string, message: string): string {
  const error = `<Errors><Error><Code>${code}</Code><Message>${message}</Message></Error></Errors>`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Response>${error}<RequestID>9d71</RequestID></Response>`;
}

function handle(fake: FakeEc2, body: string, authorization: string, response: ServerResponse): void {
  const form = new URLSearchParams(body);
  const call: FakeCall = {
    action: form.get('Action') ?? '',
    form,
    authorization,
    ids: numbered(form, 'InstanceId'),
    filters: filtersOf(form),
  };
  fake.calls.push(call);
  if (fake.fault?.(call, response) === 'answered') return;
  const { status, body: xml } = answerTo(fake, form);
  answerXml(response, status, xml);
}

function answerTo(fake: FakeEc2, form: URLSearchParams): FakeAnswer {
  try {
    return { status: 200, body: documentFor(fake, form) };
  } catch (error) {
    if (!(error instanceof AwsFault)) throw error;
    const { code: Code, message: Message } = error;
    if (form.get('Version') === ec2Version) {
      return { status: Code === 'DryRunOperation' ? 412 : 400, body: ec2Error(Code, encoded(Message, 'item')) };
    }
    const said = { Error: { Type: 'Sender', Code, Message }, RequestId: '1' };
    return { status: 400, body: encoded({ ErrorResponse: said }, 'member') };
  }
}

const ec2Version = '2016-11-15';
const stsVersion = '2011-06-15';

function documentFor(fake: FakeEc2, form: URLSearchParams): string {
  const action = form.get('Action') ?? '';
  const version = form.get('Version');
  if (version === ec2Version) {
    const content = encoded({ requestId: '8f7724cf', ...(ec2Answer(fake, action, form) as object) }, 'item');
    const xmlns = 'http://ec2.amazonaws.com/doc/2016-11-15/';
    return `<?xml version="1.0" encoding="UTF-8"?>\n<${action}Response xmlns="${xmlns}">${content}</${action}Response>`;
  }
  const actions: Readonly<Record<string, (region: FakeRegion, request: never) => Wire>> =
    version === '2012-06-01' ? classicActions : elbV2Actions;
  const run = actions[action];
  if (version !== stsVersion && run === undefined) throw new AwsFault('InvalidAction', `${action} is not valid`);
  const result = version === stsVersion ? stsAnswer(fake, action) : run!(fake, decoded<never>(form));
  return encoded({ [`${action}Response`]: { [`${action}Result`]: result } }, 'member');
}

function stsAnswer(fake: FakeEc2, action: string): Wire {
  if (action !== 'AssumeRole') return { Arn: fakeCaller, Account: fake.account };
  const keys = { AccessKeyId: 'ASIAASSUMED', SecretAccessKey: 's', SessionToken: 't' };
  return { Credentials: { ...keys, Expiration: '2099-01-01T00:00:00Z' } };
}

function ec2Answer(fake: FakeEc2, action: string, form: URLSearchParams): Wire {
  if (form.get('DryRun') === 'true') {
    throw new AwsFault('DryRunOperation', 'Request would have succeeded, but DryRun flag is set.');
  }
  if (action === 'DescribeAvailabilityZones') {
    const zoneType = 'availability-zone';
    return { availabilityZoneInfo: [...fake.zones].map(([zoneName, zoneId]) => ({ zoneName, zoneId, zoneType })) };
  }
  if (action === 'DescribeInstanceTopology') {
    const items = numbered(form, 'InstanceId').flatMap((id) => {
      const layers = fake.topologies.get(id);
      return layers === undefined ? [] : [{ instanceId: id, networkNodeSet: layers }];
    });
    return { instanceSet: items };
  }
  const actions: Readonly<Record<string, (region: FakeRegion, request: never) => Wire>> = {
    ...instanceActions,
    ...networkActions,
    ...routeActions,
    ...volumeActions,
  };
  const run = actions[action];
  if (run === undefined) throw new AwsFault('InvalidAction', `The action ${action} is not valid`);
  return run(fake, decoded<never>(form));
}

function numbered(form: URLSearchParams, prefix: string): string[] {
  const values: string[] = [];
  for (let at = 1; form.has(`${prefix}.${at}`); at += 1) values.push(form.get(`${prefix}.${at}`)!);
  return values;
}

function filtersOf(form: URLSearchParams): ReadonlyMap<string, readonly string[]> {
  const filters = new Map<string, readonly string[]>();
  for (let at = 1; form.has(`Filter.${at}.Name`); at += 1) {
    filters.set(form.get(`Filter.${at}.Name`)!, numbered(form, `Filter.${at}.Value`));
  }
  return filters;
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += chunk;
  return body;
}
