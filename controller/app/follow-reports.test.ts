import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { type Clock, systemClock } from '../../common/process/clock.ts';
import { createLog, silentLog } from '../../common/process/log.ts';
import { createMetricRegistry } from '../../common/process/metrics.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import type { KubeApi, KubeCall } from '../kube/api.ts';
import { issueSelfSigned } from '../reports/certificates/ca.ts';
import { reportLines } from '../reports/report-lines.ts';
import { createReportStore, type ReportStore } from '../reports/store.ts';
import { exampleReport } from '../reports/testing/example-report.ts';
import type { ServingCredentials } from '../runtime/serving/credentials.ts';
import { createSecureServer, type PassedOnReports, type SecureServer } from '../runtime/serving/secure-server.ts';
import { followReports, type ReadReports, reportsAt } from './follow-reports.ts';

/** The token `reader` may get `/reports`, `other` nothing. */
const api: KubeApi = {
  async call<T>({ path, body }: KubeCall): Promise<T> {
    const { token, user } = (body as { spec: { token?: string; user?: string } }).spec;
    if (path.endsWith('/tokenreviews')) return { status: { authenticated: true, user: { username: token } } } as T;
    return { status: { allowed: user === 'reader' } } as T;
  },
  watch: () => Promise.reject(new Error('nothing to watch')),
};

describe('the reports of the leader', () => {
  const clock: Clock = systemClock();
  let folder: string;
  let credentials: ServingCredentials;
  let leader: ReportStore;
  let store: ReportStore;
  let server: SecureServer;
  let url: string;
  let answer: () => PassedOnReports;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-reports-'));
    for (const name of ['reader', 'other']) await writeFile(join(folder, name), `${name}\n`);
    const now = Date.now();
    credentials = await issueSelfSigned(['localhost'], { notBefore: now - 60_000, notAfter: now + 3_600_000 });
  });
  after(() => rm(folder, { recursive: true }));
  beforeEach(async () => {
    leader = createReportStore(clock);
    store = createReportStore(clock);
    answer = () => ({ lines: reportLines(leader, clock, 10) });
    server = createSecureServer({
      clock,
      log: silentLog,
      api,
      credentials,
      live: [],
      ready: [],
      metrics: createMetricRegistry(),
      configz: () => ({}),
      reports: () => answer(),
    });
    url = `https://127.0.0.1:${await server.listen({ host: '127.0.0.1', port: 0 })}/reports`;
  });
  afterEach(() => server.close());

  function read(token = 'reader', from: ReadReports | undefined = reportsAt(url, join(folder, token))): Promise<void> {
    assert.ok(from);
    return from(store, clock);
  }

  function report(nodeName: string): void {
    const sender = { nodeName, nodeUid: `uid-${nodeName}`, podUid: 'pod', credentialId: 'JTI=1' };
    const error = 'no answer of the metadata service: '.repeat(40);
    leader.put(sender, exampleReport({ metadata: { ok: true, ageSeconds: 0, failures: 0, error } }));
  }

  it('takes all that it has, though they come in many parts', async () => {
    for (let each = 0; each < 3000; each += 1) report(`node-${each}`);
    await read();
    assert.equal(store.size, 3000);
    assert.deepEqual(store.get('node-2999')?.report.instance, exampleReport().instance);
  });

  it('says why it cannot: no right, a standby, an invalid report, no server', async () => {
    await assert.rejects(
      read('other'),
      /may not read: the account of --reports-token-file may not get \/reports \(403/,
    );
    const message = 'may not read without a token: expected one in --reports-token-file (403)';
    await assert.rejects(read('', reportsAt(url, '')), { message });
    answer = () => ({ fault: 'this replica does not lead' });
    await assert.rejects(read(), { message: 'the controller answered 503: this replica does not lead' });
    answer = () => ({ lines: ['{"nodeName":"a"}\n'] });
    await assert.rejects(read(), /^Error: nodeUid: expected a value/);
    answer = () => ({ lines: [`"${'x'.repeat(70_000)}`, 'x'.repeat(70_000)] });
    await assert.rejects(read(), /the reports are too long/);
    await assert.rejects(read('', reportsAt('https://127.0.0.1:1/reports', '')), /ECONNREFUSED/);
    assert.equal(store.size, 0);
  });

  it('asks this machine alone', () => {
    assert.equal(reportsAt('', ''), undefined);
    for (const wrong of ['https://10.0.0.1:10258/reports', 'http://127.0.0.1/reports', 'x'])
      assert.throws(() => reportsAt(wrong, ''), /--reports-url: .*expected https:\/\/127\.0\.0\.1:PORT\/reports$/);
  });

  it('goes on until it is stopped, and says once why it cannot', async () => {
    const time = fakeClock();
    const lines: string[] = [];
    const log = createLog({ clock: time, level: 'info', format: 'json', write: (line) => lines.push(line) });
    const stop = new AbortController();
    const outcomes = ['down', 'down', '', 'down', ''];
    let reads = 0;
    const following = followReports(
      async () => {
        const outcome = outcomes[reads];
        reads += 1;
        if (outcome) throw new Error(outcome);
      },
      store,
      { clock: time, log, signal: stop.signal },
    );
    for (let each = 0; each < 4; each += 1) await time.advance(10_000);
    assert.deepEqual([reads, lines.length], [5, 2]);
    stop.abort();
    await following;
  });
});
