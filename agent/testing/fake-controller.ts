import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Report, ReportAnswer } from '../../common/report.ts';
import type { IssuedCertificate } from '../../common/testing/certificates.ts';

export interface SeenReport {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Report;
  /** Of the server name extension; false when there was none. */
  readonly serverName: string | false | undefined;
}

export interface ControllerReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON unless text. */
  readonly body?: unknown;
}

export interface FakeController {
  readonly url: string;
  readonly reports: readonly SeenReport[];
  /** Connections that are open now. */
  openConnections(): Promise<number>;
  /** Resolves when this many reports have come in, at once when they have. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
}

export const acceptedAnswer: ReportAnswer = { accepted: true, initialized: true, reasons: [], nextReportSeconds: 60 };

/** A report API over real TLS. `reply` answers each report; 'hang' never does. */
export async function startFakeController(
  { certPem, keyPem }: IssuedCertificate,
  reply: (report: SeenReport) => ControllerReply | 'hang' = () => ({ status: 200, body: acceptedAnswer }),
  host = '127.0.0.1',
): Promise<FakeController> {
  const reports: SeenReport[] = [];
  const waiting = new Set<() => void>();
  const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
      const socket = request.socket as unknown as { servername?: string | false };
      const seen = { path: request.url ?? '', headers: request.headers, body, serverName: socket.servername };
      reports.push(seen);
      const answer = reply(seen);
      for (const check of waiting) check();
      if (answer === 'hang') return;
      const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body ?? {});
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers }).end(text);
    });
  });
  // A client that refuses the certificate cuts the handshake.
  server.on('tlsClientError', () => {});
  server.listen(0, host);
  await once(server, 'listening');
  return {
    url: `https://${host}:${(server.address() as AddressInfo).port}`,
    reports,
    openConnections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    received(count) {
      return new Promise((resolve) => {
        const check = () => {
          if (reports.length < count) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      });
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
