import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

export interface IssueOptions {
  readonly dnsNames?: readonly string[];
  readonly ips?: readonly string[];
  /** Default 01 01 2020. */
  readonly notBefore?: Date;
  /** Default ten years from now; set it in the past for an expired one. */
  readonly notAfter?: Date;
  /** For certificates of clients, `clientAuth`. */
  readonly usage?: 'serverAuth' | 'clientAuth';
  readonly subject?: string;
}

export interface IssuedCertificate {
  readonly certPem: string;
  /** PKCS#8. */
  readonly keyPem: string;
}

/** A throw-away certificate authority for tests. */
export interface TestCa {
  readonly caPem: string;
  /** A leaf with a key of its own (ECDSA P-256). */
  issue(options?: IssueOptions): Promise<IssuedCertificate>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const provider = webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0];
const tenYearsMs = 3650 * 86_400_000;

async function newKeys() {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), x509.PemConverter.PrivateKeyTag);
}

/** A new authority; two calls give two that do not trust each other, also under one name. */
export async function testCa(name = 'test-ca'): Promise<TestCa> {
  const keys = await newKeys();
  const ca = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${name}`,
      serialNumber: '01',
      notBefore: new Date('2020-01-01T00:00:00Z'),
      notAfter: new Date(Date.now() + tenYearsMs),
      signingAlgorithm: algorithm,
      keys,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, provider),
      ],
    },
    provider,
  );
  let serial = 1;
  return {
    caPem: `${ca.toString('pem')}\n`,
    async issue(options = {}) {
      const leafKeys = await newKeys();
      serial += 1;
      const alternatives: x509.JsonGeneralNames = [
        ...(options.dnsNames ?? []).map((value) => ({ type: 'dns' as const, value })),
        ...(options.ips ?? []).map((value) => ({ type: 'ip' as const, value })),
      ];
      const leaf = await x509.X509CertificateGenerator.create(
        {
          subject: options.subject ?? `CN=${options.dnsNames?.[0] ?? options.ips?.[0] ?? 'leaf'}`,
          issuer: ca.subject,
          serialNumber: serial.toString(16).padStart(2, '0'),
          notBefore: options.notBefore ?? new Date('2020-01-01T00:00:00Z'),
          notAfter: options.notAfter ?? new Date(Date.now() + tenYearsMs),
          signingAlgorithm: algorithm,
          publicKey: leafKeys.publicKey,
          signingKey: keys.privateKey,
          extensions: [
            new x509.BasicConstraintsExtension(false, undefined, true),
            new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
            new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage[options.usage ?? 'serverAuth']]),
            ...(alternatives.length > 0 ? [new x509.SubjectAlternativeNameExtension(alternatives)] : []),
            await x509.AuthorityKeyIdentifierExtension.create(keys.publicKey, false, provider),
          ],
        },
        provider,
      );
      return { certPem: `${leaf.toString('pem')}\n`, keyPem: `${await privatePem(leafKeys.privateKey)}\n` };
    },
  };
}
