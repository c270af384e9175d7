import { challengeShape, maxEvidenceLength } from '../common/attestation.ts';
import { isCloudError } from '../common/cloud-error.ts';
import { abortAfter } from '../common/process/abort-after.ts';
import type { Clock } from '../common/process/clock.ts';
import { errorFields, type Log } from '../common/process/log.ts';
import type { Evidence, ReportAnswer } from '../common/report.ts';
import type { MetadataSource } from './metadata/source.ts';
import type { AgentMetrics } from './metrics.ts';

/**
 * Reads the signed identity of the VM when the controller requests it. Failures do not stop reports: the next report
 * contains them.
 */
export interface EvidenceKeeper {
  /** The evidence or error for the report that is composed now. */
  take(): { readonly evidence?: Evidence; readonly error?: string };
  /** Handles the controller's answer to the report composed last. */
  answered(answer: ReportAnswer): void;
}

export interface EvidenceOptions {
  readonly source: Pick<MetadataSource, 'cloud' | 'evidence'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: AgentMetrics;
  /** Called when there is evidence to report. */
  readonly onReady: () => void;
}

const timeoutMs = 10_000;

export function createEvidenceKeeper(options: EvidenceOptions, signal: AbortSignal): EvidenceKeeper {
  const { source, clock, log, metrics, onReady } = options;
  let ready: Evidence | undefined;
  let sent: Evidence | undefined;
  let problem: string | undefined;
  let underWay = false;

  async function collect(challenge: string): Promise<void> {
    const limit = abortAfter(clock, timeoutMs, signal);
    try {
      const evidence = await source.evidence?.(challenge, limit.signal);
      if (evidence === undefined) return;
      if (evidence.document.length > maxEvidenceLength) {
        throw new Error(`evidence of ${evidence.document.length} characters, expected at most ${maxEvidenceLength}`);
      }
      ready = evidence;
      problem = undefined;
      metrics.evidence.add({ cloud: source.cloud, outcome: 'ok' });
      onReady();
    } catch (error) {
      if (signal.aborted) return;
      problem = `evidence: ${error instanceof Error ? error.message : error}`;
      metrics.evidence.add({ cloud: source.cloud, outcome: isCloudError(error) ? error.kind : 'Unknown' });
      log.warn('the signed identity of the VM could not be read', errorFields(error));
    } finally {
      limit.cancel();
      underWay = false;
    }
  }

  return {
    take() {
      sent = ready;
      return { ...(ready && { evidence: ready }), ...(problem !== undefined && { error: problem }) };
    },
    answered({ challenge }) {
      if (ready === sent) ready = undefined;
      if (challenge === undefined || !challengeShape.test(challenge)) return;
      if (underWay || source.evidence === undefined) return;
      underWay = true;
      void collect(challenge);
    },
  };
}
