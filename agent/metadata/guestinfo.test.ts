import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { seededRandom } from '../../common/process/random.ts';
import { never } from '../testing/source-suite.ts';
import { type AskGuestinfo, askGuestinfo, readGuestinfo } from './guestinfo.ts';
import { vsphere } from './vsphere.ts';

const metadata = 'instance-id: vm-7\nlocal-hostname: worker-7.example.com\nnetwork:\n  version: 2\n';

function told(values: Readonly<Record<string, string>>): AskGuestinfo {
  return async (key) => values[key];
}

const encodings: readonly (readonly [encoding: string, text: string])[] = [
  ['', metadata],
  ['---', metadata],
  ['base64', Buffer.from(metadata).toString('base64')],
  ['gz+b64', gzipSync(metadata).toString('base64')],
];
for (const [encoding, text] of encodings) {
  test(`a document is decoded as its encoding says: ${encoding || 'none'}`, async () => {
    const ask = told({ metadata: text, 'metadata.encoding': encoding });
    assert.equal(await readGuestinfo(ask, 'metadata', never), metadata);
  });
}

for (const [what, values] of [
  ['not there', {}],
  ['emptied', { metadata: '---' }],
  ['of an unknown encoding', { metadata: 'abc', 'metadata.encoding': 'rot13' }],
  ['not the archive it says it is', { metadata: 'abcd', 'metadata.encoding': 'gzip+base64' }],
] as const) {
  test(`a document that is ${what} is no document`, async () => {
    assert.equal(await readGuestinfo(told(values), 'metadata', never), undefined);
  });
}

function source(guestinfo: AskGuestinfo) {
  return vsphere.open({
    clock: systemClock(),
    random: seededRandom(1),
    log: silentLog,
    guestinfo,
    dmi: { productSerial: 'VMware-42 2e 49 56 ad 22 11 39-6d 72 59 cc 8f 26 bc 90' },
  });
}

test('the host name comes from guestinfo, asked for once', async () => {
  let asked = 0;
  const { read } = source(async (key) => {
    asked += 1;
    return key === 'metadata' ? metadata : undefined;
  });
  assert.equal((await read(never)).name, 'worker-7.example.com');
  assert.deepEqual((await read(never)).addresses, [{ type: 'Hostname', address: 'worker-7.example.com' }]);
  assert.equal(asked, 2);
});

test('the identity of the VM does not depend on guestinfo', async () => {
  for (const guestinfo of [told({ metadata: '\0' }), told({ metadata: '{"local-hostname": {}}' })]) {
    const instance = await source(guestinfo).read(never);
    assert.equal(instance.id, '422e4956-ad22-1139-6d72-59cc8f26bc90');
    assert.equal(instance.name, undefined);
  }
});

async function withProgram(t: TestContext, name: string, script: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-guestinfo-'));
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, name), 0o755);
  const { PATH } = process.env;
  process.env['PATH'] = `${folder}:/usr/bin:/bin`;
  t.after(async () => {
    process.env['PATH'] = PATH;
    await rm(folder, { recursive: true });
  });
}

test('runs either program with its own arguments', async (t) => {
  await withProgram(t, 'vmware-rpctool', '[ "$1" = "info-get guestinfo.metadata" ] && echo hello');
  assert.equal(await askGuestinfo('metadata', never), 'hello');
  assert.equal(await askGuestinfo('other', never), undefined);
});

test('runs the second program where the first is not installed', async (t) => {
  await withProgram(t, 'vmtoolsd', '[ "$1 $2" = "--cmd info-get guestinfo.metadata" ] && echo hello');
  assert.equal(await askGuestinfo('metadata', never), 'hello');
});
