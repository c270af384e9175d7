import type { Instance } from '../common/instance.ts';
import { type Evidence, maxReportBytes, type Report, type ReportedInstance, reportVersion } from '../common/report.ts';
import { visibleLine } from '../common/visible-text.ts';
import type { Observation } from './observe.ts';

/** The parts of a report that never change within one process. */
export interface AgentIdentity {
  readonly agentVersion: string;
  readonly agentId: string;
  readonly bootId?: string;
  readonly smbiosUuid?: string;
}

export interface ReportMoment {
  readonly sequence: number;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  readonly leaving: boolean;
  readonly evidence?: Evidence;
  /** Why there is no evidence, although it was requested. */
  readonly evidenceError?: string;
}

const maxNotices = 10;
const maxTextLength = 300;

/**
 * Composes a report within the length limits of the wire: the end of a list of addresses that is too long is left out.
 * Pure.
 */
export function composeReport(identity: AgentIdentity, observation: Observation, moment: ReportMoment): Report {
  const { instance, notices, metadata } = observation;
  const error = metadata.error ?? moment.evidenceError;
  const report: Report = {
    version: reportVersion,
    ...identity,
    sequence: moment.sequence,
    observedAt: new Date(moment.nowMs).toISOString(),
    ...(instance === undefined ? {} : { instance: reported(instance) }),
    metadata: error === undefined ? metadata : { ...metadata, error: visibleLine(error, maxTextLength) },
    ...(notices.length === 0 ? {} : { notices: notices.slice(0, maxNotices).map(shortened) }),
    ...(moment.evidence === undefined ? {} : { evidence: moment.evidence }),
    ...(moment.leaving ? { leaving: true } : {}),
  };
  return fitted(report);
}

function reported({ smbiosUuid: _, ...instance }: Instance): ReportedInstance {
  return instance;
}

function shortened<T extends { readonly message?: string }>(notice: T): T {
  return notice.message === undefined ? notice : { ...notice, message: visibleLine(notice.message, maxTextLength) };
}

function fitted(report: Report): Report {
  const excess = Buffer.byteLength(JSON.stringify(report)) - maxReportBytes;
  if (excess <= 0 || report.instance === undefined || report.instance.addresses.length === 0) return report;
  const addresses = [...report.instance.addresses];
  for (let freed = 0; freed < excess && addresses.length > 0; ) {
    freed += Buffer.byteLength(JSON.stringify(addresses.pop())) + 1;
  }
  return { ...report, instance: { ...report.instance, addresses } };
}
