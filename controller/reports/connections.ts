import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ConnectionLimits } from '../runtime/serving/connection-limits.ts';
import { type RefusalCode, refusals } from './refusal.ts';

/** Limits against slow or greedy clients of the report API. Times in milliseconds. */
export interface ReportConnectionLimits extends ConnectionLimits {
  readonly handshakeTimeoutMs: number;
  readonly headersTimeoutMs: number;
  /** From the first byte of a request to its last. */
  readonly requestTimeoutMs: number;
  /** An idle connection is closed after this long. Longer than a review of a token may take. */
  readonly idleTimeoutMs: number;
  /** How often the timeouts are checked. */
  readonly checkIntervalMs: number;
}

export const defaultConnectionLimits: ReportConnectionLimits = {
  maxConnections: 256,
  maxConnectionsPerAddress: 64,
  // When all agents report at once, handshakes wait for each other: without patience each would close the previous one.
  patienceMs: 2_000,
  handshakeTimeoutMs: 5_000,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 15_000,
  idleTimeoutMs: 30_000,
  checkIntervalMs: 2_000,
};

function codeOf(error: { readonly code?: unknown }): RefusalCode | undefined {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'RequestTooSlow';
  if (error.code === 'HPE_HEADER_OVERFLOW') return 'HeadersTooLarge';
  return typeof error.code === 'string' && error.code.startsWith('HPE_') ? 'MalformedRequest' : undefined;
}

/** Writes an answer to the raw socket, if the peer still reads, and closes the connection. */
export function answerRefusal(code: RefusalCode, socket: Duplex & { destroySoon?(): void }): void {
  if (socket.writable) {
    const { status, meaning } = refusals[code];
    const body = JSON.stringify({ error: { code, message: meaning } });
    socket.write(
      `HTTP/1.1 ${status} ${code}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }
  if (socket.destroySoon) socket.destroySoon();
  else socket.destroy();
}

/** Answers a malformed request and closes the connection. @returns the refusal, if there is one */
export function refuseConnection(error: { readonly code?: unknown }, socket: Socket): RefusalCode | undefined {
  const code = codeOf(error);
  if (code) answerRefusal(code, socket);
  else socket.destroySoon();
  return code;
}
