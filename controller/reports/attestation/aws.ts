import type { X509Certificate } from 'node:crypto';
import { evidenceKinds } from '../../../common/attestation.ts';
import { objectOf, textOf } from './fields.ts';
import { loadSignatures } from './load-signatures.ts';
import { holdsAt } from './trust.ts';
import { EvidenceRefusal, type EvidenceVerifier } from './verdict.ts';

export interface AwsVerifierParts {
  /** The pinned RSA-2048 certificates of a region; several while AWS replaces one. */
  certificatesOf(region: string): readonly X509Certificate[];
  /** Milliseconds since 1970. */
  now(): number;
}

/**
 * Verifies EC2's instance identity document with its RSA-2048 signature (EC2 User Guide, "Verify the instance identity
 * document"). The document never changes and contains no challenge: it proves which VM signed it, not when.
 */
export function awsVerifier({ certificatesOf, now }: AwsVerifierParts): EvidenceVerifier {
  return {
    cloud: 'aws',
    kind: evidenceKinds.aws,
    async verify(evidence) {
      const parts = objectOf(evidence);
      const document = textOf(parts, 'document', /./);
      const { parseSignedMessage } = await loadSignatures();
      const message = parseSignedMessage(textOf(parts, 'signature', /./));
      const bytes = Buffer.from(document, 'utf8');
      // Otherwise one instance's signature could be combined with another's document.
      if (message.content !== undefined && !bytes.equals(message.content)) {
        throw new EvidenceRefusal('BadSignature', 'the signed content is not the document that came with it');
      }
      const pinned = certificatesOf(textOf(objectOf(document), 'region', /^[a-z0-9-]+$/));
      if (pinned.length === 0) throw new EvidenceRefusal('UnknownRegion');
      const signers = pinned.filter((each) => message.isOfSigner(each.raw));
      if (signers.length === 0) throw new EvidenceRefusal('UntrustedSigner');
      const current = signers.filter((each) => holdsAt(each, now()));
      if (current.length === 0)
        throw new EvidenceRefusal('Expired', 'the trusted certificate of this region has expired');
      await firstThatVerifies(current, (each) => message.verifyWith(each.raw, bytes));
      // Only the verified bytes are parsed.
      const signed = objectOf(bytes.toString('utf8'));
      const id = textOf(signed, 'instanceId', /^i-[0-9a-f]{8,17}$/);
      const zone = textOf(signed, 'availabilityZone', /^[a-z0-9-]+$/);
      const region = textOf(signed, 'region', /^[a-z0-9-]+$/);
      return { assurance: 'psat+doc', cloud: 'aws', id, incarnation: id, zone, region };
    },
  };
}

/** Two certificates may share issuer and serial number and have different keys. */
async function firstThatVerifies(
  candidates: readonly X509Certificate[],
  verify: (certificate: X509Certificate) => Promise<void>,
): Promise<void> {
  let last: unknown;
  for (const candidate of candidates) {
    try {
      return await verify(candidate);
    } catch (error) {
      last = error;
    }
  }
  throw last;
}
