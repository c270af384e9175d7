import type { Clock } from '../../common/process/clock.ts';
import type { Report } from '../../common/report.ts';
import type { Assurance, Attestation, Judgement } from './attestation/verdict.ts';
import type { Sender } from './sender.ts';

export interface StoredReport {
  readonly nodeName: string;
  readonly nodeUid: string;
  readonly report: Report;
  /** By the controller's clocks. */
  readonly receivedAtMs: number;
  readonly receivedMonotonicMs: number;
  /** The last evidence of this Node that was verified, in whichever report it came. */
  readonly attestation?: Attestation | undefined;
  /** Why the last evidence proves nothing; undefined when it proves something or there was none. */
  readonly refusedEvidence?: string | undefined;
  /** `report` says nothing any more: newer ones may have gone to another leader. */
  readonly outdated?: boolean;
}

export interface ReportArrival {
  readonly nodeName: string;
  /** What the report says of the instance, its notices or the machine differs from the one before, or there was none. */
  readonly changed: boolean;
  /** Evidence of this Node was verified that differs from what was known. */
  readonly attested: boolean;
  /** There was none from this Node before. */
  readonly first: boolean;
  readonly leaving: boolean;
}

/** The newest report of each node, in memory only: a new leader needs none to act. */
export interface ReportStore {
  get(nodeName: string): StoredReport | undefined;
  /** Keeps it if it is newer than what is there; answers `stale` for an older sequence of the same agent process. */
  put(sender: Sender, report: Report, judgement?: Judgement): 'kept' | 'stale';
  forget(nodeName: string): void;
  /** Forgets what all reports say, and keeps that and when they were heard: a sign of life. The next one of each node counts as the first. */
  outdate(): void;
  readonly size: number;
  /** Of every Node that has reported. */
  assurances(): Iterable<Assurance>;
  subscribe(handler: (arrival: ReportArrival) => void): void;
}

/** The part of a report that decides whether anything must be looked at again. */
function substance(report: Report): string {
  return JSON.stringify([report.instance, report.notices, report.smbiosUuid, report.bootId]);
}

function refusalText({ refused }: Judgement): string | undefined {
  return refused && `${refused.code}: ${refused.message}`;
}

export function createReportStore(clock: Clock): ReportStore {
  const reports = new Map<string, StoredReport>();
  const handlers: ((arrival: ReportArrival) => void)[] = [];
  return {
    get: (nodeName) => reports.get(nodeName),
    put(sender, report, judgement) {
      const before = reports.get(sender.nodeName);
      const sameNode = before?.nodeUid === sender.nodeUid;
      if (before && sameNode && before.report.agentId === report.agentId && report.sequence <= before.report.sequence) {
        return 'stale';
      }
      const previous = sameNode ? before : undefined;
      const attestation = judgement?.attestation ?? previous?.attestation;
      const refusedEvidence = judgement === undefined ? previous?.refusedEvidence : refusalText(judgement);
      reports.set(sender.nodeName, {
        nodeName: sender.nodeName,
        nodeUid: sender.nodeUid,
        report,
        receivedAtMs: clock.now(),
        receivedMonotonicMs: clock.monotonic(),
        ...(attestation && { attestation }),
        ...(refusedEvidence !== undefined && { refusedEvidence }),
      });
      const first = !before || !sameNode || before.outdated === true;
      const changed = first || substance(before.report) !== substance(report);
      const arrival = {
        nodeName: sender.nodeName,
        changed,
        attested: JSON.stringify(attestation?.instance) !== JSON.stringify(previous?.attestation?.instance),
        first,
        leaving: report.leaving === true,
      };
      for (const handler of handlers) handler(arrival);
      return 'kept';
    },
    forget(nodeName) {
      reports.delete(nodeName);
    },
    outdate() {
      for (const [nodeName, stored] of reports) {
        const { version, agentVersion, agentId, sequence, observedAt } = stored.report;
        const metadata = { ok: false, ageSeconds: 0, failures: 0 };
        const report: Report = { version, agentVersion, agentId, sequence, observedAt, metadata };
        const { attestation: _, refusedEvidence: __, ...heard } = stored;
        reports.set(nodeName, { ...heard, report, outdated: true });
      }
    },
    *assurances() {
      for (const { attestation } of reports.values()) yield attestation?.instance.assurance ?? 'psat';
    },
    get size() {
      return reports.size;
    },
    subscribe(handler) {
      handlers.push(handler);
    },
  };
}
