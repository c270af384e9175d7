import type { Assurance, VerifiedInstance } from '../../model/verified-instance.ts';

export const assurances: readonly Assurance[] = ['psat', 'psat+doc', 'psat+fresh'];

/** The verified instance of a Node, and the report with its evidence. */
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
  UnknownKind: 'The kind of the evidence does not exist for this cloud, or the cloud is not served here.',
  UnknownRegion: 'No certificate of this region is trusted: add one with --attestation-trust.',
  UntrustedSigner: 'The signer is not trusted for this cloud.',
  BadSignature: 'The signature does not match the content, or the content is not the document that was sent with it.',
  Expired: 'The document, its certificate or the trusted certificate is not valid now.',
  NotFresh: 'The document does not answer a challenge that this agent got in the last two minutes.',
  NotAnInstance: 'The document is genuine, but names no VM.',
  UsedElsewhere: 'The document names an instance for which another live Node has given evidence.',
  KeysUnavailable:
    "The cloud's published keys or an intermediate certificate cannot be fetched now. The fetch is repeated.",
} as const;
export type EvidenceFault = keyof typeof evidenceFaults;

/** Refused evidence. The message contains nothing of the document. */
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
   * Verifies the document and returns what it proves.
   *
   * @param challenges those that the sender got in the last two minutes, the newest first
   * @throws EvidenceRefusal
   */
  verify(document: string, challenges: readonly string[]): Promise<VerifiedInstance>;
}

/** The result for the evidence in one report. */
export type Judgement =
  | { readonly attestation: Attestation; readonly refused?: undefined }
  | { readonly attestation?: undefined; readonly refused: EvidenceRefusal };
