import 'reflect-metadata';
import { webcrypto, X509Certificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { ObjectIdentifier, OctetString } from 'asn1js';
import {
  Attribute,
  Certificate,
  ContentInfo,
  EncapsulatedContentInfo,
  IssuerAndSerialNumber,
  SignedAndUnsignedAttributes,
  SignedData,
  SignerInfo,
} from 'pkijs';

/** Certificates and signed documents of the shapes that the clouds have, signed by keys of the tests. */

const algorithm = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
};
const provider = webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0];
const day = 86_400_000;
const data = '1.2.840.113549.1.7.1';
const contentType = '1.2.840.113549.1.9.3';
const messageDigest = '1.2.840.113549.1.9.4';

export interface TestSigner {
  readonly certificate: X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;
}

export interface SignerOptions {
  /** Undefined: self-signed. */
  readonly issuer?: TestSigner;
  readonly subject?: string;
  readonly serialNumber?: string;
  readonly isAuthority?: boolean;
  readonly dnsNames?: readonly string[];
  readonly issuerUrl?: string;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

export async function testSigner(options: SignerOptions = {}): Promise<TestSigner> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const {
    issuer,
    subject = 'CN=signer',
    serialNumber = '0102',
    dnsNames = [],
    issuerUrl,
    isAuthority = false,
  } = options;
  const certificate = await x509.X509CertificateGenerator.create(
    {
      subject,
      issuer: issuer === undefined ? subject : new x509.X509Certificate(issuer.certificate.raw).subjectName.toString(),
      serialNumber,
      notBefore: options.notBefore ?? new Date(Date.now() - day),
      notAfter: options.notAfter ?? new Date(Date.now() + 3650 * day),
      signingAlgorithm: algorithm,
      publicKey: keys.publicKey,
      signingKey: (issuer ?? { keys }).keys.privateKey,
      extensions: [
        new x509.BasicConstraintsExtension(isAuthority, undefined, true),
        ...(dnsNames.length === 0
          ? []
          : [new x509.SubjectAlternativeNameExtension(dnsNames.map((value) => ({ type: 'dns' as const, value })))]),
        ...(issuerUrl === undefined ? [] : [new x509.AuthorityInfoAccessExtension({ caIssuers: issuerUrl })]),
      ],
    },
    provider,
  );
  return { certificate: new X509Certificate(Buffer.from(certificate.rawData)), keys };
}

/** A PKCS#7 signature in base64, with signed attributes as the clouds' are. */
export async function signMessage(
  content: string,
  signers: readonly TestSigner[],
  { inside = [], detached = false }: { readonly inside?: readonly X509Certificate[]; readonly detached?: boolean } = {},
): Promise<string> {
  const bytes = new TextEncoder().encode(content);
  const digest = await webcrypto.subtle.digest('SHA-256', bytes);
  const signed = new SignedData({
    version: 1,
    encapContentInfo: new EncapsulatedContentInfo({
      eContentType: data,
      ...(detached ? {} : { eContent: new OctetString({ valueHex: bytes.buffer }) }),
    }),
    signerInfos: signers.map(({ certificate }) => {
      const { issuer, serialNumber } = Certificate.fromBER(certificate.raw);
      return new SignerInfo({
        version: 1,
        sid: new IssuerAndSerialNumber({ issuer, serialNumber }),
        signedAttrs: new SignedAndUnsignedAttributes({
          type: 0,
          attributes: [
            new Attribute({ type: contentType, values: [new ObjectIdentifier({ value: data })] }),
            new Attribute({ type: messageDigest, values: [new OctetString({ valueHex: digest })] }),
          ],
        }),
      });
    }),
    certificates: inside.map((each) => Certificate.fromBER(each.raw)),
  });
  for (const [index, { keys }] of signers.entries()) {
    await signed.sign(keys.privateKey, index, 'SHA-256', bytes.buffer);
  }
  const info = new ContentInfo({ contentType: ContentInfo.SIGNED_DATA, content: signed.toSchema(true) });
  return Buffer.from(info.toSchema().toBER()).toString('base64');
}

/** Lines of 76 characters, as the metadata services break them. */
export function broken(base64: string): string {
  return (base64.match(/.{1,76}/g) ?? []).join('\n');
}
