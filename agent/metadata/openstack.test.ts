import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Instance } from '../../common/instance.ts';
import { systemClock } from '../../common/process/clock.ts';
import { type Http, HttpFailure } from '../../common/process/http.ts';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { treeAnswer } from '../testing/fake-metadata.ts';
import { never, openBeside, testFaults } from '../testing/source-suite.ts';
import { createMetadataHttp } from './client.ts';
import { huaweicloud } from './huaweicloud.ts';
import { openstack } from './openstack.ts';
import { openstackService } from './openstack-documents.ts';
import { labelValue } from './openstack-instance.ts';
import type { LocalInterface } from './source.ts';

const fixtures = fileURLToPath(new URL('fixtures/', import.meta.url));
const metaPath = '/openstack/latest/meta_data.json';
const networkPath = '/openstack/latest/network_data.json';

async function documents(folder: string, ec2: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  return {
    [metaPath]: await readFile(join(fixtures, folder, 'meta_data.json'), 'utf8'),
    [networkPath]: await readFile(join(fixtures, folder, 'network_data.json'), 'utf8'),
    ...Object.fromEntries(Object.entries(ec2).map(([key, value]) => [`/latest/meta-data/${key}`, value])),
  };
}

const tree = await documents('openstack', {
  'instance-id': 'i-0000002a',
  'instance-type': 'm1.large',
  'local-ipv4': '10.30.0.7',
  'public-ipv4': '198.51.100.7',
});
const huaweiTree = await documents('huaweicloud', {
  'instance-type': 's6.large.2',
  'local-ipv4': '192.168.0.12',
  'public-ipv4': '203.0.113.12',
});

const kernel: readonly LocalInterface[] = [
  { name: 'ens4', mac: 'fa:16:3e:00:00:02', addresses: ['fe80::f816:3eff:fe00:2', '10.31.0.9', '10.31.0.200'] },
];

const full: Instance = {
  cloud: 'openstack',
  id: '5c1d9d1e-1111-4222-8333-944444444444',
  providerID: 'openstack:///5c1d9d1e-1111-4222-8333-944444444444',
  incarnation: '5c1d9d1e-1111-4222-8333-944444444444',
  name: 'node-7',
  zone: 'nova',
  type: 'm1.large',
  addresses: [
    { type: 'InternalIP', address: '10.30.0.7' },
    { type: 'InternalIP', address: '2001:db8:1:0:f816:3eff:fe00:1' },
    { type: 'InternalIP', address: '10.31.0.9' },
    { type: 'ExternalIP', address: '198.51.100.7' },
    { type: 'Hostname', address: 'node-7.prod.example.com' },
  ],
};

function changed(path: string, changes: Readonly<Record<string, unknown>>): Record<string, string> {
  return { ...tree, [path]: JSON.stringify({ ...JSON.parse(tree[path]!), ...changes }) };
}

function without(...keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(tree).filter(([path]) => !keys.some((key) => path.endsWith(key))));
}

test('reads identity and fixed addresses from its own tree, flavour and floating address from EC2', async (context) => {
  const { source } = await openBeside(context, openstack, treeAnswer(tree), { interfaces: () => kernel });
  assert.deepEqual(await source.read(never), full);
});

test('the EC2 instance id is not read', async (context) => {
  const { source, service } = await openBeside(context, openstack, treeAnswer(tree));
  await source.read(never);
  assert.ok(!service.requests.some(({ path }) => path.endsWith('/instance-id')));
});

test('an address that came by DHCP and that the kernel does not have is left out', async (context) => {
  const { source } = await openBeside(context, openstack, treeAnswer(tree));
  const { addresses } = await source.read(never);
  assert.deepEqual(
    addresses,
    full.addresses.filter(({ address }) => address !== '10.31.0.9'),
  );
});

test('a server without floating address, as Nova (empty text) and others (404) say it', async (context) => {
  for (const paths of [{ ...tree, '/latest/meta-data/public-ipv4': '' }, without('public-ipv4')]) {
    const { source } = await openBeside(context, openstack, treeAnswer(paths));
    assert.ok(!(await source.read(never)).addresses.some(({ type }) => type === 'ExternalIP'));
  }
});

test('an IPv6-only server has IPv6 addresses alone', async (context) => {
  const data = JSON.parse(tree[networkPath]!);
  const paths = {
    ...without('ipv4', 'local-ipv4'),
    [networkPath]: JSON.stringify({ ...data, networks: [data.networks[1]] }),
  };
  const { source } = await openBeside(context, openstack, treeAnswer(paths));
  assert.deepEqual(
    (await source.read(never)).addresses.filter(({ type }) => type.endsWith('IP')),
    [{ type: 'InternalIP', address: '2001:db8:1:0:f816:3eff:fe00:1' }],
  );
});

test('takes the only address from the EC2 tree without network_data.json', async (context) => {
  const { source } = await openBeside(context, openstack, treeAnswer(without('network_data.json')));
  const internal = (await source.read(never)).addresses.filter(({ type }) => type === 'InternalIP');
  assert.deepEqual(internal, [{ type: 'InternalIP', address: '10.30.0.7' }]);
});

test('leaves the type unknown without the EC2 tree, and reads the providerID', async (context) => {
  const { source } = await openBeside(
    context,
    openstack,
    treeAnswer(without('instance-type', 'local-ipv4', 'public-ipv4')),
  );
  const { type, providerID } = await source.read(never);
  assert.equal(type, undefined);
  assert.equal(providerID, full.providerID);
});

test('optional facts may be missing', async (context) => {
  const paths = changed(metaPath, { name: undefined, availability_zone: null, meta: undefined });
  const { source } = await openBeside(context, openstack, treeAnswer(paths));
  const { name, zone, addresses } = await source.read(never);
  assert.deepEqual([name, zone], [undefined, undefined]);
  assert.ok(!addresses.some(({ type }) => type === 'Hostname'));
});

test('the region comes from the flag, the providerID holds it only when asked for', async (context) => {
  const plain = await openBeside(context, openstack, treeAnswer(tree), { region: 'RegionOne' });
  const read = await plain.source.read(never);
  assert.equal(read.region, 'RegionOne');
  assert.equal(read.providerID, full.providerID);
  const options = { region: 'RegionOne', regionalProviderId: true };
  const regional = await openBeside(context, openstack, treeAnswer(tree), options);
  assert.equal((await regional.source.read(never)).providerID, `openstack://RegionOne/${full.id}`);
  const neither = await openBeside(context, openstack, treeAnswer(tree), { regionalProviderId: true });
  assert.match((await failureOf(neither.source.read(never))).message, /region: missing, expected --region/);
});

const malformed: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
  ['no meta_data.json', without('meta_data.json'), /meta_data\.json: missing/],
  ['meta_data.json that is not JSON', { ...tree, [metaPath]: '404 page' }, /not JSON/],
  ['no uuid', changed(metaPath, { uuid: undefined }), /uuid: missing, expected text/],
  ['a uuid that is none', changed(metaPath, { uuid: 'i-0000002a' }), /uuid: "i-0000002a", expected a server uuid/],
  ['a name that is a list', changed(metaPath, { name: ['a'] }), /name: \["a"\], expected text/],
  ['networks that are an object', changed(networkPath, { networks: {} }), /networks: \{\}, expected a list/],
  [
    'an address that is none',
    changed(networkPath, { networks: [{ id: 'network0', type: 'ipv4', ip_address: '10.0.0' }] }),
    /networks\[0\]\.ip_address: "10\.0\.0", expected an IP address/,
  ],
  ['a network without type', changed(networkPath, { networks: [{ id: 'n' }] }), /networks\[0\]\.type: missing/],
  ['a floating address that is none', { ...tree, '/latest/meta-data/public-ipv4': '<html>' }, /public-ipv4: "<html>"/],
];

for (const [name, paths, message] of malformed) {
  test(`${name} is an error that names the field`, async (context) => {
    const { source } = await openBeside(context, openstack, treeAnswer(paths));
    const error = await failureOf(source.read(never));
    assert.equal(error.kind, 'Invalid');
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /not-for-anybody|random_seed/);
  });
}

test('reads a config drive as a folder, and no network', async (context) => {
  const configDrive = join(fixtures, 'config-drive');
  const { source, service } = await openBeside(context, openstack, treeAnswer({}), {
    configDrive,
    interfaces: () => kernel,
  });
  assert.deepEqual(await source.read(never), full);
  assert.equal(service.requests.length, 0);
});

test('a config drive without its EC2 tree still has the identity', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'drive-'));
  context.after(() => rm(folder, { recursive: true }));
  await cp(join(fixtures, 'config-drive/openstack'), join(folder, 'openstack'), { recursive: true });
  const { source } = await openBeside(context, openstack, treeAnswer({}), { configDrive: folder });
  assert.equal((await source.read(never)).id, full.id);
  await writeFile(join(folder, 'openstack/latest/meta_data.json'), '{"uuid": 7}');
  assert.match((await failureOf(source.read(never))).message, /uuid/);
  await rm(join(folder, 'openstack'), { recursive: true });
  assert.match((await failureOf(source.read(never))).message, /meta_data\.json: missing/);
});

test('Huawei Cloud has its own providerID and tells its region', async (context) => {
  const interfaces = () => [{ name: 'eth0', mac: 'fa:16:3e:f7:c1:47', addresses: ['192.168.0.12'] }];
  const { source } = await openBeside(context, huaweicloud, treeAnswer(huaweiTree), { interfaces });
  assert.deepEqual(await source.read(never), {
    cloud: 'huaweicloud',
    id: '0f1e2d3c-4b5a-4678-9789-0a1b2c3d4e5f',
    providerID: 'huaweicloud://0f1e2d3c-4b5a-4678-9789-0a1b2c3d4e5f',
    incarnation: '0f1e2d3c-4b5a-4678-9789-0a1b2c3d4e5f',
    name: 'node-3',
    zone: 'eu-west-101a',
    region: 'eu-west-101',
    type: 's6.large.2',
    addresses: [
      { type: 'InternalIP', address: '192.168.0.12' },
      { type: 'ExternalIP', address: '203.0.113.12' },
    ],
  });
});

test('zone names become label values as the cloud controller makes them', () => {
  assert.equal(labelValue('nova'), 'nova');
  assert.equal(labelValue('Zone A / rack 3'), 'Zone-A-rack-3');
  assert.equal(labelValue('.zone!'), 'zone');
  assert.equal(labelValue('z'.repeat(80)).length, 63);
});

test('tries the link-local address on each interface, and keeps the one that answers', async () => {
  const asked: string[] = [];
  const http: Http = async ({ url }) => {
    asked.push(url);
    if (!url.startsWith('http://[fe80::a9fe:a9fe%25ens4]/')) throw new HttpFailure('unreachable', 'no route');
    const text = tree[url.slice(url.indexOf(']') + 1)];
    return { status: text === undefined ? 404 : 200, header: () => null, text: text ?? '' };
  };
  const interfaces = () => [
    { name: 'ens3', mac: 'fa:16:3e:00:00:01', addresses: ['fe80::1'] },
    { name: 'ens5', mac: 'fa:16:3e:00:00:03', addresses: ['10.0.0.1'] },
    ...kernel,
  ];
  const read = openstackService({ cloud: 'openstack', clock: systemClock(), http, metadataUrl: undefined, interfaces });
  assert.equal((await read(never)).ec2.publicIPv4, '198.51.100.7');
  assert.deepEqual(asked.slice(0, 3), [
    `http://169.254.169.254${metaPath}`,
    `http://[fe80::a9fe:a9fe%25ens3]${metaPath}`,
    `http://[fe80::a9fe:a9fe%25ens4]${metaPath}`,
  ]);
  asked.length = 0;
  await read(never);
  assert.ok(
    asked.every((url) => url.includes('ens4')),
    asked.join(' '),
  );
});

test('an address with an interface is reached, which URL cannot express', async (context) => {
  const server = createServer((request, response) =>
    response.end(`${request.method} ${request.url} ${request.headers.host}`),
  );
  const listening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(0, '::1', () => resolve(true));
  });
  if (!listening) return context.skip('this machine has no IPv6 loopback');
  context.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const http = createMetadataHttp(systemClock());
  assert.throws(() => new URL(`http://[::1%25lo]:${port}/`));
  const answer = await http({ url: `http://[::1%25lo]:${port}/openstack/latest/`, timeoutMs: 2000 });
  assert.equal(answer.status, 200);
  assert.equal(answer.text, 'GET /openstack/latest/ [::1]');
});

testFaults(openstack, treeAnswer(tree));
testFaults(huaweicloud, treeAnswer(huaweiTree));
