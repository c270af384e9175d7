import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import {
  Certificate,
  ContentInfo,
  IssuerAndSerialNumber,
  id_ContentType_Data,
  id_ContentType_SignedData,
  SignedData,
  SignedDataVerifyError,
} from 'pkijs';
import type { JsonWebKeys } from './trust.ts';
import { EvidenceRefusal } from './verdict.ts';

/**
 * The only file with the libraries for PKCS#7 and JWT. It is loaded for the first document to verify, and built into a
 * separate bundle.
 */

/** A PKCS#7 signature with exactly one signer, parsed and not yet verified. */
export interface SignedMessage {
  /** The content inside; undefined when the signature is detached. */
  readonly content: Uint8Array | undefined;
  /** The certificates in the message, as DER; they prove nothing by themselves. */
  readonly certificates: readonly Uint8Array[];
  /**
   * Whether this certificate is the signer's by issuer and serial number, and its key made the signature.
   *
   * @param detached the content, where there is none inside
   * @throws EvidenceRefusal
   */
  verifyWith(certificate: Uint8Array, detached?: Uint8Array): Promise<void>;
  /** Whether this certificate has the signer's issuer and serial number. */
  isOfSigner(certificate: Uint8Array): boolean;
}

/** Of pkijs: the signer is none of the certificates. */
const noSignerCertificate = 3;
/** SHA-256, SHA-384 and SHA-512. */
const digests: ReadonlySet<string> = new Set([1, 2, 3].map((last) => `2.16.840.1.101.3.4.2.${last}`));
const octetString = 4;

/** @throws EvidenceRefusal */
export function parseSignedMessage(base64: string): SignedMessage {
  const signed = parse(base64);
  const [signer, ...others] = signed.signerInfos;
  if (signer === undefined || others.length > 0) {
    throw new EvidenceRefusal('Malformed', `expected exactly one signer, found ${signed.signerInfos.length}`);
  }
  if (!digests.has(signer.digestAlgorithm.algorithmId))
    throw new EvidenceRefusal('BadSignature', 'the digest is no SHA-2');
  const { eContentType, eContent } = signed.encapContentInfo;
  if (eContentType !== id_ContentType_Data) throw new EvidenceRefusal('Malformed', 'the signed content is no data');
  if (eContent !== undefined && eContent.idBlock.tagNumber !== octetString) {
    throw new EvidenceRefusal('Malformed', 'the signed content is no octet string');
  }
  const content = eContent === undefined ? undefined : new Uint8Array(eContent.getValue());
  const certificates = (signed.certificates ?? []).filter((each) => each instanceof Certificate);
  return {
    content,
    certificates: certificates.map((each) => new Uint8Array(each.toSchema(true).toBER())),
    isOfSigner: (certificate) => namesCertificate(signer.sid, Certificate.fromBER(certificate)),
    async verifyWith(certificate, detached) {
      // The certificates in the message are not used.
      signed.certificates = [Certificate.fromBER(certificate)];
      let verified: unknown;
      try {
        verified = await signed.verify({
          signer: 0,
          ...(content === undefined && detached ? { data: bufferOf(detached) } : {}),
        });
      } catch (error) {
        const isUnknownSigner = error instanceof SignedDataVerifyError && error.code === noSignerCertificate;
        throw new EvidenceRefusal(isUnknownSigner ? 'UntrustedSigner' : 'BadSignature');
      }
      if (verified !== true) throw new EvidenceRefusal('BadSignature');
    },
  };
}

function parse(base64: string): SignedData {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64.replace(/\s+/g, '')))
    throw new EvidenceRefusal('Malformed', 'the signature is not base64');
  try {
    const info = ContentInfo.fromBER(Buffer.from(base64, 'base64'));
    if (info.contentType !== id_ContentType_SignedData) throw new Error('not signed data');
    return new SignedData({ schema: info.content });
  } catch {
    throw new EvidenceRefusal('Malformed', 'the signature is no PKCS#7 signed data');
  }
}

function namesCertificate(sid: unknown, certificate: Certificate): boolean {
  if (!(sid instanceof IssuerAndSerialNumber)) return false;
  return certificate.issuer.isEqual(sid.issuer) && certificate.serialNumber.isEqual(sid.serialNumber);
}

function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return Uint8Array.from(bytes).buffer;
}

export interface TokenExpectation {
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

const clockToleranceSeconds = 60;
const maxAgeSeconds = 3600;

/** The claims of a valid RS256 token for us that one of these keys signed.
 *
 * @throws EvidenceRefusal
 */
export async function verifyToken(
  token: string,
  keys: JsonWebKeys,
  { issuers, audiences, nowMs }: TokenExpectation,
): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys as JSONWebKeySet), {
      algorithms: ['RS256'],
      issuer: [...issuers],
      requiredClaims: ['exp', 'iat', 'aud', 'iss'],
      clockTolerance: clockToleranceSeconds,
      maxTokenAge: maxAgeSeconds,
      currentDate: new Date(nowMs),
    });
    // A single audience: a list that contains ours is not accepted.
    if (typeof payload.aud !== 'string' || !audiences.includes(payload.aud)) throw new EvidenceRefusal('NotFresh');
    return payload;
  } catch (error) {
    throw refusalOf(error);
  }
}

function refusalOf(error: unknown): EvidenceRefusal {
  if (error instanceof EvidenceRefusal) return error;
  if (error instanceof errors.JWTExpired) return new EvidenceRefusal('Expired');
  if (error instanceof errors.JWSSignatureVerificationFailed) return new EvidenceRefusal('BadSignature');
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
    return new EvidenceRefusal('UntrustedSigner');
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim } = error;
    if (claim === 'iat' || claim === 'nbf')
      return new EvidenceRefusal('Expired', `the claim ${claim} does not hold now`);
    return new EvidenceRefusal('UntrustedSigner', `the claim ${claim} is not as expected`);
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return new EvidenceRefusal('BadSignature', 'the token is not signed with RS256');
  }
  return new EvidenceRefusal('Malformed', 'the token is no signed JWT');
}
