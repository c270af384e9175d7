import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../common/process/clock.ts';
import { silentLog } from '../common/process/log.ts';
import { testCa } from '../common/testing/certificates.ts';
import { createControllerAccess, parseUrlLines } from './controller-access.ts';

const { caPem } = await testCa();
const { caPem: otherCaPem } = await testCa();

async function folderOf(context: TestContext, files: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'access-'));
  const write = (name: string, text: string) => writeFile(join(folder, name), text);
  for (const [name, text] of Object.entries(files)) await write(name, text);
  const access = createControllerAccess({
    clock: systemClock(),
    log: silentLog,
    urls: ['https://10.96.0.7:10270'],
    urlFile: join(folder, 'urls'),
    tokenFile: join(folder, 'token'),
    caFile: join(folder, 'ca.crt'),
    serverName: 'controller',
  });
  context.after(async () => {
    access.close();
    await rm(folder, { recursive: true });
  });
  return { access, write };
}

test('waits for a CA and says so, whether the file is missing, empty or something else', async (context) => {
  const { access, write } = await folderOf(context, { token: 't' });
  for (const [text, why] of [
    [undefined, 'ENOENT'],
    ['', 'it holds none'],
    ['not a certificate', 'it holds none'],
    ['-----BEGIN CERTIFICATE-----\nxx\n-----END CERTIFICATE-----\n', 'it holds one that cannot be read'],
    [`${caPem}-----BEGIN CERTIFICATE-----\nxx\n-----END CERTIFICATE-----\n`, 'it holds one that cannot be read'],
    [caPem + caPem.slice(0, 90), 'it holds one that cannot be read'],
  ] as const) {
    if (text !== undefined) await write('ca.crt', text);
    const found = await access.current();
    assert.ok(!found.ok);
    assert.match(found.message, new RegExp(`waiting for a CA certificate in .*ca\\.crt: ${why}`));
  }
});

test('waits for a token that is valid in a header', async (context) => {
  const { access, write } = await folderOf(context, { 'ca.crt': caPem });
  for (const [text, why] of [
    [undefined, 'ENOENT'],
    ['\n', 'it is empty'],
    ['two\nlines', 'it holds more than one word'],
  ] as const) {
    if (text !== undefined) await write('token', text);
    const found = await access.current();
    assert.ok(!found.ok);
    assert.match(found.message, new RegExp(`waiting for a token in .*token: ${why}`));
    assert.doesNotMatch(found.message, /two/);
  }
});

test('reads the token again each time', async (context) => {
  const { access, write } = await folderOf(context, { 'ca.crt': caPem, token: 'first\n' });
  const before = await access.current();
  assert.equal(before.ok && before.token, 'first');
  await write('token', 'second');
  const after = await access.current();
  assert.equal(after.ok && after.token, 'second');
});

test('opens new connections when the CA changed, and only then', async (context) => {
  const { access, write } = await folderOf(context, { 'ca.crt': caPem, token: 't' });
  const first = await access.current();
  const second = await access.current();
  await write('ca.crt', caPem + otherCaPem);
  const third = await access.current();
  assert.ok(first.ok && second.ok && third.ok);
  assert.equal(first.http, second.http);
  assert.notEqual(second.http, third.http);
});

test('asks the replicas of the file first, the fixed URL last, and follows changes of the file', async (context) => {
  const { access, write } = await folderOf(context, { 'ca.crt': caPem, token: 't' });
  const urls = async () => {
    const found = await access.current();
    return found.ok ? found.urls : [];
  };
  assert.deepEqual(await urls(), ['https://10.96.0.7:10270']);
  await write('urls', 'https://10.0.0.4:10270\nhttps://10.0.0.5:10270\nhttps://10.96.0.7:10270\n');
  assert.deepEqual(await urls(), ['https://10.0.0.4:10270', 'https://10.0.0.5:10270', 'https://10.96.0.7:10270']);
});

test('separates lines that are not https URLs', () => {
  const text = '# replicas\n\n https://10.0.0.4:10270 \nhttp://10.0.0.5:10270\nhttps://u:p@h\nnonsense\n';
  assert.deepEqual(parseUrlLines(text), {
    valid: ['https://10.0.0.4:10270'],
    bad: ['http://10.0.0.5:10270', 'https://u:p@h', 'nonsense'],
  });
});

test('says why a file of controller URLs gives none', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'access-'));
  context.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'ca.crt'), caPem);
  await writeFile(join(folder, 'token'), 't');
  for (const [urlFile, why] of [
    [join(folder, 'none'), 'ENOENT'],
    [folder, 'EISDIR'],
    [join(folder, 'empty'), 'it names none'],
  ] as const) {
    await writeFile(join(folder, 'empty'), '# no leader yet\n');
    const access = createControllerAccess({
      clock: systemClock(),
      log: silentLog,
      urls: [],
      urlFile,
      tokenFile: join(folder, 'token'),
      caFile: join(folder, 'ca.crt'),
      serverName: 'controller',
    });
    const found = await access.current();
    access.close();
    assert.ok(!found.ok);
    assert.match(found.message, new RegExp(`waiting for a controller URL in ${urlFile}: ${why}`));
  }
});
