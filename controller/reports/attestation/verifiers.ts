import type { X509Certificate } from 'node:crypto';
import type { EvidenceCloud } from '../../../common/attestation.ts';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { awsVerifier } from './aws.ts';
import { awsCertificates } from './aws-certificates.ts';
import { azureVerifier } from './azure.ts';
import { azureRoots, createIssuerFetch, type FetchBytes } from './azure-issuers.ts';
import { gceVerifier } from './gce.ts';
import { createPublishedKeys, googleKeysUrl } from './published-keys.ts';
import { simulatedVerifier } from './simulated.ts';
import { commonName, isRoot, type Trust, type TrustedRoot } from './trust.ts';
import type { EvidenceVerifier } from './verdict.ts';

export interface VerifierParts {
  readonly clock: Clock;
  readonly trust: Trust;
  /** For Google's keys. */
  readonly http: Http;
  /** For intermediates of Azure's certificates. */
  readonly fetchBytes: FetchBytes;
}

export interface Verifiers {
  readonly verifiers: readonly EvidenceVerifier[];
  /** The certificates that they trust. */
  readonly roots: readonly TrustedRoot[];
}

/**
 * Creates the verifiers of these clouds' evidence; none for a cloud without signed documents or without trusted keys.
 */
export function createVerifiers(clouds: Iterable<string>, parts: VerifierParts): Verifiers {
  const verifiers: EvidenceVerifier[] = [];
  const roots: TrustedRoot[] = [];
  const makers: Readonly<Record<EvidenceCloud, () => EvidenceVerifier | undefined>> = {
    aws: () => aws(parts, roots),
    azure: () => azure(parts, roots),
    gce: () => gce(parts),
    simulated: () => (parts.trust.simulated === undefined ? undefined : simulatedVerifier(parts.trust.simulated)),
  };
  for (const cloud of new Set(clouds)) {
    const verifier = Object.hasOwn(makers, cloud) ? makers[cloud as EvidenceCloud]() : undefined;
    if (verifier !== undefined) verifiers.push(verifier);
  }
  return { verifiers, roots };
}

function aws({ clock, trust }: VerifierParts, roots: TrustedRoot[]): EvidenceVerifier | undefined {
  const byRegion = new Map<string, readonly X509Certificate[]>([...awsCertificates(), ...trust.aws]);
  if (byRegion.size === 0) return undefined;
  for (const [region, certificates] of byRegion) {
    for (const certificate of certificates) roots.push({ cloud: 'aws', name: region || 'every region', certificate });
  }
  return awsVerifier({
    certificatesOf: (region) => byRegion.get(region) ?? byRegion.get('') ?? [],
    now: () => clock.now(),
  });
}

function azure({ clock, trust, fetchBytes }: VerifierParts, roots: TrustedRoot[]): EvidenceVerifier {
  const trusted = trust.azure ?? azureRoots();
  for (const certificate of trusted.filter(isRoot)) {
    roots.push({ cloud: 'azure', name: commonName(certificate), certificate });
  }
  return azureVerifier({ trusted, fetchIssuer: createIssuerFetch(fetchBytes), now: () => clock.now() });
}

function gce({ clock, trust, http }: VerifierParts): EvidenceVerifier {
  const given = trust.gce;
  const keys = given === undefined ? createPublishedKeys(googleKeysUrl, http, clock) : async () => given;
  return gceVerifier({ keys, now: () => clock.now() });
}
