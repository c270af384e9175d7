import type { VerifiedInstance } from '../../model/verified-instance.ts';

/**
 * How far it is proved that the sender's node is the VM it names. `psat`: the token alone, which proves the Node and
 * nothing about the VM;
 * `psat+doc`: also a signed document of the cloud; `psat+fresh`: one that answers a challenge of ours.
 */
export type Assurance = 'psat' | 'psat+doc' | 'psat+fresh';

export const assurances: readonly Assurance[] = ['psat', 'psat+doc', 'psat+fresh'];

/** What was verified of a Node, and in which report. */
export interface Attestation {
  readonly instance: VerifiedInstance;
  /** The agent process that sent it. */
  readonly agentId: string;
  /** Monotonic. */
  readonly atMs: number;
}

/** Why evidence is refused: a closed set, also the values of the metric's label. */
export const evidenceFaults = {
  Malformed: 'The evidence is not what this cloud documents.',
  UnknownKind: 'The evidence is of a kind that this cloud does not have, or of a cloud that is not served here.',
  UnknownRegion: 'No certificate of this region is trusted: give one with --attestation-trust.',
  UntrustedSigner: 'The signer is none that is trusted for this cloud.',
  BadSignature: 'The signature does not fit the content, or the content is not the document that came with it.',
  Expired: 'The document, its certificate or the trusted certificate is not valid now.',
  NotFresh: 'The document does not answer a challenge that was given to this agent in the last two minutes.',
  NotAnInstance: 'The document is genuine, but names no VM.',
  UsedElsewhere: 'The document names an instance for which another living Node has given evidence.',
  KeysUnavailable: "The cloud's published keys or an intermediate certificate cannot be fetched now; tried again.",
} as const;
export type EvidenceFault = keyof typeof evidenceFaults;

/** Evidence that proves nothing. The message holds nothing of the document. */
export class EvidenceRefusal extends Error {
  override readonly name = 'EvidenceRefusal';
  readonly code: EvidenceFault;

  constructor(code: EvidenceFault, message: string = evidenceFaults[code]) {
    super(message);
    this.code = code;
  }
}

/** Checks the evidence of one cloud. */
export interface EvidenceVerifier {
  readonly cloud: string;
  readonly kind: string;
  /**
   * What the document proves.
   *
   * @param challenges those that were given to the sender in the last two minutes, the newest first
   * @throws EvidenceRefusal
   */
  verify(document: string, challenges: readonly string[]): Promise<VerifiedInstance>;
}

/** What came of the evidence in one report. */
export type Judgement =
  | { readonly attestation: Attestation; readonly refused?: undefined }
  | { readonly attestation?: undefined; readonly refused: EvidenceRefusal };
