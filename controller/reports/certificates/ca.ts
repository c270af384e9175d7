import { randomBytes, webcrypto } from 'node:crypto';
import type { ServingCredentials } from '../../runtime/serving/credentials.ts';

/** A certificate authority: its certificate and key (PKCS #8), both PEM. */
export interface Authority {
  readonly cert: string;
  readonly key: string;
}

/** From when until when, in milliseconds since 1970. Certificates carry whole seconds. */
export interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** Loaded only to issue a certificate, which most processes never do. */
async function x509Library() {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]);
  return x509;
}

function newKeys() {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

function pem(label: string, der: ArrayBuffer): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

async function keyPem(key: webcrypto.CryptoKey): Promise<string> {
  return pem('PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', key));
}

function importKey(pemText: string): Promise<webcrypto.CryptoKey> {
  const der = Buffer.from(pemText.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64');
  return webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']);
}

/** Positive and 127 bits long, as RFC 5280 4.1.2.2 requires. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0] ?? 0) & 0x7f || 1;
  return bytes.toString('hex');
}

function dates({ notBefore, notAfter }: Validity) {
  return { notBefore: new Date(notBefore), notAfter: new Date(notAfter) };
}

/**
 * Issues an authority (ECDSA P-256, no sub-authorities). Each has its own subject, so that a verifier with several
 * finds the right one.
 */
export async function issueAuthority(validity: Validity): Promise<Authority> {
  const x509 = await x509Library();
  const keys = await newKeys();
  const serial = serialNumber();
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=mooring-ca-${serial.slice(0, 12)}`,
    serialNumber: serial,
    ...dates(validity),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: pem('CERTIFICATE', cert.rawData), key: await keyPem(keys.privateKey) };
}

/** Issues a serving certificate for these DNS names, signed by the authority. */
export async function issueServing(
  authority: Authority,
  dnsNames: readonly string[],
  validity: Validity,
): Promise<ServingCredentials> {
  const x509 = await x509Library();
  const issuer = new x509.X509Certificate(authority.cert);
  const keys = await newKeys();
  const cert = await x509.X509CertificateGenerator.create({
    subject: `CN=${dnsNames[0] ?? 'mooring'}`,
    issuer: issuer.subject,
    serialNumber: serialNumber(),
    ...dates(validity),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: await importKey(authority.key),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(dnsNames.map((value) => ({ type: 'dns', value }))),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: pem('CERTIFICATE', cert.rawData), key: await keyPem(keys.privateKey) };
}

/** Issues a serving certificate that clients do not verify by an authority. */
export async function issueSelfSigned(dnsNames: readonly string[], validity: Validity): Promise<ServingCredentials> {
  const authority = await issueAuthority(validity);
  return issueServing(authority, dnsNames, validity);
}
