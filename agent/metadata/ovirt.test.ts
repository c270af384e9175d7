import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CloudError } from '../../common/cloud-error.ts';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { seededRandom } from '../../common/process/random.ts';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { never } from '../testing/source-suite.ts';
import { ovirt } from './ovirt.ts';
import type { SourceOptions } from './source.ts';

const id = '0a6e30c4-58a1-4c1e-9f7c-2f5d3a1b0c9d';
const dmi = { sysVendor: 'oVirt', productName: 'oVirt Node', productSerial: 'of-the-host', productUuid: id };
const interfaces = () => [{ name: 'eth0', mac: '56:6f:1a:2b:00:01', addresses: ['10.1.0.7', 'fe80::1'] }];

function open(options: Partial<SourceOptions>) {
  return ovirt.open({ clock: systemClock(), random: seededRandom(1), log: silentLog, dmi, interfaces, ...options });
}

const volumeWith = (files: Readonly<Record<string, string>>) => async () => ({
  label: 'config-2' as const,
  device: '/dev/disk/by-label/config-2',
  text: async (path: string) => files[path],
});

const bare = {
  cloud: 'ovirt',
  id,
  providerID: `ovirt://${id}`,
  incarnation: id,
  addresses: [{ type: 'InternalIP', address: '10.1.0.7' }],
};

test('knows a VM of oVirt by its SMBIOS UUID, and its addresses by the kernel', async () => {
  assert.deepEqual(await open({}).read(never), bare);
  assert.deepEqual(await open({ region: 'hel' }).read(never), { ...bare, region: 'hel' });
});

test('reads name, zone and region of a VM of oVirt from its cloud-init volume', async () => {
  const meta = { zone: 'rack-1', region: 'hel', 'instance-type': 'large' };
  const drive = JSON.stringify({ uuid: 'another', hostname: 'node-7', meta });
  const source = open({ seedVolume: volumeWith({ 'openstack/latest/meta_data.json': drive }) });
  assert.deepEqual(await source.read(never), {
    ...bare,
    name: 'node-7',
    zone: 'rack-1',
    region: 'hel',
    type: 'large',
    addresses: [{ type: 'Hostname', address: 'node-7' }, ...bare.addresses],
  });
});

test('leaves out a volume that cannot be read or describes nothing, and says so once', async () => {
  const lines: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void lines.push(message) };
  const broken = async () => ({
    ...(await volumeWith({})()),
    text: async () => {
      throw new CloudError({ cloud: 'ovirt', operation: 'read', kind: 'Unavailable', message: 'EPERM' });
    },
  });
  for (const seedVolume of [broken, volumeWith({ 'openstack/latest/user_data': '{"ignition":{}}' })]) {
    const source = open({ seedVolume, log });
    for (let each = 0; each < 3; each += 1) assert.deepEqual(await source.read(never), bare);
  }
  assert.equal(lines.length, 2);
});

test('fails without the SMBIOS UUID, and never takes the serial number of the host', async () => {
  for (const productUuid of ['', 'not-a-uuid']) {
    const error = await failureOf(open({ dmi: { ...dmi, productUuid } }).read(never));
    assert.equal(error.kind, 'Invalid');
    assert.match(error.message, /product_uuid: .*expected a UUID \(only root may read it\)/);
  }
});
