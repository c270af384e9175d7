import type { Clock } from '../../../common/process/clock.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import type { Report } from '../../../common/report.ts';
import { documentContradictsProviderID } from '../../model/attested.ts';
import { createInstanceClaims } from '../../model/instance-claims.ts';
import type { VerifiedInstance } from '../../model/verified-instance.ts';
import type { Sender } from '../sender.ts';
import type { Challenges } from './challenges.ts';
import { type Attestation, EvidenceRefusal, type EvidenceVerifier, type Judgement } from './verdict.ts';

/** Verifies evidence and issues challenges. */
export interface Attestor {
  /** Undefined for a report without evidence. Never rejects. */
  judge(sender: Sender, report: Report): Promise<Judgement | undefined>;
  /**
   * The challenge in the answer to this report; undefined when no evidence is needed now.
   *
   * @param held the verified evidence of this Node, and the result for this report
   * @param joining the Node waits for its initialisation
   */
  challenge(
    sender: Sender,
    report: Report,
    held: { readonly attestation?: Attestation | undefined; readonly judgement?: Judgement | undefined },
    joining: boolean,
  ): string | undefined;
  /** The Node was deleted: another one may give evidence of its instance. */
  release(nodeName: string): void;
}

export interface AttestorParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly challenges: Challenges;
  readonly verifiers: readonly EvidenceVerifier[];
  /** Whether the Node of this name exists and its kubelet is alive. */
  alive(nodeName: string): boolean;
  /** Empty while the Node has no providerID or is not in the cache yet. */
  providerIDOf(nodeName: string): string;
  /** @param outcome `verified` or an EvidenceFault */
  onJudged(cloud: string, outcome: string): void;
}

/** An agent attests again after this long, and after a restart. */
const renewAfterMs = 12 * 3_600_000;
/** Initialised Nodes attest one at a time, because after a change of leader all of them have to. */
const betweenRenewalsMs = 50;

export function createAttestor(parts: AttestorParts): Attestor {
  const { clock, log, challenges, verifiers, alive, providerIDOf, onJudged } = parts;
  const byCloud = new Map(verifiers.map((verifier) => [verifier.cloud, verifier]));
  /** Which Node was the first to give evidence of an instance. */
  const pairs = createInstanceClaims();
  let nextRenewalMs = Number.NEGATIVE_INFINITY;

  async function verify(sender: Sender, { evidence, agentId }: Report): Promise<Attestation> {
    const verifier = evidence && byCloud.get(evidence.cloud);
    if (evidence === undefined || verifier?.kind !== evidence.kind) throw new EvidenceRefusal('UnknownKind');
    const instance = await verifier.verify(evidence.document, challenges.accepted(sender));
    const attestation = { instance, agentId, atMs: clock.monotonic() };
    // The evidence contradicts the Node's providerID, which the reconciler reports. The instance stays free for its own
    // Node.
    const contradicts = (name: string) => documentContradictsProviderID(instance, providerIDOf(name));
    if (contradicts(sender.nodeName)) return attestation;
    const holds = (name: string) => alive(name) && !contradicts(name);
    const holder = pairs.take(pairKey(instance), sender.nodeName, holds);
    if (holder !== undefined) {
      throw new EvidenceRefusal('UsedElsewhere', `live Node ${holder} has given evidence of the same instance`);
    }
    return attestation;
  }

  return {
    async judge(sender, report) {
      if (report.evidence === undefined) return undefined;
      // The label of the metric is from a closed set.
      const cloud = byCloud.has(report.evidence.cloud) ? report.evidence.cloud : 'other';
      try {
        const attestation = await verify(sender, report);
        onJudged(cloud, 'verified');
        return { attestation };
      } catch (error) {
        if (!(error instanceof EvidenceRefusal)) log.error('verifying evidence failed', errorFields(error));
        const refused = error instanceof EvidenceRefusal ? error : new EvidenceRefusal('Malformed');
        onJudged(cloud, refused.code);
        log.warn('evidence refused', { node: sender.nodeName, cloud, reason: refused.code, why: refused.message });
        return { refused };
      }
    },
    challenge(sender, report, { attestation, judgement }, joining) {
      if (!byCloud.has(report.instance?.cloud ?? '')) return undefined;
      // Only for NotFresh does another challenge help at once; other refusals wait for the next report.
      if (judgement?.refused !== undefined && judgement.refused.code !== 'NotFresh') return undefined;
      const nowMs = clock.monotonic();
      const holds = attestation?.agentId === report.agentId && nowMs - attestation.atMs < renewAfterMs;
      if (holds) return undefined;
      if (!joining) {
        if (nowMs < nextRenewalMs) return undefined;
        nextRenewalMs = nowMs + betweenRenewalsMs;
      }
      return challenges.issue(sender);
    },
    release: (nodeName) => pairs.release(nodeName),
  };
}

function pairKey({ cloud, id, incarnation }: VerifiedInstance): string {
  return `${cloud} ${incarnation ?? id}`;
}
