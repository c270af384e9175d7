import { X509Certificate } from 'node:crypto';
import { evidenceKinds } from '../../../common/attestation.ts';
import { asObject, objectOf, textOf } from './fields.ts';
import { loadSignatures } from './load-signatures.ts';
import { holdsAt, isRoot } from './trust.ts';
import { EvidenceRefusal, type EvidenceVerifier } from './verdict.ts';

/**
 * Domains of Azure's public cloud, US Government, China and the former Germany (Azure Instance Metadata Service,
 * "Attested data").
 */
const domains = ['metadata.azure.com', 'metadata.azure.us', 'metadata.azure.cn', 'metadata.microsoftazure.de'];
/** Leaf, two intermediates and a root. */
const maxChain = 4;
/** Clocks differ, and a document may be valid for seconds only. The challenge proves that it is new. */
const toleranceMs = 300_000;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export interface AzureVerifierParts {
  /** Roots, and intermediates if they are given by file. */
  readonly trusted: readonly X509Certificate[];
  /**
   * The intermediate at the URL that the certificate names, if the host is Microsoft's; undefined when it is not.
   * @throws EvidenceRefusal
   */
  fetchIssuer(certificate: X509Certificate): Promise<X509Certificate | undefined>;
  /** Milliseconds since 1970. */
  now(): number;
}

/**
 * Verifies Azure's attested document (Azure Instance Metadata Service, "Attested data"): the nonce is our challenge.
 * The document contains vmId and subscription, but not the resource id.
 */
export function azureVerifier(parts: AzureVerifierParts): EvidenceVerifier {
  return {
    cloud: 'azure',
    kind: evidenceKinds.azure,
    async verify(evidence, challenges) {
      const { parseSignedMessage } = await loadSignatures();
      const message = parseSignedMessage(evidence);
      const inside = message.certificates.map(certificateOf);
      const leaf = inside.find((each) => message.isOfSigner(each.raw));
      if (leaf === undefined) throw new EvidenceRefusal('UntrustedSigner', 'the certificate of the signer is missing');
      if (message.content === undefined) throw new EvidenceRefusal('Malformed', 'there is no signed content');
      await message.verifyWith(leaf.raw);
      if (!isAzures(leaf))
        throw new EvidenceRefusal('UntrustedSigner', "the signer is none of Azure's metadata service");
      await assertChain(leaf, inside, parts);
      const signed = objectOf(Buffer.from(message.content).toString('utf8'));
      if (!challenges.includes(textOf(signed, 'nonce', /^[A-Za-z0-9]+$/))) throw new EvidenceRefusal('NotFresh');
      const { expiresOn } = asObject(signed['timeStamp'], 'timeStamp');
      if (parts.now() > momentOf(expiresOn) + toleranceMs) throw new EvidenceRefusal('Expired');
      const subscription = textOf(signed, 'subscriptionId', uuid).toLowerCase();
      return {
        assurance: 'psat+fresh',
        cloud: 'azure',
        incarnation: textOf(signed, 'vmId', uuid).toLowerCase(),
        idPrefix: `/subscriptions/${subscription}/`,
      };
    },
  };
}

function certificateOf(der: Uint8Array): X509Certificate {
  try {
    return new X509Certificate(der);
  } catch {
    throw new EvidenceRefusal('Malformed', 'a certificate inside does not parse');
  }
}

function isAzures(leaf: X509Certificate): boolean {
  const names = [...(leaf.subjectAltName ?? '').matchAll(/(?:^|, )DNS:([A-Za-z0-9.*-]+)(?=, |$)/g)].map(
    ([, name]) => name,
  );
  return names.some((name) => domains.some((domain) => name === domain || name?.endsWith(`.${domain}`)));
}

/** Follows the issuers up to a trusted root. Intermediates prove nothing by themselves. */
async function assertChain(
  leaf: X509Certificate,
  inside: readonly X509Certificate[],
  { trusted, fetchIssuer, now }: AzureVerifierParts,
): Promise<void> {
  let current = leaf;
  for (let length = 1; length < maxChain; length += 1) {
    if (!holdsAt(current, now())) throw new EvidenceRefusal('Expired', 'a certificate of the chain is not valid now');
    const issued = (candidate: X509Certificate) => signed(candidate, current);
    const root = trusted.filter(isRoot).find(issued);
    if (root !== undefined) {
      if (holdsAt(root, now())) return;
      throw new EvidenceRefusal('Expired', 'the trusted root has expired');
    }
    const known = [...trusted, ...inside].find((each) => !isRoot(each) && issued(each));
    const issuer = known ?? (await fetchIssuer(current));
    if (issuer === undefined || !issued(issuer)) throw new EvidenceRefusal('UntrustedSigner');
    current = issuer;
  }
  throw new EvidenceRefusal('UntrustedSigner', 'the chain of certificates is too long');
}

function signed(issuer: X509Certificate, subject: X509Certificate): boolean {
  return issuer.ca && subject.checkIssued(issuer) && subject.verify(issuer.publicKey);
}

/** `MM/DD/YY HH:MM:SS -0000` as milliseconds since 1970. */
function momentOf(text: unknown): number {
  const found = typeof text === 'string' ? /^(\d\d)\/(\d\d)\/(\d\d) (\d\d:\d\d:\d\d) [+-]0000$/.exec(text) : null;
  const ms = found ? Date.parse(`20${found[3]}-${found[1]}-${found[2]}T${found[4]}Z`) : Number.NaN;
  if (Number.isNaN(ms)) throw new EvidenceRefusal('Malformed', 'timeStamp.expiresOn is missing or malformed');
  return ms;
}
