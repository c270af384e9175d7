import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { seededRandom } from '../../common/process/random.ts';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { never } from '../testing/source-suite.ts';
import type { SourceOptions } from './source.ts';
import { vsphere } from './vsphere.ts';

const serial = 'VMware-42 2e 49 56 ad 22 11 39-6d 72 59 cc 8f 26 bc 90';
const id = '422e4956-ad22-1139-6d72-59cc8f26bc90';
const inGuest = '56492e42-22ad-3911-6d72-59cc8f26bc90';

function open(options: Partial<SourceOptions>) {
  return vsphere.open({ clock: systemClock(), random: seededRandom(1), log: silentLog, dmi: {}, ...options });
}

test("reads the uuid in vCenter's byte order, the addresses from the kernel", async () => {
  const interfaces = () => [
    {
      name: 'ens192',
      mac: '00:50:56:ae:00:01',
      addresses: ['10.9.0.7', '10.9.0.100', 'fe80::250:56ff:feae:1', '2001:db8:9::8', '2001:db8:9::7'],
    },
    { name: 'ens224', mac: '00:50:56:ae:00:02', addresses: ['169.254.3.4'] },
  ];
  const source = open({ dmi: { productSerial: serial, productUuid: inGuest }, region: 'dc-1', interfaces });
  assert.deepEqual(await source.read(never), {
    cloud: 'vsphere',
    id,
    providerID: `vsphere://${id}`,
    incarnation: id,
    region: 'dc-1',
    addresses: [
      { type: 'InternalIP', address: '10.9.0.7' },
      { type: 'InternalIP', address: '2001:db8:9::7' },
    ],
  });
});

test('whichever byte order the firmware has, the uuid is the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.boolean(), async (bytes, turned) => {
      const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0'));
      const productSerial = `VMware-${hex.slice(0, 8).join(' ')}-${hex.slice(8).join(' ')}`;
      const group = (from: number, to: number) =>
        (turned && to <= 8 ? hex.slice(from, to).reverse() : hex.slice(from, to)).join('');
      const productUuid = [group(0, 4), group(4, 6), group(6, 8), group(8, 10), group(10, 16)].join('-');
      const instance = await open({ dmi: { productSerial, productUuid } }).read(never);
      assert.equal(instance.id.replaceAll('-', ''), hex.join(''));
    }),
    { numRuns: 50 },
  );
});

test('the uuid alone is not enough: its byte order is not known', async () => {
  const error = await failureOf(open({ dmi: { productUuid: inGuest } }).read(never));
  assert.equal(error.kind, 'Invalid');
  assert.match(error.message, /product_serial: missing, expected VMware-… \(only root may read it\)/);
});

test('a serial that a person has set, and a uuid of another machine, are refused', async () => {
  for (const [dmi, message] of [
    [{ productSerial: 'ABC-123' }, /product_serial: "ABC-123", expected VMware- and 16 bytes/],
    [
      { productSerial: serial, productUuid: '422e4956-ad22-1139-6d72-59cc8f26bc91' },
      /product_uuid: .*expected 422e4956/,
    ],
  ] as const) {
    assert.match((await failureOf(open({ dmi }).read(never))).message, message);
  }
});
