import { evidenceAudience, evidenceKinds } from '../../../common/attestation.ts';
import { gceRegion } from '../../../common/provider-id/gce.ts';
import { asObject, textOf } from './fields.ts';
import { loadSignatures } from './load-signatures.ts';
import type { JsonWebKeys } from './trust.ts';
import { EvidenceRefusal, type EvidenceVerifier } from './verdict.ts';

const issuers = ['https://accounts.google.com', 'accounts.google.com'];
const name = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
/** A project id may begin with a domain, as in `example.com:project`. */
const project = /^([a-z0-9.-]+:)?[a-z][a-z0-9-]*$/;

export interface GceVerifierParts {
  /** Google's public keys. @throws EvidenceRefusal `KeysUnavailable` */
  keys(): Promise<JsonWebKeys>;
  /** Milliseconds since 1970. */
  now(): number;
}

/**
 * Verifies Compute Engine's identity token (Google Cloud, "Verify the identity of VMs"): the audience is our challenge.
 */
export function gceVerifier({ keys, now }: GceVerifierParts): EvidenceVerifier {
  return {
    cloud: 'gce',
    kind: evidenceKinds.gce,
    async verify(token, challenges) {
      const { verifyToken } = await loadSignatures();
      const audiences = challenges.map(evidenceAudience);
      const claims = await verifyToken(token, await keys(), { issuers, audiences, nowMs: now() });
      const google = claims['google'];
      const found = typeof google === 'object' && google !== null && 'compute_engine' in google;
      // The same keys sign the tokens of people and service accounts.
      if (!found) throw new EvidenceRefusal('NotAnInstance');
      const engine = asObject(google.compute_engine, 'google.compute_engine');
      const zone = textOf(engine, 'zone', name);
      const id = `${textOf(engine, 'project_id', project)}/${zone}/${textOf(engine, 'instance_name', name)}`;
      const incarnation = textOf(engine, 'instance_id', /^\d+$/);
      return { assurance: 'psat+fresh', cloud: 'gce', id, incarnation, zone, region: gceRegion(zone) };
    },
  };
}
