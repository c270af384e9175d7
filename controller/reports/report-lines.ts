import type { Static } from 'typebox';
import * as Type from 'typebox';
import { Compile } from 'typebox/schema';
import type { Clock } from '../../common/process/clock.ts';
import { assurances } from './attestation/verdict.ts';
import { createReportReader, faultOf, type ReportFault } from './read-report.ts';
import { nextReportSeconds } from './report-interval.ts';
import { instanceSchema, line, strict, token } from './report-schema.ts';
import type { ReportStore, StoredReport } from './store.ts';

const { cloud, id, incarnation, zone, region } = instanceSchema.properties;
const lineSchema = Type.Object(
  {
    nodeName: token(253, '^[a-z0-9.-]+$'),
    nodeUid: token(64, '^[A-Za-z0-9-]+$'),
    ageSeconds: Type.Number({ minimum: 0, maximum: 1e10 }),
    report: Type.Unknown(),
    /** What the leader has verified of the VM's signed document; the document itself stays with the leader. */
    attestation: Type.Optional(
      Type.Object(
        {
          agentId: token(64, '^[A-Za-z0-9._-]+$'),
          instance: Type.Object(
            {
              assurance: Type.Enum(assurances.filter((each) => each !== 'psat')),
              cloud,
              id: Type.Optional(id),
              incarnation,
              idPrefix: Type.Optional(id),
              zone,
              region,
            },
            strict,
          ),
        },
        strict,
      ),
    ),
    refusedEvidence: Type.Optional(line(2048)),
  },
  strict,
);

/** Agents that missed so many reports are silent: a controller that starts now would not hear them. */
const missedReports = 3;
const linesAtOnce = 64;

/**
 * The reports of a store, one JSON object a line, many lines at a time: without evidence, and without those of silent
 * agents and of an earlier term.
 *
 * @param nodes how many may report
 */
export function* reportLines(store: ReportStore, clock: Clock, nodes: number): Iterable<string> {
  const silentSeconds = missedReports * nextReportSeconds(nodes);
  let lines = '';
  let count = 0;
  for (const stored of store.values()) {
    const { nodeName, nodeUid, refusedEvidence } = stored;
    const ageSeconds = (clock.monotonic() - stored.receivedMonotonicMs) / 1000;
    if (stored.outdated || ageSeconds > silentSeconds) continue;
    const { evidence: _, ...report } = stored.report;
    const { agentId, instance } = stored.attestation ?? {};
    const attestation = instance && { agentId, instance };
    lines += `${JSON.stringify({ nodeName, nodeUid, ageSeconds, report, attestation, refusedEvidence })}\n`;
    count += 1;
    if (count % linesAtOnce !== 0) continue;
    yield lines;
    lines = '';
  }
  if (lines !== '') yield lines;
}

/** Creates the function that reads a line, as strictly as an agent's report. It throws an Error with the fault. */
export function createLineReader(clock: Clock): (text: string) => StoredReport {
  const validator = Compile(lineSchema);
  const readReport = createReportReader();
  return (text) => {
    const value: unknown = JSON.parse(text);
    if (!validator.Check(value)) {
      const [, [error]] = validator.Errors(value);
      throw fault(error ? faultOf(value, error) : { field: 'line', value: 'something else', expected: 'a report' });
    }
    const { ageSeconds, attestation, ...rest } = value as Static<typeof lineSchema>;
    const read = readReport(rest.report);
    if (read.fault) throw fault(read.fault);
    const atMs = clock.monotonic() - ageSeconds * 1000;
    return {
      ...rest,
      report: read.report,
      receivedAtMs: clock.now() - ageSeconds * 1000,
      receivedMonotonicMs: atMs,
      ...(attestation && { attestation: { ...attestation, atMs } }),
    };
  };
}

function fault({ field, value, expected }: ReportFault): Error {
  return new Error(`${field}: expected ${expected}, found ${value}`);
}
