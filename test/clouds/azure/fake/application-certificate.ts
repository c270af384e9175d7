import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const algorithm = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  publicExponent: new Uint8Array([1, 0, 1]),
  modulusLength: 2048,
};
const validity = { notBefore: new Date('2020-01-01T00:00:00Z'), notAfter: new Date('2099-12-31T00:00:00Z') };

/** A certificate of an application that it signed itself, and its key, in PEM. */
export async function issueApplicationCertificate(): Promise<{ readonly certificate: string; readonly key: string }> {
  x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const own = { serialNumber: '01', name: 'CN=mooring', ...validity, signingAlgorithm: algorithm, keys };
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(own);
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  const key = `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
  return { certificate: `${certificate.toString('pem')}\n`, key };
}
