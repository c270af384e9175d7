import 'reflect-metadata';
import { generateKeyPairSync, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

export interface Certificates {
  caPem: string;
  serverCertPem: string;
  serverKeyPem: string;
  /** RSA key with which the API server signs ServiceAccount tokens. */
  serviceAccountKeyPem: string;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const day = 86_400_000;

/** A throw-away authority, and a serving certificate of it for 127.0.0.1 and the cluster's own names. */
export async function makeCertificates(): Promise<Certificates> {
  const crypto = webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0];
  x509.cryptoProvider.set(crypto);
  const usages = ['sign', 'verify'] as const;
  const caKeys = await webcrypto.subtle.generateKey(algorithm, true, usages);
  const serverKeys = await webcrypto.subtle.generateKey(algorithm, true, usages);
  const notBefore = new Date(Date.now() - day);
  const notAfter = new Date(Date.now() + 7 * day);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=mooring-test-ca',
    serialNumber: '01',
    notBefore,
    notAfter,
    signingAlgorithm: algorithm,
    keys: caKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const server = await x509.X509CertificateGenerator.create({
    subject: 'CN=kube-apiserver',
    issuer: ca.subject,
    serialNumber: '02',
    notBefore,
    notAfter,
    signingAlgorithm: algorithm,
    publicKey: serverKeys.publicKey,
    signingKey: caKeys.privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        { type: 'ip', value: '127.0.0.1' },
        { type: 'ip', value: '10.96.0.1' },
        { type: 'dns', value: 'localhost' },
        { type: 'dns', value: 'kubernetes.default.svc' },
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', serverKeys.privateKey));
  return {
    caPem: `${ca.toString('pem')}\n`,
    serverCertPem: `${server.toString('pem')}\n`,
    serverKeyPem: x509.PemConverter.encode(pkcs8 as unknown as ArrayBuffer, 'PRIVATE KEY'),
    serviceAccountKeyPem: generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    }).privateKey,
  };
}
