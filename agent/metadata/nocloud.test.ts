import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { seededRandom } from '../../common/process/random.ts';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { startFakeMetadata, treeAnswer } from '../testing/fake-metadata.ts';
import { never, openBeside, testFaults } from '../testing/source-suite.ts';
import { nocloud, nocloudAt } from './nocloud.ts';

const fixtures = fileURLToPath(new URL('fixtures/', import.meta.url));
const text = await readFile(join(fixtures, 'nocloud/meta-data'), 'utf8');
const interfaces = () => [
  { name: 'enp1s0', mac: '52:54:00:00:00:01', addresses: ['10.8.0.7', '10.8.0.200', '2001:db8:8::7', 'fe80::1'] },
];

const full = {
  cloud: 'nocloud',
  id: 'hrobot://321987',
  providerID: 'hrobot://321987',
  incarnation: '0042',
  name: 'node-7',
  zone: 'hel1-dc4',
  region: 'eu-central',
  type: 'AX41-NVMe',
  addresses: [
    { type: 'Hostname', address: 'node-7' },
    { type: 'InternalIP', address: '10.8.0.7' },
    { type: 'InternalIP', address: '2001:db8:8::7' },
    { type: 'ExternalDNS', address: 'node-7.example.com' },
  ],
};

async function folder(context: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'seed-'));
  context.after(() => rm(root, { recursive: true }));
  for (const [name, content] of Object.entries(files)) await writeFile(join(root, name), content);
  return root;
}

test('reads a seed folder: identity as it was written, addresses from the kernel', async (context) => {
  const configDrive = join(fixtures, 'nocloud');
  const { source, service } = await openBeside(context, nocloud, treeAnswer({}), { configDrive, interfaces });
  assert.deepEqual(await source.read(never), full);
  assert.equal(service.requests.length, 0);
});

test('reads a seed from a web server, whether a flag or the serial number names it', async (context) => {
  const service = await startFakeMetadata(treeAnswer({ '/seeds/meta-data': text }));
  context.after(() => service.close());
  const base = { clock: systemClock(), random: seededRandom(1), log: silentLog, interfaces };
  const byFlag = nocloud.open({ ...base, dmi: {}, metadataUrl: `${service.url}/seeds/` });
  assert.deepEqual(await byFlag.read(never), full);
  for (const productSerial of [
    `ds=nocloud;s=${service.url}/seeds/`,
    `ds=nocloud-net;h=x;seedfrom=${service.url}/seeds/`,
  ]) {
    assert.deepEqual(await nocloud.open({ ...base, dmi: { productSerial } }).read(never), full);
  }
  const here = join(fixtures, 'nocloud/');
  for (const seed of [here, `file://${here}`]) {
    assert.deepEqual(await nocloud.open({ ...base, dmi: { productSerial: `ds=nocloud;s=${seed}` } }).read(never), full);
  }
});

test('an id of digits stays a text', async (context) => {
  for (const [written, incarnation] of [
    ['1e3', '1e3'],
    ['0x10', '0x10'],
    ['9007199254740993', '9007199254740993'],
    ['"a b"', 'a%20b'],
    ['true', 'true'],
  ] as const) {
    const configDrive = await folder(context, { 'meta-data': text.replace('0042', written) });
    const { source } = await openBeside(context, nocloud, treeAnswer({}), { configDrive });
    assert.equal((await source.read(never)).incarnation, incarnation);
  }
});

test('meta-data may be JSON, and may have only the required keys', async (context) => {
  const configDrive = await folder(context, {
    'meta-data': JSON.stringify({ 'instance-id': 'x', 'provider-id': 'proxmox://cluster-1/105' }),
  });
  const { source } = await openBeside(context, nocloud, treeAnswer({}), { configDrive, region: 'cluster-1' });
  assert.deepEqual(await source.read(never), {
    cloud: 'nocloud',
    id: 'proxmox://cluster-1/105',
    providerID: 'proxmox://cluster-1/105',
    incarnation: 'x',
    region: 'cluster-1',
    addresses: [],
  });
});

test("reads a config drive in OpenStack's format, as oVirt writes it", async (context) => {
  const configDrive = await folder(context, {});
  await mkdir(join(configDrive, 'openstack/latest'), { recursive: true });
  const drive = {
    uuid: 'b7a2f1de-0000-4000-8000-000000000007',
    hostname: 'node-7',
    availability_zone: 'cluster-a',
    launch_index: '0',
    meta: { 'provider-id': 'ovirt://b7a2f1de-0000-4000-8000-000000000007', region: 'dc-1', 'instance-type': 'large' },
  };
  await writeFile(join(configDrive, 'openstack/latest/meta_data.json'), JSON.stringify(drive));
  const { source } = await openBeside(context, nocloud, treeAnswer({}), { configDrive });
  const { providerID, incarnation, zone, region, type, name } = await source.read(never);
  assert.deepEqual(
    { providerID, incarnation, zone, region, type, name },
    {
      providerID: 'ovirt://b7a2f1de-0000-4000-8000-000000000007',
      incarnation: 'b7a2f1de-0000-4000-8000-000000000007',
      zone: 'cluster-a',
      region: 'dc-1',
      type: 'large',
      name: 'node-7',
    },
  );
});

test('an empty or missing folder is an error that names the expected files', async (context) => {
  for (const configDrive of [await folder(context, {}), '/nowhere/at/all']) {
    const { source } = await openBeside(context, nocloud, treeAnswer({}), { configDrive });
    const error = await failureOf(source.read(never));
    assert.match(
      error.message,
      /meta-data: missing, expected a file of that name, or openstack\/latest\/meta_data\.json/,
    );
  }
});

const malformed: readonly (readonly [string, string, RegExp])[] = [
  ['JSON cut short', '{"instance-id": "x"', /not JSON/],
  ['a text', 'hello', /no YAML mapping/],
  ['no provider-id', text.replace(/^provider-id:.*$/m, ''), /provider-id: missing, expected text/],
  ['no instance-id', text.replace(/^instance-id:.*$/m, ''), /instance-id: missing, expected text/],
  [
    "another cloud's provider-id",
    text.replace('hrobot://321987', 'aws:///a/i-1'),
    /provider-id: "aws:.*expected nocloud:/,
  ],
  ['a provider-id that is a list', text.replace('hrobot://321987', '[a]'), /provider-id: \{\}, expected text/],
  ['a provider-id over two lines', text.replace('hrobot://', 'hrobot://\n  '), /provider-id: \{\}, expected text/],
  ['two of them', `${text}provider-id: hrobot://2\n`, /provider-id: \{\}, expected text/],
];

for (const [name, document, message] of malformed) {
  test(`${name} is an error that names the field`, async (context) => {
    const configDrive = await folder(context, { 'meta-data': document });
    const { source } = await openBeside(context, nocloud, treeAnswer({}), { configDrive });
    const error = await failureOf(source.read(never));
    assert.equal(error.kind, 'Invalid');
    assert.match(error.message, message);
  });
}

testFaults(nocloud, treeAnswer({ '/meta-data': text }));

test('reads a seed from the volume of the machine, and without provider-id takes the SMBIOS UUID', async () => {
  const base = { clock: systemClock(), random: seededRandom(1), log: silentLog, interfaces };
  const productUuid = '0a6e30c4-58a1-4c1e-9f7c-2f5d3a1b0c9d';
  const volume = (content: string) => async () => ({
    label: 'cidata' as const,
    device: '/dev/disk/by-label/cidata',
    text: async (path: string) => (path === 'meta-data' ? content : undefined),
  });
  const written = nocloud.open({ ...base, dmi: { productUuid }, seedVolume: volume(text) });
  assert.deepEqual(await written.read(never), full);
  const proxmox = nocloud.open({ ...base, dmi: { productUuid }, seedVolume: volume('instance-id: 5c0f\n') });
  const { providerID, incarnation } = await proxmox.read(never);
  assert.deepEqual([providerID, incarnation], [`nocloud://${productUuid}`, '5c0f']);
});

test('takes no SMBIOS UUID that many machines share for the identity of one', async () => {
  const base = { clock: systemClock(), random: seededRandom(1), log: silentLog, interfaces };
  const seedVolume = async () => ({
    label: 'cidata' as const,
    device: '/dev/sr0',
    text: async () => 'instance-id: 5c0f\n',
  });
  for (const productUuid of [
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    '03000200-0400-0500-0006-000700080009',
    '00020003-0004-0005-0006-000700080009',
  ]) {
    const error = await failureOf(nocloud.open({ ...base, dmi: { productUuid }, seedVolume }).read(never));
    assert.match(error.message, /provider-id: missing/);
  }
});

test('takes the seed of its own folder before that of a volume, which may be of a guest or a pod', async (context) => {
  const own = await folder(context, { 'meta-data': text });
  const other = 'instance-id: 1\nprovider-id: hrobot://1\n';
  const seedVolume = async () => ({ label: 'cidata' as const, device: '/dev/x', text: async () => other });
  const options = { clock: systemClock(), random: seededRandom(1), log: silentLog, dmi: {}, interfaces, seedVolume };
  assert.deepEqual(await nocloudAt(own).open(options).read(never), full);
  assert.equal((await nocloudAt(join(own, 'none')).open(options).read(never)).providerID, 'hrobot://1');
});
