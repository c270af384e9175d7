import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, type ClientRequestArgs } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { seededRandom } from '../../common/process/random.ts';
import { swapped } from '../../common/smbios-uuid.ts';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { treeAnswer } from '../testing/fake-metadata.ts';
import { never, openBeside, testFaults } from '../testing/source-suite.ts';
import { cloudstack, cloudstackAt } from './cloudstack.ts';
import { dataServers } from './data-servers.ts';

const id = '915653c4-298b-4d74-bdee-4ced282114f1';
const keys: Readonly<Record<string, string>> = {
  'instance-id': id,
  'vm-id': id,
  'local-hostname': 'node-7',
  'availability-zone': 'SimZone1',
  'service-offering': 'Small Instance',
  'local-ipv4': '10.1.1.62',
  'public-ipv4': '192.0.2.107',
  'cloud-identifier': 'CloudStack-{6e8a6b4a-2b25-4d2e-8a2f-3c9a4c1f7f6a}',
};
const tree = (all: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(all).map(([key, text]) => [`/latest/meta-data/${key}`, `${text}\n`]));
const without = (key: string) => Object.fromEntries(Object.entries(keys).filter(([name]) => name !== key));
const instance = {
  cloud: 'cloudstack',
  id,
  providerID: `external-cloudstack://${id}`,
  incarnation: id,
  name: 'node-7',
  zone: 'SimZone1',
  region: 'SimZone1',
  type: 'SmallInstance',
  addresses: [
    { type: 'Hostname', address: 'node-7' },
    { type: 'InternalIP', address: '10.1.1.62' },
  ],
};

/** A root folder with these files. */
async function rootOf(context: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'cloudstack-'));
  context.after(() => rm(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}

test('reads the VM from the virtual router, without the public address that may be shared', async (context) => {
  const { source, service } = await openBeside(context, cloudstack, treeAnswer(tree(keys)));
  assert.deepEqual(await source.read(never), instance);
  assert.ok(service.requests.every(({ method, path }) => method === 'GET' && path.startsWith('/latest/meta-data/')));
});

test('takes the region of the flag, and no type where there is no service offering', async (context) => {
  const answer = treeAnswer(tree(without('service-offering')));
  const { source } = await openBeside(context, cloudstack, answer, { region: 'north' });
  const { type: _, ...rest } = instance;
  assert.deepEqual(await source.read(never), { ...rest, region: 'north' });
});

const kvm = { sysVendor: 'Apache Software Foundation', productName: 'CloudStack KVM Hypervisor' };

test('refuses the id of another VM, which the SMBIOS UUID of KVM tells', async (context) => {
  const productUuid = '0f5c1e2d-298b-4d74-bdee-4ced282114f1';
  const { source } = await openBeside(context, cloudstack, treeAnswer(tree(keys)), { dmi: { ...kvm, productUuid } });
  const error = await failureOf(source.read(never));
  assert.equal(error.kind, 'Invalid');
  assert.match(error.message, new RegExp(`instance-id: "${id}", expected ${productUuid}, the SMBIOS UUID of this VM`));
});

for (const [name, dmi] of [
  ['the same SMBIOS UUID', { ...kvm, productUuid: id }],
  ['it in the other byte order', { ...kvm, productUuid: swapped(id) }],
  ['none, as only root reads it', kvm],
  ['one that is not a UUID', { ...kvm, productUuid: 'Not Settable' }],
  [
    'another one without KVM',
    { productName: 'CloudStack Xen Hypervisor', productUuid: '0f5c1e2d-298b-4d74-bdee-4ced282114f1' },
  ],
] as const)
  test(`takes the id of the data server beside ${name}`, async (context) => {
    const { source } = await openBeside(context, cloudstack, treeAnswer(tree(keys)), { dmi });
    assert.deepEqual(await source.read(never), instance);
  });

test('reads the VM from a mounted config drive', async (context) => {
  const files = Object.entries(keys).map(([key, text]) => [
    `cloudstack/metadata/${key.replaceAll('-', '_')}.txt`,
    text,
  ]);
  const configDrive = await rootOf(context, Object.fromEntries(files));
  const options = { clock: systemClock(), random: seededRandom(1), log: silentLog, dmi: {}, configDrive };
  assert.deepEqual(await cloudstack.open(options).read(never), instance);
});

const hostile: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
  ['no id', without('instance-id'), /instance-id: missing, expected the UUID of a VM/],
  ['an id that is none', { ...keys, 'instance-id': 'i-2-683-VM' }, /instance-id: "i-2-683-vm", expected the UUID/],
  ['the page of a home router', { ...keys, 'instance-id': '<html>Sign in</html>' }, /instance-id: .*one line of text/],
  ['a name of several lines', { ...keys, 'local-hostname': 'a\nb' }, /local-hostname: .*one line of text/],
  ['no name', without('local-hostname'), /local-hostname: missing/],
  ['no zone', without('availability-zone'), /availability-zone: missing/],
  ['no address', without('local-ipv4'), /local-ipv4: missing/],
  ['an address that is none', { ...keys, 'local-ipv4': 'x' }, /local-ipv4: "x", expected an IP address/],
];
for (const [name, all, message] of hostile)
  test(`${name} is an error that names the key`, async (context) => {
    const { source } = await openBeside(context, cloudstack, treeAnswer(tree(all)));
    const error = await failureOf(source.read(never));
    assert.equal(error.kind, 'Invalid');
    assert.match(error.message, message);
  });

test('says what would settle it where neither a lease nor a gateway tells the router', async (context) => {
  const options = { clock: systemClock(), random: seededRandom(1), log: silentLog, dmi: {} };
  const error = await failureOf(
    cloudstackAt(await rootOf(context, {}))
      .open(options)
      .read(never),
  );
  assert.match(error.message, /data server: missing, expected a DHCP lease, a default gateway or --metadata-url/);
});

test('takes the DHCP servers of leases, the newest of each file, and the default gateway last', async (context) => {
  const dhclient = (ip: string) => `lease {\n  option dhcp-server-identifier ${ip};\n}\n`;
  const route = 'Iface\tDestination\tGateway\tFlags\neth0\t00000000\t0101010A\t0003\neth0\t0001010A\t00000000\t0001\n';
  const root = await rootOf(context, {
    'run/systemd/netif/leases/2': 'ADDRESS=10.1.1.62\nSERVER_ADDRESS=10.1.1.2\nROUTER=10.1.1.1\n',
    'var/lib/NetworkManager/internal-1-eth0.lease': 'ADDRESS=10.1.1.62\nSERVER_ADDRESS=10.1.1.3\n',
    'run/NetworkManager/devices/3': '[dhcp4]\ndhcp_server_identifier=10.1.1.5\n',
    'var/lib/dhcp/dhclient.eth0.leases': dhclient('10.1.1.9') + dhclient('10.1.1.2'),
    'proc/net/route': route,
  });
  assert.deepEqual(await dataServers(root), ['10.1.1.2', '10.1.1.5', '10.1.1.3', '10.1.1.1']);
});

test('asks port 80 of the router for metadata, and its password server for nothing', async (context) => {
  const { service } = await openBeside(context, cloudstack, treeAnswer(tree(keys)));
  const router = '127.80.80.80';
  const root = await rootOf(context, { 'run/systemd/netif/leases/2': `SERVER_ADDRESS=${router}\n` });
  const ports = new Set<unknown>();
  const { createConnection } = Agent.prototype;
  context.mock.method(Agent.prototype, 'createConnection', function (this: Agent, target: ClientRequestArgs) {
    if (target.host !== router) return createConnection.call(this, target);
    ports.add(target.port);
    const { hostname, port } = new URL(service.url);
    return createConnection.call(this, { ...target, host: hostname, port });
  });
  const options = { clock: systemClock(), random: seededRandom(1), log: silentLog, dmi: {} };
  assert.deepEqual(await cloudstackAt(root).open(options).read(never), instance);
  assert.deepEqual([...ports], [80]);
  const [first, ...others] = new Set(service.requests.map(({ path }) => path.replace(/[^/]+$/, '')));
  assert.deepEqual([first, others], ['/latest/meta-data/', []]);
});

testFaults(cloudstack, treeAnswer(tree(keys)));
