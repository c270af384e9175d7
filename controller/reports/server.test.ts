import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { connect } from 'node:tls';
import fc from 'fast-check';
import { createLog } from '../../common/process/log.ts';
import { createMetricRegistry, type MetricRegistry } from '../../common/process/metrics.ts';
import type { ReportAnswer } from '../../common/report.ts';
import { type FakeClock, fakeClock } from '../../common/testing/fake-clock.ts';
import { KubeError } from '../kube/api.ts';
import type { ServingCredentials } from '../serving/credentials.ts';
import { type Authority, issueAuthority, issueServing } from './certificates/ca.ts';
import { createIdentity } from './identity.ts';
import { createReportMetrics } from './metrics.ts';
import { createReportServer, type ReportServer, type ReportServerOptions } from './server.ts';
import { createReportStore, type ReportStore } from './store.ts';
import { exampleReport } from './testing/example-report.ts';
import { ask, type TestAnswer } from './testing/https-client.ts';
import { type TokenOffice, tokenOffice } from './testing/token-office.ts';

const serverName = 'mooring-controller.kube-system.svc';
const hour = 3_600_000;

interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string; readonly field?: string };
}

describe('report API', () => {
  let authority: Authority;
  let credentials: ServingCredentials;
  let clock: FakeClock;
  let office: TokenOffice;
  let store: ReportStore;
  let server: ReportServer;
  let registry: MetricRegistry;
  let port: number;
  let lines: string[];
  let leadership: { leading: boolean; url: string | undefined };
  let nodes: number;

  before(async () => {
    const validity = { notBefore: Date.now() - hour, notAfter: Date.now() + hour };
    authority = await issueAuthority(validity);
    credentials = await issueServing(authority, [serverName], validity);
  });

  async function start(changes: Partial<ReportServerOptions> = {}): Promise<void> {
    await server?.close();
    registry = createMetricRegistry();
    const metrics = createReportMetrics(registry);
    server = await createReportServer({
      clock,
      log: createLog({ clock, level: 'debug', format: 'json', write: (line) => lines.push(line) }),
      metrics,
      credentials,
      identity: createIdentity({
        api: office.api,
        clock,
        audience: 'mooring',
        serviceAccount: { namespace: 'kube-system', name: 'mooring-agent' },
        liveNodeUid: (name) => office.nodeUid(name),
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
      fleetSize: () => nodes,
      ...changes,
    });
    port = await server.listen({ host: '127.0.0.1', port: 0 });
  }

  beforeEach(async () => {
    clock = fakeClock();
    office = tokenOffice(clock);
    office.putNode('a');
    store = createReportStore(clock);
    lines = [];
    leadership = { leading: true, url: 'https://10.0.0.1:10270' };
    nodes = 3;
    await start();
  });
  afterEach(() => server.close());
  after(() => server.close());

  function post(
    token: string | undefined,
    body: string,
    headers: Record<string, string> = {},
    ca = authority.cert,
  ): Promise<TestAnswer> {
    return ask({
      port,
      ca,
      path: '/v1/report',
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body,
    });
  }

  const whole = JSON.stringify(exampleReport());
  const codeOf = (answer: TestAnswer) => (answer.json as ErrorBody | undefined)?.error?.code;

  it('keeps a report under the name the token proves, answers with where the node stands, and closes', async () => {
    const answer = await post(office.issue({ node: 'a' }), whole);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.json, {
      accepted: true,
      initialized: false,
      reasons: [{ code: 'InstanceUnknown', message: 'not looked up' }],
      nextReportSeconds: 60,
    });
    assert.equal(answer.headers['connection'], 'close');
    assert.deepEqual(store.get('a')?.report, exampleReport());
    assert.equal(store.get('a')?.nodeUid, office.nodeUid('a'));
  });

  it('takes a report of a node whose state it does not know yet', async () => {
    office.putNode('b');
    const answer = (await post(office.issue({ node: 'b' }), whole)).json as ReportAnswer;
    assert.deepEqual([answer.accepted, answer.initialized, answer.reasons], [true, false, []]);
  });

  it('answers a repeated report like the first time, and does not take an older one', async () => {
    const token = office.issue({ node: 'a' });
    const newer = JSON.stringify(exampleReport({ sequence: 5 }));
    assert.equal(((await post(token, newer)).json as ReportAnswer).accepted, true);
    assert.equal(((await post(token, newer)).json as ReportAnswer).accepted, true);
    const older = await post(token, JSON.stringify(exampleReport({ sequence: 4 })));
    assert.deepEqual([older.status, (older.json as ReportAnswer).accepted], [200, false]);
    assert.equal(store.get('a')?.report.sequence, 5);
  });

  it('never takes the node from the body', async () => {
    const answer = await post(office.issue({ node: 'a' }), JSON.stringify({ ...exampleReport(), nodeName: 'b' }));
    assert.deepEqual([answer.status, (answer.json as ErrorBody).error.field], [422, 'nodeName']);
    assert.equal(store.size, 0);
  });

  it('asks a large fleet to report less often', async () => {
    nodes = 5_000;
    assert.equal(((await post(office.issue({ node: 'a' }), whole)).json as ReportAnswer).nextReportSeconds, 295);
  });

  it('refuses a report without token, or with one of another kind, before it looks at the body', async () => {
    assert.deepEqual([(await post(undefined, 'not json')).status, store.size], [401, 0]);
    assert.equal(codeOf(await post(undefined, 'x', { authorization: 'Basic abc' })), 'TokenMissing');
    assert.equal(codeOf(await post('aaaa.bbbb.cccc', 'not json')), 'TokenInvalid');
    assert.equal(
      codeOf(await post(office.issue({ node: 'a', serviceAccount: 'default' }), whole)),
      'ForeignServiceAccount',
    );
  });

  it('never logs a token or a body', async () => {
    const token = office.issue({ node: 'a', audiences: ['other'] });
    await post(token, whole);
    await post(office.issue({ node: 'a' }), JSON.stringify({ ...exampleReport(), secret: 'hunter2' }));
    const all = lines.join('');
    assert.match(all, /"code":"TokenInvalid"/);
    assert.match(all, /"code":"InvalidReport".*"node":"a".*"field":"secret"/);
    assert.ok(!all.includes(token) && !all.includes('hunter2') && !all.includes('Bearer'));
  });

  it('names in the log the node that the token claims, whatever is wrong with it', async () => {
    const tokens = [office.issue({ node: 'late' }), office.issue({ node: 'a' }), office.issue({ node: 'a' })];
    office.putNode('late');
    assert.equal((await post(tokens[0], whole)).status, 403);
    office.deleteNode('a');
    assert.equal((await post(tokens[1], whole)).status, 403);
    office.putNode('a');
    assert.equal((await post(tokens[2], whole)).status, 403);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)).map(({ code, node }) => [code, node]),
      [
        ['NodeUidMissing', 'late'],
        ['NodeUnknown', 'a'],
        ['NodeReplaced', 'a'],
      ],
    );
    // The verdict is kept, and so is whom it is about.
    await post(tokens[0], whole);
    assert.equal(JSON.parse(lines.at(-1) ?? '').node, 'late');
  });

  it('logs a flood of refusals as some lines and a count', async () => {
    for (let n = 0; n < 70; n += 1) await post(undefined, '');
    assert.equal(lines.length, 60);
    await clock.advance(60_000);
    await post(undefined, '');
    assert.match(lines[60] ?? '', /"count":10/);
  });

  it('says 503 and for how long when tokens cannot be reviewed', async () => {
    office.outage = new KubeError({ status: 0, reason: 'Unreachable', message: 'refused' });
    const answer = await post(office.issue({ node: 'a' }), whole);
    assert.deepEqual([answer.status, codeOf(answer), answer.headers['retry-after']], [503, 'ReviewUnavailable', '5']);
  });

  it('refuses another content type, broken JSON and an empty body', async () => {
    const token = office.issue({ node: 'a' });
    assert.deepEqual([(await post(token, whole, { 'content-type': 'text/plain' })).status], [415]);
    assert.equal(codeOf(await post(token, whole, { 'content-type': 'nonsense' })), 'NotJsonType');
    for (const body of ['{', '', '{"a":1}}', '\u0000']) {
      assert.deepEqual([codeOf(await post(token, body))], ['NotJson'], body);
    }
    assert.equal(store.size, 0);
  });

  it('takes a content type with a charset', async () => {
    const answer = await post(office.issue({ node: 'a' }), whole, {
      'content-type': 'application/json; charset=utf-8',
    });
    assert.equal(answer.status, 200);
  });

  it('refuses a body beyond the limit, announced or not', async () => {
    const token = office.issue({ node: 'a' });
    const big = JSON.stringify({ ...exampleReport(), padding: 'x'.repeat(40_000) });
    const announced = await post(token, big);
    assert.deepEqual([announced.status, codeOf(announced)], [413, 'ReportTooLarge']);
    const chunked = await ask({
      port,
      ca: authority.cert,
      path: '/v1/report',
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, 'transfer-encoding': 'chunked' },
      body: big,
    });
    assert.equal(chunked.status, 413);
    assert.equal(store.size, 0);
  });

  it('serves nothing else', async () => {
    for (const [method, path] of [
      ['GET', '/v1/report'],
      ['PUT', '/v1/report'],
      ['POST', '/v1/report/'],
      ['GET', '/metrics'],
    ] as const) {
      const answer = await ask({ port, ca: authority.cert, path, method });
      assert.deepEqual([answer.status, codeOf(answer)], [404, 'UnknownPath'], `${method} ${path}`);
    }
  });

  it('never keeps anything but a report, whatever JSON comes, and names the fault', async () => {
    await start({ limits: { perNode: 1_000_000 } });
    const token = office.issue({ node: 'a' });
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), async (value) => {
        const answer = await post(token, JSON.stringify(value));
        assert.equal(answer.status, 422);
        const { error } = answer.json as ErrorBody;
        assert.ok(error.code === 'InvalidReport' && (error.field ?? '') !== '' && error.message.length < 1000);
        assert.equal(store.size, 0);
      }),
      { numRuns: 60 },
    );
  });

  it('limits the reports of one node and not those of another', async () => {
    await start({ limits: { perNode: 3 } });
    office.putNode('b');
    const token = office.issue({ node: 'a' });
    for (let sequence = 1; sequence <= 3; sequence += 1) {
      assert.equal((await post(token, JSON.stringify(exampleReport({ sequence })))).status, 200);
    }
    // Another token of the same node counts too.
    const refused = await post(office.issue({ node: 'a' }), whole);
    assert.deepEqual([refused.status, codeOf(refused), refused.headers['retry-after']], [429, 'NodeRateLimited', '60']);
    assert.equal((await post(office.issue({ node: 'b' }), whole)).status, 200);
    await clock.advance(60_000);
    assert.equal((await post(token, JSON.stringify(exampleReport({ sequence: 4 })))).status, 200);
  });

  it('stops asking the API server about an address that proves nothing, and does not count proved reports', async () => {
    await start({ limits: { perAddress: 3 } });
    const token = office.issue({ node: 'a' });
    for (let sequence = 1; sequence <= 5; sequence += 1) {
      assert.equal((await post(token, JSON.stringify(exampleReport({ sequence })))).status, 200);
    }
    for (let n = 0; n < 3; n += 1) assert.equal((await post(`aaaa.bbbb.c${n}`, whole)).status, 401);
    const reviews = office.reviews;
    const refused = await post('aaaa.bbbb.c4', whole);
    assert.deepEqual([refused.status, codeOf(refused)], [429, 'AddressRateLimited']);
    assert.ok(Number(refused.headers['retry-after']) >= 1);
    assert.equal(office.reviews, reviews);
    await clock.advance(60_000);
    assert.equal((await post('aaaa.bbbb.c5', whole)).status, 401);
  });

  it('goes on hearing agents it knows at an address that others misuse', async () => {
    await start({ limits: { perAddress: 3 } });
    office.putNode('b');
    const token = office.issue({ node: 'a' });
    assert.equal((await post(token, whole)).status, 200);
    for (let n = 0; n < 3; n += 1) await post(`aaaa.bbbb.c${n}`, whole);
    assert.equal((await post('aaaa.bbbb.c4', whole)).status, 429);
    assert.equal((await post(office.issue({ node: 'b' }), whole)).status, 429, 'nothing is known of this one yet');
    assert.equal((await post(token, JSON.stringify(exampleReport({ sequence: 2 })))).status, 200);
    for (let minutes = 0; minutes < 11; minutes += 1) {
      await clock.advance(60_000);
      for (let n = 0; n < 3; n += 1) await post(`aaaa.bbbb.c${n}`, whole);
    }
    assert.equal((await post('aaaa.bbbb.c4', whole)).status, 429);
    const sequence = 3;
    assert.equal(
      (await post(token, JSON.stringify(exampleReport({ sequence })))).status,
      200,
      'its verdict is too old',
    );
  });

  it('as a standby points at the leader, without a review', async () => {
    leadership.leading = false;
    const answer = await post(office.issue({ node: 'a' }), whole);
    assert.deepEqual([answer.status, answer.headers['location']], [307, 'https://10.0.0.1:10270/v1/report']);
    assert.deepEqual([office.reviews, store.size], [0, 0]);
  });

  it('as a standby without a leader, or with one at no https URL, asks to come back', async () => {
    leadership.leading = false;
    for (const url of [undefined, 'http://10.0.0.1:10270', 'nonsense']) {
      leadership.url = url;
      const answer = await post(office.issue({ node: 'a' }), whole);
      assert.deepEqual([answer.status, codeOf(answer), answer.headers['retry-after']], [503, 'NoLeader', '5']);
      assert.equal(answer.headers['location'], undefined);
    }
  });

  /** Writes these parts and waits for the end of the connection. */
  function raw(parts: readonly (string | Buffer)[], finish = false): Promise<string> {
    return new Promise((resolve) => {
      let text = '';
      const socket = connect({ host: '127.0.0.1', port, ca: authority.cert, servername: serverName }, () => {
        for (const part of parts) socket.write(part);
        if (finish) socket.end();
      });
      socket.setEncoding('utf8');
      socket.on('data', (chunk: string) => {
        text += chunk;
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(text));
    });
  }

  const quick = { headersTimeoutMs: 100, requestTimeoutMs: 200, checkIntervalMs: 20, idleTimeoutMs: 1_000 };

  it('cuts whoever sends headers or a body too slowly', async () => {
    await start({ limits: quick });
    assert.match(await raw(['POST /v1/report HTTP/1.1\r\nHost: x\r\n']), /^HTTP\/1.1 408 /);
    const head =
      'POST /v1/report HTTP/1.1\r\nHost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{';
    assert.match(await raw([head]), /^HTTP\/1.1 408 [\s\S]*"RequestTooSlow"/);
    assert.match(await registry.text(), /mooring_reports_total\{outcome="RequestTooSlow"\} 2/);
  });

  it('cuts whoever says nothing at all', async () => {
    await start({ limits: { ...quick, idleTimeoutMs: 50 } });
    assert.equal(await raw([]), '');
  });

  it('answers one request a connection', async () => {
    const request = 'GET /x HTTP/1.1\r\nHost: x\r\n\r\n';
    const text = await raw([request + request]);
    assert.equal(text.match(/HTTP\/1.1 404/g)?.length, 1);
  });

  it('answers what is no HTTP with 400, and headers beyond the limit with 431', async () => {
    assert.match(await raw(['NONSENSE\r\n\r\n']), /^HTTP\/1.1 400 [\s\S]*"MalformedRequest"/);
    assert.match(await raw([`GET / HTTP/1.1\r\nx: ${'y'.repeat(30_000)}\r\n\r\n`]), /^HTTP\/1.1 431 /);
  });

  it('holds no more connections of one address than it should, and frees them', async () => {
    await start({ limits: { maxConnectionsPerAddress: 2 } });
    const hold = () =>
      new Promise<ReturnType<typeof connect>>((resolve, reject) => {
        const socket = connect({ host: '127.0.0.1', port, ca: authority.cert, servername: serverName }, () =>
          resolve(socket),
        );
        socket.on('error', reject);
      });
    const held = [await hold(), await hold()];
    await assert.rejects(hold());
    for (const socket of held) {
      const gone = new Promise((resolve) => socket.once('close', resolve));
      socket.end();
      await gone;
    }
    assert.equal((await post(office.issue({ node: 'a' }), whole)).status, 200);
  });

  it('refuses a body that is no UTF-8 rather than keep another text than was sent', async () => {
    const token = office.issue({ node: 'a' });
    const bytes = Buffer.from(JSON.stringify(exampleReport({ agentVersion: 'v@1' })));
    bytes[bytes.indexOf('@')] = 0xff;
    const head = `POST /v1/report HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`;
    const text = await raw([`${head}content-length: ${bytes.length}\r\n\r\n`, bytes]);
    assert.match(text, /^HTTP\/1.1 400 [\s\S]*"NotJson"/);
    assert.equal(store.size, 0);
  });

  const malformed: readonly [what: string, request: string][] = [
    ['a path that does not decode', 'POST /%c0%af-secret HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['an absolute URL that is none', 'POST http://[::1-secret HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['no Host', 'POST /v1/report HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}'],
  ];
  for (const [what, request] of malformed) {
    it(`answers ${what} in the words of the report API, and repeats none of it`, async () => {
      const text = await raw([request]);
      assert.match(text, /^HTTP\/1.1 400 [\s\S]*"MalformedRequest"/);
      assert.ok(!text.includes('secret'), text);
      assert.match(await registry.text(), /mooring_reports_total\{outcome="MalformedRequest"\} 1/);
    });
  }

  it('answers what wants a tunnel, an unknown method or an expectation like any other request', async () => {
    assert.match(await raw(['CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n']), /^HTTP\/1.1 404 [\s\S]*"UnknownPath"/);
    assert.match(await raw(['PROPFIND /v1/report HTTP/1.1\r\nhost: x\r\n\r\n']), /^HTTP\/1.1 404 [\s\S]*"UnknownPath"/);
    const odd = 'POST /v1/report HTTP/1.1\r\nhost: x\r\nexpect: 200-ok\r\ncontent-length: 0\r\n\r\n';
    assert.match(await raw([odd]), /^HTTP\/1.1 4\d\d [\s\S]*"error":\{"code":/);
  });

  it('gives one answer, whatever comes after the request', async () => {
    for (const rest of ['GARBAGE\r\n\r\n', '\u0000', 'GET']) {
      const text = await raw([`M-SEARCH /v1/report HTTP/1.1\r\nhost: x\r\n\r\n${rest}`], true);
      assert.equal(text.match(/HTTP\/1.1/g)?.length, 1, text);
    }
    const cut = await raw(['M-SEARCH /v1/report HTTP/1.1\r\nhost: x\r\ncontent-length: 519\r\n\r\n{'], true);
    assert.equal(cut.match(/HTTP\/1.1/g)?.length, 1, cut);
  });

  it('reads the body before it refuses its type, so that the answer arrives', async () => {
    for (const type of ['nonsense', '', '/']) {
      const head = `POST /v1/report HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ncontent-length: 50\r\n\r\n`;
      assert.match(await raw([head], true), /^HTTP\/1.1 400 [\s\S]*"MalformedRequest"/, 'half a request');
      assert.equal(codeOf(await post(undefined, whole, { 'content-type': type })), 'TokenMissing');
    }
  });

  it('does not blame itself when the sender is gone before it is looked at', async () => {
    const head =
      'POST /v1/report HTTP/1.1\r\nhost: x\r\nauthorization: Bearer a.b.c\r\ncontent-type: application/json\r\n';
    let release = () => {};
    office.hold = new Promise((resolve) => {
      release = resolve;
    });
    const socket = connect({ host: '127.0.0.1', port, ca: authority.cert, servername: serverName });
    socket.on('error', () => {});
    socket.write(`${head}content-length: 2\r\n\r\n{}`);
    while (office.reviews === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    release();
    assert.equal((await post(office.issue({ node: 'a' }), whole)).status, 200);
    assert.ok(!lines.some((line) => line.includes('"level":"error"')), lines.at(-1));
  });

  it('when full makes room for whoever holds less, at the cost of whoever holds most', async () => {
    await start({ limits: { maxConnections: 4, maxConnectionsPerAddress: 10 } });
    const cut: string[] = [];
    const hold = (localAddress: string, name: string) =>
      new Promise<boolean>((resolve) => {
        const options = { host: '127.0.0.1', port, ca: authority.cert, servername: serverName, localAddress };
        const socket = connect(options, () => resolve(true));
        socket.on('error', () => {});
        socket.on('close', () => {
          cut.push(name);
          resolve(false);
        });
        socket.resume();
      });
    for (const name of ['greedy 1', 'greedy 2', 'greedy 3']) assert.equal(await hold('127.0.0.2', name), true);
    assert.equal(await hold('127.0.0.3', 'third'), true);
    assert.equal(await hold('127.0.0.4', 'fourth'), true);
    assert.equal(await hold('127.0.0.5', 'fifth'), true);
    assert.deepEqual(cut, ['greedy 1', 'greedy 2']);
    assert.equal(await hold('127.0.0.6', 'sixth'), false, 'everybody holds one: nobody is cut for it');
    assert.equal(await hold('127.0.0.2', 'greedy 4'), false);
    assert.deepEqual(cut, ['greedy 1', 'greedy 2', 'sixth', 'greedy 4']);
  });

  it('serves a new certificate to the next connection', async () => {
    const validity = { notBefore: Date.now() - hour, notAfter: Date.now() + hour };
    const next = await issueAuthority(validity);
    server.reload(await issueServing(next, [serverName], validity));
    await assert.rejects(post(office.issue({ node: 'a' }), whole), /certificate|issuer|signature/);
    assert.equal((await post(office.issue({ node: 'a' }), whole, {}, next.cert)).status, 200);
  });

  it('counts reports by outcome', async () => {
    const token = office.issue({ node: 'a' });
    await post(token, whole);
    await post(token, whole);
    await post(undefined, whole);
    const text = await registry.text();
    for (const outcome of ['kept', 'stale', 'TokenMissing']) {
      assert.match(text, new RegExp(`mooring_reports_total\\{outcome="${outcome}"\\} 1`));
    }
    assert.match(text, /mooring_token_reviews_total\{outcome="proved"\} 1/);
    assert.match(text, /mooring_report_handling_seconds_count 3/);
  });
});
