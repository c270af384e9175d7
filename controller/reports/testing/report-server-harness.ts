import { afterEach, before } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { createLog } from '../../../common/process/log.ts';
import { createMetricRegistry, type MetricRegistry } from '../../../common/process/metrics.ts';
import { type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import type { ServingCredentials } from '../../runtime/serving/credentials.ts';
import { type Authority, issueAuthority, issueServing } from '../certificates/ca.ts';
import { createReportMetrics } from '../metrics.ts';
import { createIdentity } from '../sender-identity.ts';
import { createReportServer, type ReportServer, type ReportServerOptions } from '../server.ts';
import { createReportStore, type ReportStore } from '../store.ts';
import { exampleReport } from './example-report.ts';
import { type FakeTokenReviewer, fakeTokenReviewer } from './fake-token-reviewer.ts';
import { ask, type TestAnswer, type TestRequest } from './https-client.ts';

/** A report server on a socket, for one test: it knows the Node `a`. */
export interface ReportServerHarness {
  readonly server: ReportServer;
  readonly clock: FakeClock;
  readonly reviewer: FakeTokenReviewer;
  readonly store: ReportStore;
  readonly registry: MetricRegistry;
  /** Of its log. */
  readonly lines: readonly string[];
  /** Changed by the test: at first it leads. */
  readonly leadership: { leading: boolean; url: string | undefined };
  send(options: Omit<TestRequest, 'port' | 'ca'>): Promise<TestAnswer>;
  /** Sends a report. `ca`: of whom the server has its certificate, where that is not the first authority. */
  post(
    token: string | undefined,
    body: string,
    headers?: Readonly<Record<string, string>>,
    ca?: string,
  ): Promise<TestAnswer>;
  /** A connection of its own. */
  dial(localAddress?: string): TLSSocket;
  /** Writes these parts and waits for the end of the connection; answers what came. */
  raw(parts: readonly (string | Buffer)[], finish?: boolean): Promise<string>;
}

export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string; readonly field?: string };
}

export const codeOf = (answer: TestAnswer) => (answer.json as ErrorBody | undefined)?.error?.code;
export const wholeReport = JSON.stringify(exampleReport());

const serverName = 'mooring-controller.kube-system.svc';
const hour = 3_600_000;

/** A new authority with a certificate for the server. */
export async function issuePair(): Promise<{
  readonly authority: Authority;
  readonly credentials: ServingCredentials;
}> {
  const validity = { notBefore: Date.now() - hour, notAfter: Date.now() + hour };
  const authority = await issueAuthority(validity);
  return { authority, credentials: await issueServing(authority, [serverName], validity) };
}

/** Called where the suite is described; the answer starts a server that is closed after the test. */
export function reportServerHarness(): (changes?: Partial<ReportServerOptions>) => Promise<ReportServerHarness> {
  let authority: Authority;
  let credentials: ServingCredentials;
  const servers: ReportServer[] = [];

  before(async () => {
    ({ authority, credentials } = await issuePair());
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });

  return async (changes = {}) => {
    const clock = fakeClock();
    const reviewer = fakeTokenReviewer(clock);
    reviewer.putNode('a');
    const store = createReportStore(clock);
    const lines: string[] = [];
    const leadership: ReportServerHarness['leadership'] = { leading: true, url: 'https://10.0.0.1:10270' };
    const registry = createMetricRegistry();
    const metrics = createReportMetrics(registry);
    const server = await createReportServer({
      clock,
      log: createLog({ clock, level: 'debug', format: 'json', write: (line) => lines.push(line) }),
      metrics,
      credentials,
      identity: createIdentity({
        api: reviewer.api,
        clock,
        audience: 'mooring',
        serviceAccount: { namespace: 'kube-system', name: 'mooring-agent' },
        liveNodeUid: (name) => reviewer.nodeUid(name),
        onReview: metrics.review,
      }),
      store,
      leadership: {
        get leading() {
          return leadership.leading;
        },
        leaderReportUrl: () => leadership.url,
      },
      status: (name) =>
        name === 'a'
          ? { initialized: false, reasons: [{ code: 'InstanceUnknown', message: 'not looked up' }] }
          : undefined,
      fleetSize: () => 3,
      ...changes,
    });
    servers.push(server);
    const port = await server.listen({ host: '127.0.0.1', port: 0 });
    const ca = authority.cert;
    const dial = (localAddress?: string) =>
      connect({ host: '127.0.0.1', port, ca, servername: serverName, ...(localAddress && { localAddress }) });
    return {
      server,
      clock,
      reviewer,
      store,
      registry,
      lines,
      leadership,
      dial,
      send: (options) => ask({ port, ca, ...options }),
      post: (token, body, headers = {}, by = ca) =>
        ask({
          port,
          ca: by,
          path: '/v1/report',
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'content-length': String(Buffer.byteLength(body)),
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...headers,
          },
          body,
        }),
      raw: (parts, finish = false) =>
        new Promise((resolve) => {
          let text = '';
          const socket = dial();
          socket.once('secureConnect', () => {
            for (const part of parts) socket.write(part);
            if (finish) socket.end();
          });
          socket.setEncoding('utf8');
          socket.on('data', (chunk: string) => {
            text += chunk;
          });
          socket.on('error', () => {});
          socket.on('close', () => resolve(text));
        }),
    };
  };
}
