import type { FastifyRequest } from 'fastify';
import { maxReportBytes, reportPath } from '../../common/report.ts';
import { ReportRefusal } from './refusal.ts';

/** The bearer token of the request; empty when there is none. */
export function bearerToken(request: FastifyRequest): string {
  return /^Bearer +([^\s]+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
}

/** Whether the content type of the request is JSON. */
export function isJsonType(request: FastifyRequest): boolean {
  return /^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? '');
}

/** Parses UTF-8 without a byte order mark (RFC 8259): a lenient decoder would return another text than was sent. */
export function parseBody(body: unknown): unknown {
  try {
    return JSON.parse(
      Buffer.isBuffer(body) ? new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body) : '',
    );
  } catch {
    throw new ReportRefusal('NotJson');
  }
}

/** Converts an error of the framework into a ReportRefusal. */
export function refusalOf(error: unknown): ReportRefusal {
  if (error instanceof ReportRefusal) return error;
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new ReportRefusal('ReportTooLarge', `The report exceeds ${maxReportBytes} bytes.`);
  }
  if (statusCode === 415) return new ReportRefusal('NotJsonType');
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new ReportRefusal('MalformedRequest');
  }
  return new ReportRefusal('InternalError', undefined, { cause: error });
}

/**
 * The `Location` of a standby's redirect. @throws ReportRefusal when no replica leads, or agents would not follow the
 * leader's URL
 */
export function leaderLocation(leaderUrl: string | undefined): string {
  if (leaderUrl === undefined || !URL.canParse(leaderUrl)) throw new ReportRefusal('NoLeader');
  const url = new URL(reportPath, leaderUrl);
  if (url.protocol !== 'https:') throw new ReportRefusal('NoLeader');
  return url.href;
}
