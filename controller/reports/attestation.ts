import type { Evidence } from '../../common/report.ts';
import type { Sender } from './store.ts';

/**
 * How far it is proved that the sender's node is the VM it names. `psat`: the token alone, which proves the Node and nothing about the VM;
 * `psat+doc`: also a signed document of the cloud; `psat+fresh`: one that answers a challenge of ours.
 */
export type Assurance = 'psat' | 'psat+doc' | 'psat+fresh';

/** What a cloud's signed document says about the VM. */
export interface VerifiedInstance {
  readonly assurance: Exclude<Assurance, 'psat'>;
  readonly cloud: string;
  readonly id: string;
  readonly incarnation?: string;
}

/** Checks one kind of evidence of one cloud. */
export interface EvidenceVerifier {
  readonly cloud: string;
  readonly kind: string;
  /** Undefined when the evidence proves nothing; never throws. */
  verify(evidence: Evidence, sender: Sender): Promise<VerifiedInstance | undefined>;
}

/** No cloud's evidence is verified yet: every report stands on its token. */
export const verifiers: readonly EvidenceVerifier[] = [];

/** The assurance a report earns. Evidence of a kind nobody verifies raises nothing, and harms nothing. */
export async function attest(
  sender: Sender,
  evidence: Evidence | undefined,
  known: readonly EvidenceVerifier[] = verifiers,
): Promise<{ readonly assurance: Assurance; readonly instance?: VerifiedInstance }> {
  const verifier = known.find((one) => one.cloud === evidence?.cloud && one.kind === evidence?.kind);
  const instance = evidence && (await verifier?.verify(evidence, sender));
  return instance ? { assurance: instance.assurance, instance } : { assurance: 'psat' };
}
