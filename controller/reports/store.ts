import type { Clock } from '../../common/process/clock.ts';
import type { Report } from '../../common/report.ts';
import type { Assurance } from '../model/verified-instance.ts';
import type { Attestation, Judgement } from './attestation/verdict.ts';
import type { Sender } from './sender.ts';

export interface StoredReport {
  readonly nodeName: string;
  readonly nodeUid: string;
  readonly report: Report;
  /** Measured by the controller's clocks. */
  readonly receivedAtMs: number;
  readonly receivedMonotonicMs: number;
  /** The last verified evidence of this Node, from this or an earlier report. */
  readonly attestation?: Attestation | undefined;
  /** Why the last evidence was refused; undefined when it was verified or there was none. */
  readonly refusedEvidence?: string | undefined;
  /** The contents of `report` are dropped, because newer ones may have gone to another leader. */
  readonly outdated?: boolean;
}

export interface ReportArrival {
  readonly nodeName: string;
  /** The instance, notices or machine of the report differ from the previous one, or there was none. */
  readonly changed: boolean;
  /** Evidence of this Node was verified that differs from the previous one. */
  readonly attested: boolean;
  /** It is the first report of this Node. */
  readonly first: boolean;
  readonly leaving: boolean;
}

/** The newest report of each node, in memory only: a new leader needs none to act. */
export interface ReportStore {
  get(nodeName: string): StoredReport | undefined;
  /** Stores a report if it is newer; returns `stale` for an older sequence number of the same agent process. */
  put(sender: Sender, report: Report, judgement?: Judgement): 'kept' | 'stale';
  /** Stores what another store has of a Node, if the report is newer. */
  adopt(stored: StoredReport): 'kept' | 'stale';
  forget(nodeName: string): void;
  /**
   * Drops the contents of all reports, but keeps the times when they were received as signs of life. The next report of
   * each Node counts as its first.
   */
  outdate(): void;
  readonly size: number;
  values(): Iterable<StoredReport>;
  /** The assurance of every Node that has reported. */
  assurances(): Iterable<Assurance>;
  subscribe(handler: (arrival: ReportArrival) => void): void;
}

/** The part of a report whose change requires a reconcile. */
function substance(report: Report): string {
  return JSON.stringify([report.instance, report.notices, report.smbiosUuid, report.bootId]);
}

function refusalText({ refused }: Judgement): string | undefined {
  return refused && `${refused.code}: ${refused.message}`;
}

export function createReportStore(clock: Clock): ReportStore {
  const reports = new Map<string, StoredReport>();
  const handlers: ((arrival: ReportArrival) => void)[] = [];

  /** The report that this one would replace, of the same Node; `stale` where it is newer. */
  function previousOf(nodeName: string, nodeUid: string, report: Report): StoredReport | undefined | 'stale' {
    const before = reports.get(nodeName);
    if (before?.nodeUid !== nodeUid) return undefined;
    return before.report.agentId === report.agentId && report.sequence <= before.report.sequence ? 'stale' : before;
  }

  function keep(stored: StoredReport, previous: StoredReport | undefined): 'kept' {
    const { nodeName, report } = stored;
    reports.set(nodeName, stored);
    const first = previous === undefined || previous.outdated === true;
    const arrival = {
      nodeName,
      changed: first || substance(previous.report) !== substance(report),
      attested: JSON.stringify(stored.attestation?.instance) !== JSON.stringify(previous?.attestation?.instance),
      first,
      leaving: report.leaving === true,
    };
    for (const handler of handlers) handler(arrival);
    return 'kept';
  }

  return {
    get: (nodeName) => reports.get(nodeName),
    put({ nodeName, nodeUid }, report, judgement) {
      const previous = previousOf(nodeName, nodeUid, report);
      if (previous === 'stale') return 'stale';
      const attestation = judgement?.attestation ?? previous?.attestation;
      const refusedEvidence = judgement === undefined ? previous?.refusedEvidence : refusalText(judgement);
      const stored = {
        nodeName,
        nodeUid,
        report,
        receivedAtMs: clock.now(),
        receivedMonotonicMs: clock.monotonic(),
        ...(attestation && { attestation }),
        ...(refusedEvidence !== undefined && { refusedEvidence }),
      };
      return keep(stored, previous);
    },
    adopt(stored) {
      const previous = previousOf(stored.nodeName, stored.nodeUid, stored.report);
      return previous === 'stale' ? 'stale' : keep(stored, previous);
    },
    forget(nodeName) {
      reports.delete(nodeName);
    },
    outdate() {
      for (const [nodeName, stored] of reports) {
        const { version, agentVersion, agentId, sequence, observedAt } = stored.report;
        const metadata = { ok: false, ageSeconds: 0, failures: 0 };
        const report: Report = { version, agentVersion, agentId, sequence, observedAt, metadata };
        const { attestation: _, refusedEvidence: __, ...rest } = stored;
        reports.set(nodeName, { ...rest, report, outdated: true });
      }
    },
    *assurances() {
      for (const { attestation } of reports.values()) yield attestation?.instance.assurance ?? 'psat';
    },
    values: () => reports.values(),
    get size() {
      return reports.size;
    },
    subscribe(handler) {
      handlers.push(handler);
    },
  };
}
