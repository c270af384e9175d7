import { createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto';
import type { EvidenceCloud } from '../../../common/attestation.ts';
import { pemCertificates } from '../../../common/pem-certificates.ts';

/**
 * The keys and certificates that sign the evidence of the clouds: from `--attestation-trust`, else the shipped or
 * published ones.
 */
export interface Trust {
  /** By region; `''` is for every region without its own entry. */
  readonly aws: ReadonlyMap<string, readonly X509Certificate[]>;
  /** A JSON Web Key Set; undefined: Google's published keys. */
  readonly gce: JsonWebKeys | undefined;
  /** Roots and intermediates; undefined: the roots of Azure's certificates that Node ships. */
  readonly azure: readonly X509Certificate[] | undefined;
  /** Undefined: evidence of the simulated cloud proves nothing. */
  readonly simulated: KeyObject | undefined;
}

export interface JsonWebKeys {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

/** One `--attestation-trust NAME=FILE`, with the file's text. */
export interface TrustFile {
  readonly name: string;
  readonly text: string;
}

/** NAME of `--attestation-trust`: a cloud; for aws with or without a region. */
export const trustName = /^(?:aws(?:\/[a-z0-9-]+)?|gce|azure|simulated)$/;

/** Parses the files. @throws an Error that says what was expected, free of the content */
export function readTrust(files: readonly TrustFile[]): Trust {
  const aws = new Map<string, readonly X509Certificate[]>();
  let gce: JsonWebKeys | undefined;
  let azure: readonly X509Certificate[] | undefined;
  let simulated: KeyObject | undefined;
  for (const { name, text } of files) {
    const [cloud, region = ''] = name.split('/') as [EvidenceCloud, string?];
    if (cloud === 'aws') aws.set(region, certificates(text));
    else if (cloud === 'gce') gce = jsonWebKeys(text);
    else if (cloud === 'azure') {
      azure = certificates(text);
      if (!azure.some(isRoot)) throw new Error('a self-signed root certificate among the certificates');
    } else simulated = publicKey(text);
  }
  return { aws, gce, azure, simulated };
}

function certificates(text: string): readonly X509Certificate[] {
  try {
    const found = pemCertificates(text);
    if (found.length > 0) return found;
  } catch {
    // Reported below with our own error.
  }
  throw new Error('certificates in PEM');
}

export function isRoot(certificate: X509Certificate): boolean {
  return certificate.ca && certificate.issuer === certificate.subject && certificate.verify(certificate.publicKey);
}

/** @throws an Error that says what was expected */
export function jsonWebKeys(text: string): JsonWebKeys {
  try {
    const value: unknown = JSON.parse(text);
    const keys = typeof value === 'object' && value !== null && 'keys' in value ? value.keys : undefined;
    const isKey = (key: unknown) => typeof key === 'object' && key !== null && 'kty' in key && key.kty === 'RSA';
    if (Array.isArray(keys) && keys.length > 0 && keys.every(isKey)) return { keys };
  } catch {
    // Reported below with our own error.
  }
  throw new Error('a JSON Web Key Set of RSA keys');
}

function publicKey(text: string): KeyObject {
  try {
    const key = createPublicKey(text);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Reported below with our own error.
  }
  throw new Error('an Ed25519 public key in PEM');
}

/** Whether a certificate is valid at this time. */
export function holdsAt(certificate: X509Certificate, nowMs: number): boolean {
  return certificate.validFromDate.getTime() <= nowMs && nowMs <= certificate.validToDate.getTime();
}

/** One trusted certificate, for the metric of its expiry. */
export interface TrustedRoot {
  readonly cloud: EvidenceCloud;
  /** A region, or the common name of a root. */
  readonly name: string;
  readonly certificate: X509Certificate;
}

export function commonName({ subject }: X509Certificate): string {
  return /^CN=(.*)$/m.exec(subject)?.[1] ?? subject.replaceAll('\n', ', ');
}
