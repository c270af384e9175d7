import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { stringify } from 'yaml';
import { silentLog } from '../../common/process/log.ts';
import { testCa } from '../../common/testing/certificates.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { loadKubeConnection } from './kube-config.ts';

interface Pems {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const renewMs = 60_000;
const renewAgainMs = 5_000;

describe('the connection of a kubeconfig with certificates', () => {
  let folder = '';
  let old: Pems;
  let next: Pems;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-kube-certificates-'));
    [old, next] = [await issue(), await issue()];
  });
  after(() => rm(folder, { recursive: true }));

  async function issue(): Promise<Pems> {
    const { caPem, issue: leaf } = await testCa();
    const { certPem, keyPem } = await leaf({ usage: 'clientAuth' });
    return { ca: caPem, cert: certPem, key: keyPem };
  }

  async function writePems(pems: Pems): Promise<void> {
    for (const [name, text] of Object.entries(pems)) await writeFile(join(folder, name), text);
  }

  async function connect(user: Readonly<Record<string, string>>) {
    const clock = fakeClock();
    const path = join(folder, 'config');
    const write = (of: Readonly<Record<string, string>>) =>
      writeFile(
        path,
        stringify({
          clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443', 'certificate-authority': 'ca' } }],
          users: [{ name: 'u', user: of }],
          contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
          'current-context': 'x',
        }),
      );
    await write(user);
    return { clock, write, connection: await loadKubeConnection({ clock, log: silentLog, env: {}, kubeconfig: path }) };
  }

  const pair = { 'client-certificate': 'cert', 'client-key': 'key' };

  it('gives up its token for a client certificate', async () => {
    await writePems(old);
    const { clock, write, connection } = await connect({ token: 'abc' });
    await write(pair);
    await clock.advance(renewMs);
    const { headers, tls } = await connection.credentials();
    assert.deepEqual(headers, {});
    assert.equal(String(tls.cert), old.cert);
  });

  it('takes a new token beside its old CA while the new one cannot be read', async () => {
    await writePems(old);
    const { clock, write, connection } = await connect({ token: 'first' });
    await writePems({ ...next, ca: next.ca + old.ca.slice(0, 90) });
    await write({ token: 'second' });
    await clock.advance(renewMs);
    const renewed = await connection.credentials();
    assert.equal(renewed.headers['authorization'], 'Bearer second');
    assert.equal(String(renewed.tls.ca), old.ca);
    await clock.advance(renewAgainMs);
    assert.equal(await connection.credentials(), renewed);
  });

  it('keeps its certificates while their files are half replaced, and reads them again soon', async () => {
    await writePems(old);
    const { clock, connection } = await connect(pair);
    const first = await connection.credentials();
    await clock.advance(renewMs - renewAgainMs);
    for (const [what, torn] of [
      ['the key is still that of the old certificate', { ...next, key: old.key }],
      ['the key is cut off', { ...next, key: next.key.slice(0, 90) }],
      ['the CA file is empty', { ...next, ca: '' }],
      ['the CA is cut off', { ...next, ca: next.ca.slice(0, 90) }],
      ['the second CA is cut off', { ...next, ca: old.ca + next.ca.slice(0, 90) }],
    ] as const) {
      await writePems(torn);
      await clock.advance(renewAgainMs);
      assert.equal(await connection.credentials(), first, what);
    }
    await writePems(next);
    await clock.advance(renewAgainMs);
    const { ca, cert, key } = (await connection.credentials()).tls;
    assert.deepEqual({ ca: String(ca), cert: String(cert), key: String(key) }, next);
  });
});
