import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { type FakeAnswer, hang, type SeenRequest, treeAnswer } from '../testing/fake-metadata.ts';
import { hurried, never, openBeside, testFaults } from '../testing/source-suite.ts';
import { aws } from './aws.ts';

const tree: Readonly<Record<string, string>> = JSON.parse(
  await readFile(new URL('fixtures/aws.json', import.meta.url), 'utf8'),
);
const meta = '/latest/meta-data/';
const nic = `${meta}network/interfaces/macs/`;
const documentPath = '/latest/dynamic/instance-identity/document';

/** IMDSv2: no answer without a token that this service gave out. */
function imds(
  paths: Readonly<Record<string, string>>,
  valid: (token: string) => boolean = (token) => token === 'token-1',
) {
  let issued = 0;
  const read = treeAnswer(paths);
  return (request: SeenRequest): FakeAnswer => {
    if (request.path === '/latest/api/token') {
      if (request.method !== 'PUT') return { status: 405 };
      const ttl = Number(request.headers['x-aws-ec2-metadata-token-ttl-seconds']);
      if (!(ttl >= 1 && ttl <= 21_600)) return { status: 400 };
      issued += 1;
      return `token-${issued}`;
    }
    if (!valid(String(request.headers['x-aws-ec2-metadata-token']))) return { status: 401 };
    return read(request);
  };
}

function without(...paths: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(tree).filter(([path]) => !paths.includes(path)));
}

function withDocument(changes: Readonly<Record<string, unknown>>): Record<string, string> {
  return { ...tree, [documentPath]: JSON.stringify({ ...JSON.parse(tree[documentPath]!), ...changes }) };
}

test('reads identity, place, type and addresses in the order of the cloud controller', async (context) => {
  const { source, service } = await openBeside(context, aws, imds(tree));
  assert.deepEqual(await source.read(never), {
    cloud: 'aws',
    id: 'i-0aa11bb22cc33dd44',
    providerID: 'aws:///eu-west-3a/i-0aa11bb22cc33dd44',
    incarnation: 'i-0aa11bb22cc33dd44',
    zone: 'eu-west-3a',
    region: 'eu-west-3',
    type: 'm7i.large',
    addresses: [
      { type: 'InternalIP', address: '10.20.0.7' },
      { type: 'InternalIP', address: '10.20.0.8' },
      { type: 'InternalIP', address: '10.20.1.9' },
      { type: 'ExternalIP', address: '192.0.2.77' },
      { type: 'InternalDNS', address: 'ip-10-20-0-7.eu-west-3.compute.internal' },
      { type: 'Hostname', address: 'ip-10-20-0-7.eu-west-3.compute.internal' },
      { type: 'ExternalDNS', address: 'ec2-192-0-2-77.eu-west-3.compute.amazonaws.com' },
      { type: 'InternalIP', address: '2001:db8::7' },
    ],
    labels: { 'topology.k8s.aws/zone-id': 'euw3-az1' },
  });
  const [first, ...others] = service.requests;
  assert.equal(first?.headers['x-aws-ec2-metadata-token-ttl-seconds'], '21600');
  assert.ok(others.every(({ headers }) => headers['x-aws-ec2-metadata-token'] === 'token-1'));
});

test('one token serves many reads, and a new one is fetched shortly before it ends', async (context) => {
  const clock = fakeClock();
  const { source, service } = await openBeside(
    context,
    aws,
    imds(tree, () => true),
    { clock },
  );
  const puts = () => service.requests.filter(({ method }) => method === 'PUT').length;
  await source.read(never);
  await source.read(never);
  assert.equal(puts(), 1);
  await clock.advance(21_541_000);
  await source.read(never);
  assert.equal(puts(), 2);
});

test('a token that is refused during a read is fetched again, once', async (context) => {
  let refusedAfter = 5;
  const { source, service } = await openBeside(
    context,
    aws,
    imds(tree, (token) => token === 'token-2' || refusedAfter-- > 0),
  );
  assert.equal((await source.read(never)).id, 'i-0aa11bb22cc33dd44');
  assert.equal(service.requests.filter(({ method }) => method === 'PUT').length, 2);
});

test('a service that refuses every token is Unauthorized, without endless retries', async (context) => {
  const { source, service } = await openBeside(
    context,
    aws,
    imds(tree, () => false),
  );
  assert.equal((await failureOf(source.read(never))).kind, 'Unauthorized');
  assert.equal(service.requests.length, 4);
});

test('an instance without public address, names or IPv6 has none of them', async (context) => {
  const bare = without(
    `${meta}public-ipv4`,
    `${meta}public-hostname`,
    `${meta}placement/availability-zone-id`,
    `${nic}0a:00:00:00:00:01/ipv6s`,
    `${nic}0a:00:00:00:00:01/public-ipv4s`,
  );
  const { source } = await openBeside(context, aws, imds(bare));
  const instance = await source.read(never);
  assert.deepEqual(
    instance.addresses.map(({ type }) => type),
    ['InternalIP', 'InternalIP', 'InternalIP', 'InternalDNS', 'Hostname'],
  );
  assert.equal(instance.labels, undefined);
});

test('an IPv6-only instance has its first IPv6 address as internal one', async (context) => {
  const only6 = {
    ...without(
      `${meta}public-ipv4`,
      `${meta}public-hostname`,
      `${meta}local-ipv4`,
      `${nic}0a:00:00:00:00:01/local-ipv4s`,
      `${nic}0a:00:00:00:00:01/public-ipv4s`,
    ),
    [nic]: '0a:00:00:00:00:01/',
    [`${meta}local-hostname`]: 'i-0aa11bb22cc33dd44.eu-west-3.compute.internal',
  };
  const { source } = await openBeside(context, aws, imds(only6));
  assert.deepEqual((await source.read(never)).addresses, [
    { type: 'InternalDNS', address: 'i-0aa11bb22cc33dd44.eu-west-3.compute.internal' },
    { type: 'Hostname', address: 'i-0aa11bb22cc33dd44.eu-west-3.compute.internal' },
    { type: 'InternalIP', address: '2001:db8::7' },
  ]);
});

test('takes the first of several domains in the host name', async (context) => {
  const paths = { ...tree, [`${meta}local-hostname`]: 'ip-10-20-0-7.corp.example ip-10-20-0-7.lab.example' };
  const { source } = await openBeside(context, aws, imds(paths));
  const names = (await source.read(never)).addresses.filter(({ type }) => type === 'InternalDNS');
  assert.deepEqual(names, [{ type: 'InternalDNS', address: 'ip-10-20-0-7.corp.example' }]);
});

test('an interface that is detached during the read is left out', async (context) => {
  const { source } = await openBeside(context, aws, imds(without(`${nic}0a:00:00:00:00:02/device-number`)));
  assert.ok(!(await source.read(never)).addresses.some(({ address }) => address === '10.20.1.9'));
});

const malformed: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
  ['no identity document', without(documentPath), /identity document: missing/],
  ['a document that is not JSON', { ...tree, [documentPath]: '<html>' }, /not JSON/],
  ['a document that is a list', { ...tree, [documentPath]: '[]' }, /document: \[\], expected an object/],
  ['no instanceId', withDocument({ instanceId: undefined }), /instanceId: missing, expected text/],
  ['an instanceId of another cloud', withDocument({ instanceId: 'ins-12345' }), /instanceId: "ins-12345", expected i-/],
  ['an empty zone', withDocument({ availabilityZone: '' }), /availabilityZone: "", expected text/],
  ['no region', withDocument({ region: null }), /region: null, expected text/],
  ['a type that is a list', withDocument({ instanceType: ['a'] }), /instanceType: \["a"\], expected text/],
  [
    'another id in the tree',
    { ...tree, [`${meta}instance-id`]: 'i-0fff' },
    /instance-id: "i-0fff", expected i-0aa11bb22cc33dd44/,
  ],
  ['no id in the tree', without(`${meta}instance-id`), /instance-id: missing, expected i-0aa/],
  [
    'another zone in the tree',
    { ...tree, [`${meta}placement/availability-zone`]: 'eu-west-3b' },
    /"eu-west-3b", expected eu-west-3a/,
  ],
  ['a MAC that leads elsewhere', { ...tree, [nic]: '../../user-data' }, /mac: "..\/..\/user-data", expected a MAC/],
  ['a list of interfaces that is missing', without(nic), /macs: missing, expected an interface with an address/],
  [
    'interfaces without any address',
    Object.fromEntries(Object.entries(tree).filter(([path]) => !/(local-ipv4|ipv6)s$/.test(path))),
    /macs: missing, expected an interface with an address/,
  ],
  [
    'an address that is none',
    { ...tree, [`${meta}public-ipv4`]: 'pending' },
    /public-ipv4: "pending", expected an IP address/,
  ],
];

for (const [name, paths, message] of malformed) {
  test(`${name} is an error that names the field`, async (context) => {
    const { source } = await openBeside(context, aws, imds(paths));
    const error = await failureOf(source.read(never));
    assert.equal(error.kind, 'Invalid');
    assert.match(error.message, message);
  });
}

test('an answer about another instance than the firmware names is refused', async (context) => {
  const { source } = await openBeside(context, aws, imds(tree), { dmi: { boardAssetTag: 'i-0999999999999999f' } });
  assert.match((await failureOf(source.read(never))).message, /i-0999999999999999f as in the firmware/);
  const same = await openBeside(context, aws, imds(tree), { dmi: { boardAssetTag: 'i-0aa11bb22cc33dd44' } });
  assert.equal((await same.source.read(never)).id, 'i-0aa11bb22cc33dd44');
});

test('a token request that hangs says "hop limit"', async (context) => {
  const clock = fakeClock();
  const { source } = await openBeside(context, aws, () => hang, { clock });
  const error = await failureOf(hurried(clock, source.read(never)));
  assert.equal(error.kind, 'Timeout');
  assert.match(error.message, /hop limit/);
});

test('a metadata service that is switched off says so, and version 1 is not tried', async (context) => {
  const { source, service } = await openBeside(context, aws, () => ({ status: 403 }));
  const error = await failureOf(source.read(never));
  assert.equal(error.kind, 'Forbidden');
  assert.match(error.message, /switched off/);
  assert.deepEqual(
    service.requests.map(({ method }) => method),
    ['PUT'],
  );
});

test('a service without the token path is not EC2', async (context) => {
  const { source } = await openBeside(context, aws, () => undefined);
  assert.match((await failureOf(source.read(never))).message, /another service answers/);
});

test('announces maintenance and terminations, and reads spot notices only on spot instances', async (context) => {
  const event = {
    NotBefore: '21 Jan 2026 09:00:43 GMT',
    Code: 'system-reboot',
    Description: 'scheduled reboot',
    EventId: 'instance-event-0d59937288b749b32',
    NotAfter: '21 Jan 2026 09:17:23 GMT',
    State: 'active',
  };
  const paths: Record<string, string> = {
    ...tree,
    [`${meta}events/maintenance/scheduled`]: JSON.stringify([
      event,
      { ...event, Code: 'instance-retirement', Description: undefined },
      { ...event, Code: 'instance-stop', Description: undefined, NotBefore: 'soon' },
      { ...event, State: 'completed' },
    ]),
    [`${meta}autoscaling/target-lifecycle-state`]: 'Terminated',
    [`${meta}spot/instance-action`]: '{"action": "terminate", "time": "2026-01-18T08:22:00Z"}',
    [`${meta}events/recommendations/rebalance`]: '{"noticeTime": "2026-01-18T08:20:00Z"}',
  };
  const deadline = '2026-01-21T09:00:43.000Z';
  const expected = [
    { kind: 'maintenance', deadline, message: 'system-reboot: scheduled reboot' },
    { kind: 'termination', deadline, message: 'instance-retirement' },
    { kind: 'maintenance', message: 'instance-stop' },
    { kind: 'termination', message: 'the Auto Scaling group terminates this instance' },
  ];
  const onDemand = await openBeside(context, aws, imds(paths));
  assert.deepEqual(await onDemand.source.notices?.(never), expected);
  paths[`${meta}instance-life-cycle`] = 'spot';
  const spot = await openBeside(context, aws, imds(paths));
  assert.deepEqual(await spot.source.notices?.(never), [
    ...expected,
    { kind: 'preemption', deadline: '2026-01-18T08:22:00.000Z', message: 'spot instance will terminate' },
    { kind: 'rebalance', message: 'EC2 sees an elevated risk of interruption' },
  ]);
});

test('spot notices are read each time, others each minute and alone on on-demand instances', async (context) => {
  const clock = fakeClock(undefined, 1);
  const paths: Record<string, string> = { ...tree, [`${meta}instance-life-cycle`]: 'spot' };
  const { source, service } = await openBeside(context, aws, imds(paths), { clock });
  assert.deepEqual(await source.notices?.(never), []);
  const before = service.requests.length;
  paths[`${meta}spot/instance-action`] = '{"action": "stop", "time": "2026-01-18T08:22:00Z"}';
  await clock.advance(5000);
  const [notice] = (await source.notices?.(never)) ?? [];
  assert.equal(notice?.kind, 'preemption');
  assert.deepEqual(
    new Set(service.requests.slice(before).map(({ path }) => path.slice(meta.length))),
    new Set(['spot/instance-action', 'events/recommendations/rebalance']),
  );
  paths[`${meta}autoscaling/target-lifecycle-state`] = 'Terminated';
  await clock.advance(55_000);
  assert.equal((await source.notices?.(never))?.[0]?.kind, 'termination');
  const calm = await openBeside(context, aws, imds(tree), { clock });
  await calm.source.notices?.(never);
  const asked = calm.service.requests.length;
  assert.deepEqual(await calm.source.notices?.(never), []);
  assert.equal(calm.service.requests.length, asked);
});

test('announces nothing where nothing is announced', async (context) => {
  const { source } = await openBeside(context, aws, imds(tree));
  assert.deepEqual(await source.notices?.(never), []);
});

test('gives the identity document byte for byte and its RSA-2048 signature as evidence', async (context) => {
  const document = '{\n  "instanceId" : "i-0aa11bb22cc33dd44",\n  "kernelId" : null\n}';
  const signaturePath = '/latest/dynamic/instance-identity/rsa2048';
  const paths = { ...tree, [documentPath]: document, [signaturePath]: 'MIAG\nCSqG\n' };
  const { source } = await openBeside(context, aws, imds(paths));
  const evidence = await source.evidence?.('unused', never);
  assert.deepEqual([evidence?.cloud, evidence?.kind], ['aws', 'identity-document-rsa2048']);
  assert.deepEqual(JSON.parse(evidence?.document ?? ''), { document, signature: 'MIAG\nCSqG' });
});

test('names what is missing when the metadata service signs nothing', async (context) => {
  const { source } = await openBeside(context, aws, imds(without('/latest/dynamic/instance-identity/rsa2048')));
  assert.match((await failureOf(source.evidence!('unused', never))).message, /rsa2048/);
});

testFaults(
  aws,
  imds(tree, () => true),
);
