import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { before, describe, it } from 'node:test';
import { type ConnectionOptions, connect, createServer } from 'node:tls';
import { testCa } from '../../../common/testing/certificates.ts';
import { cipherSuites, curveNames, type TlsPolicy, tlsPolicy } from './tls-policy.ts';

describe('a TLS policy', () => {
  let credentials: { readonly key: string; readonly cert: string };
  let ca: string;

  before(async () => {
    const authority = await testCa();
    const { certPem: cert, keyPem: key } = await authority.issue({ dnsNames: ['localhost'] });
    credentials = { cert, key };
    ca = authority.caPem;
  });

  /** What a server of this policy and a client agree on: version, suite and key exchange; `refused` when on nothing. */
  async function agreed(policy: TlsPolicy, client: ConnectionOptions): Promise<string> {
    const server = createServer({ ...credentials, ...policy }, (socket) => socket.on('error', () => {}).resume());
    server.on('tlsClientError', () => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return new Promise<string>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost', ...client }, () => {
        const { name } = socket.getCipher();
        const key = (socket.getEphemeralKeyInfo() as { name?: string } | null)?.name ?? '';
        resolve(`${socket.getProtocol()} ${name} ${key}`);
      });
      socket.on('error', () => resolve('refused'));
      socket.on('secureConnect', () => socket.destroy());
    }).finally(() => server.close());
  }

  const none = { minVersion: '', suites: [], curves: [] };
  const old = { maxVersion: 'TLSv1.2' } as const;

  for (const [what, asked, client, expected] of [
    ['serves TLS 1.2 by default', none, old, /^TLSv1.2 ECDHE-ECDSA-AES/],
    ['serves TLS 1.3 by default', none, {}, /^TLSv1.3 /],
    ['serves no CBC suite by default', none, { ...old, ciphers: 'ECDHE-ECDSA-AES128-SHA' }, /^refused$/],
    ['serves TLS 1.2 for VersionTLS12', { ...none, minVersion: 'VersionTLS12' }, old, /^TLSv1.2 /],
    ['refuses TLS 1.2 for VersionTLS13', { ...none, minVersion: 'VersionTLS13' }, old, /^refused$/],
    ['serves TLS 1.3 for VersionTLS13', { ...none, minVersion: 'VersionTLS13' }, {}, /^TLSv1.3 /],
    [
      'refuses TLS 1.1 for VersionTLS10',
      { ...none, minVersion: 'VersionTLS10' },
      { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
      /^refused$/,
    ],
    [
      'serves the suite that is asked for',
      { ...none, suites: ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'] },
      old,
      /^TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384 /,
    ],
    [
      'refuses every other suite',
      { ...none, suites: ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'] },
      { ...old, ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' },
      /^refused$/,
    ],
    [
      'serves TLS 1.3 whichever suites are asked for',
      { ...none, suites: ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'] },
      {},
      /^TLSv1.3 /,
    ],
    ['refuses TLS 1.2 with suites of TLS 1.3 alone', { ...none, suites: ['TLS_AES_128_GCM_SHA256'] }, old, /^refused$/],
    [
      'serves a CBC suite that is asked for',
      { ...none, suites: ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA'] },
      old,
      /SHA /,
    ],
    ['keeps to the curves that are asked for', { ...none, curves: ['CurveP384'] }, {}, / secp384r1$/],
    ['takes curves by number', { ...none, curves: ['25', '24'] }, {}, / secp521r1$/],
    ['refuses other curves', { ...none, curves: ['CurveP384'] }, { ecdhCurve: 'P-256' }, /^refused$/],
  ] as const) {
    it(what, async () => assert.match(await agreed(tlsPolicy(asked), client), expected));
  }

  it('knows an OpenSSL name for each suite and curve of the flags', async () => {
    for (const suite of cipherSuites) await agreed(tlsPolicy({ ...none, suites: [suite] }), {});
    for (const curve of curveNames) assert.match(await agreed(tlsPolicy({ ...none, curves: [curve] }), {}), /^TLS/);
  });
});
