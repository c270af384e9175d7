import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type FakeRouteTable, routeAnswer } from './fake-routes.ts';
import { leaf, tagSet } from './xml.ts';

export interface FakeInterface {
  readonly id?: string;
  readonly sourceDestCheck?: boolean;
  readonly deviceIndex?: number;
  readonly status?: string;
  readonly privateIps: readonly string[];
  readonly ipv6?: readonly string[];
}

export interface FakeInstance {
  readonly id: string;
  /** Left out of the answer when undefined. */
  readonly state?: string | undefined;
  readonly zone?: string;
  readonly type?: string;
  readonly privateDnsName?: string;
  readonly publicDnsName?: string;
  readonly publicIp?: string;
  /** Default true, as EC2 makes instances. */
  readonly sourceDestCheck?: boolean;
  readonly tags?: Readonly<Record<string, string>>;
  readonly vpcId?: string;
  readonly interfaces?: readonly FakeInterface[];
}

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

export interface FakeEc2 {
  readonly url: string;
  readonly calls: FakeCall[];
  readonly instances: Map<string, FakeInstance>;
  readonly tables: Map<string, FakeRouteTable>;
  /** Of an instance: its place in the network, the widest layer first. */
  readonly topologies: Map<string, readonly string[]>;
  /** Of every credential. */
  account: string;
  /** How many routes a table takes. */
  routeLimit: number;
  zones: ReadonlyMap<string, string>;
  pageSize: number;
  fault: Fault | undefined;
  close(): Promise<void>;
}

export const fakeCaller = 'arn:aws-us-gov:sts::123456789012:assumed-role/mooring/session';

/** EC2's query API as far as nodes need it: wire-true answers and errors of version 2016-11-15. */
export async function startFakeEc2(): Promise<FakeEc2> {
  const server = createServer((request, response) => {
    void readBody(request).then((body) => handle(fake, body, request.headers.authorization ?? '', response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const fake: FakeEc2 = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    instances: new Map(),
    tables: new Map(),
    topologies: new Map(),
    account: '123456789012',
    routeLimit: 50,
    zones: new Map([['eu-west-1a', 'euw1-az1']]),
    pageSize: 1000,
    fault: undefined,
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
  const xml = `<?xml version="1.0" encoding="UTF-8"?>
<Response><Errors><Error><Code>${code}</Code><Message>${message}</Message></Error></Errors><RequestID>9d71</RequestID></Response>`;
  return answerXml(response, status, xml, headers);
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
  if (call.action === 'AssumeRole') {
    const credential =
      '<AccessKeyId>ASIAASSUMED</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>';
    const life = '<Expiration>2099-01-01T00:00:00Z</Expiration>';
    const result = `<AssumeRoleResult><Credentials>${credential}${life}</Credentials></AssumeRoleResult>`;
    answerXml(response, 200, `<AssumeRoleResponse>${result}</AssumeRoleResponse>`);
    return;
  }
  if (form.get('Version') === '2011-06-15') {
    const identity = `<GetCallerIdentityResult><Arn>${fakeCaller}</Arn><Account>${fake.account}</Account></GetCallerIdentityResult>`;
    answerXml(response, 200, `<GetCallerIdentityResponse>${identity}</GetCallerIdentityResponse>`);
    return;
  }
  if (form.get('Version') !== '2016-11-15') {
    // Either API of Elastic Load Balancing, in a region without load balancers.
    const error = '<Error><Type>Sender</Type><Code>LoadBalancerNotFound</Code><Message>none</Message></Error>';
    answerXml(response, 400, `<ErrorResponse>${error}<RequestId>1</RequestId></ErrorResponse>`);
    return;
  }
  if (form.get('DryRun') === 'true') {
    answerError(response, 412, 'DryRunOperation', 'Request would have succeeded, but DryRun flag is set.');
    return;
  }
  if (call.action === 'DescribeAvailabilityZones') {
    const items = [...fake.zones].map(
      ([name, id]) => `<item><zoneName>${name}</zoneName><zoneId>${id}</zoneId></item>`,
    );
    answerXml(
      response,
      200,
      document('DescribeAvailabilityZones', `<availabilityZoneInfo>${items.join('')}</availabilityZoneInfo>`),
    );
    return;
  }
  if (call.action === 'DescribeInstances') {
    describeInstances(fake, call, response);
    return;
  }
  if (call.action === 'DescribeInstanceTopology') {
    answerXml(response, 200, document('DescribeInstanceTopology', topology(fake, call.ids)));
    return;
  }
  const answer = routeAnswer(fake, call);
  if (answer === undefined) answerError(response, 400, 'InvalidAction', `The action ${call.action} is not valid`);
  else if ('code' in answer) answerError(response, 400, answer.code, answer.message);
  else answerXml(response, 200, document(call.action, answer.xml));
}

function topology({ topologies }: FakeEc2, ids: readonly string[]): string {
  const items = ids.flatMap((id) => {
    const layers = topologies.get(id);
    if (layers === undefined) return [];
    return `<item>${leaf('instanceId', id)}<networkNodeSet>${layers.map((layer) => leaf('item', layer)).join('')}</networkNodeSet></item>`;
  });
  return `<instanceSet>${items.join('')}</instanceSet>`;
}

function describeInstances(fake: FakeEc2, { ids, filters, form }: FakeCall, response: ServerResponse): void {
  if (ids.length > 0) {
    const malformed = ids.find((id) => !/^i-([0-9a-f]{8}|[0-9a-f]{17})$/.test(id));
    if (malformed !== undefined) {
      answerError(response, 400, 'InvalidInstanceID.Malformed', `Invalid id: &quot;${malformed}&quot;`);
      return;
    }
    const missing = ids.filter((id) => !fake.instances.has(id));
    if (missing.length > 0) {
      const [noun, verb] = missing.length === 1 ? ['ID', 'does'] : ['IDs', 'do'];
      const message = `The instance ${noun} &#39;${missing.join(', ')}&#39; ${verb} not exist`;
      answerError(response, 400, 'InvalidInstanceID.NotFound', message);
      return;
    }
    answerXml(response, 200, document('DescribeInstances', reservations(ids.map((id) => fake.instances.get(id)!))));
    return;
  }
  const hits = [...fake.instances.values()].filter((instance) =>
    [...filters].every(([name, values]) => values.includes(filterValue(instance, name))),
  );
  const from = Number(form.get('NextToken') ?? 0);
  const page = hits.slice(from, from + fake.pageSize);
  const next = from + page.length < hits.length ? `<nextToken>${from + page.length}</nextToken>` : '';
  answerXml(response, 200, document('DescribeInstances', reservations(page) + next));
}

function filterValue(instance: FakeInstance, name: string): string {
  if (name === 'instance-id') return instance.id;
  if (name === 'private-dns-name') return instance.privateDnsName ?? '';
  if (name === 'instance-state-name') return instance.state ?? '';
  throw new Error(`filter ${name}`);
}

function document(action: string, content: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<${action}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>8f7724cf</requestId>${content}</${action}Response>`;
}

function reservations(instances: readonly FakeInstance[]): string {
  const items = instances.map(
    (instance) => `<item><reservationId>r-1</reservationId><ownerId>123456789012</ownerId><groupSet/>
<instancesSet><item>${instanceXml(instance)}</item></instancesSet></item>`,
  );
  return `<reservationSet>${items.join('')}</reservationSet>`;
}

function instanceXml(instance: FakeInstance): string {
  const state =
    instance.state === undefined ? '' : `<instanceState><code>16</code>${leaf('name', instance.state)}</instanceState>`;
  const interfaces = (instance.interfaces ?? []).map((one) => {
    const { deviceIndex, status = 'in-use', privateIps, ipv6 = [] } = one;
    const ips = privateIps.map((ip) => `<item>${leaf('privateIpAddress', ip)}</item>`).join('');
    const attachment =
      deviceIndex === undefined ? '' : `<attachment><deviceIndex>${deviceIndex}</deviceIndex></attachment>`;
    const six = ipv6.map((ip) => `<item>${leaf('ipv6Address', ip)}</item>`).join('');
    const check = leaf('sourceDestCheck', String(one.sourceDestCheck ?? true));
    return `<item>${leaf('networkInterfaceId', one.id)}${leaf('status', status)}${check}<privateIpAddressesSet>${ips}</privateIpAddressesSet>
<ipv6AddressesSet>${six}</ipv6AddressesSet>${attachment}</item>`;
  });
  return [
    leaf('instanceId', instance.id),
    state,
    leaf('privateDnsName', instance.privateDnsName),
    leaf('dnsName', instance.publicDnsName),
    leaf('instanceType', instance.type),
    `<placement>${leaf('availabilityZone', instance.zone)}<tenancy>default</tenancy></placement>`,
    leaf('ipAddress', instance.publicIp),
    leaf('vpcId', instance.vpcId),
    leaf('sourceDestCheck', String(instance.sourceDestCheck ?? true)),
    tagSet(instance.tags ?? {}),
    `<networkInterfaceSet>${interfaces.join('')}</networkInterfaceSet>`,
  ].join('');
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
