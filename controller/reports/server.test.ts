import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ReportAnswer } from '../../common/report.ts';
import { KubeError } from '../kube/api.ts';
import type { Judgement } from './attestation/verdict.ts';
import { EvidenceRefusal } from './attestation/verdict.ts';
import { exampleReport } from './testing/example-report.ts';
import {
  codeOf,
  type ErrorBody,
  issuePair,
  reportServerHarness,
  wholeReport,
} from './testing/report-server-harness.ts';

describe('report API', () => {
  const start = reportServerHarness();

  it('stores a report under the name in the token, answers with the state of the node, and closes', async () => {
    const { reviewer, store, post } = await start();
    const answer = await post(reviewer.issue({ node: 'a' }), wholeReport);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.json, {
      accepted: true,
      initialized: false,
      reasons: [{ code: 'InstanceUnknown', message: 'not looked up' }],
      nextReportSeconds: 60,
    });
    assert.equal(answer.headers['connection'], 'close');
    assert.deepEqual(store.get('a')?.report, exampleReport());
    assert.equal(store.get('a')?.nodeUid, reviewer.nodeUid('a'));
  });

  it('issues a challenge, stores verified evidence, and answers why evidence is refused', async () => {
    const refused = new EvidenceRefusal('BadSignature');
    const instance = { assurance: 'psat+fresh', cloud: 'aws', id: 'i-1' } as const;
    const judgements: (Judgement | undefined)[] = [
      undefined,
      { refused },
      { attestation: { instance, agentId: 'x', atMs: 0 } },
      undefined,
    ];
    const { reviewer, store, post } = await start({
      attestor: {
        judge: async () => judgements.shift(),
        challenge: (_sender, _report, held, joining) => (joining && !held.attestation ? 'C'.repeat(32) : undefined),
        release: () => {},
      },
    });
    const token = reviewer.issue({ node: 'a' });
    const answers: ReportAnswer[] = [];
    for (let sequence = 1; sequence <= 4; sequence += 1) {
      answers.push((await post(token, JSON.stringify(exampleReport({ sequence })))).json as ReportAnswer);
    }
    const codes = answers.map(({ reasons }) => reasons.map(({ code }) => code).join());
    assert.deepEqual(codes, [
      'InstanceUnknown',
      'InstanceUnknown,EvidenceRefused',
      'InstanceUnknown',
      'InstanceUnknown',
    ]);
    const challenge = 'C'.repeat(32);
    assert.deepEqual(
      answers.map((answer) => answer.challenge),
      [challenge, challenge, undefined, undefined],
    );
    assert.deepEqual(store.get('a')?.attestation?.instance, instance);
  });

  it('accepts a report of a node whose state is not known yet', async () => {
    const { reviewer, post } = await start();
    reviewer.putNode('b');
    const answer = (await post(reviewer.issue({ node: 'b' }), wholeReport)).json as ReportAnswer;
    assert.deepEqual([answer.accepted, answer.initialized, answer.reasons], [true, false, []]);
  });

  it('answers a repeated report like the first time, and does not take an older one', async () => {
    const { reviewer, store, post } = await start();
    const token = reviewer.issue({ node: 'a' });
    const newer = JSON.stringify(exampleReport({ sequence: 5 }));
    assert.equal(((await post(token, newer)).json as ReportAnswer).accepted, true);
    assert.equal(((await post(token, newer)).json as ReportAnswer).accepted, true);
    const older = await post(token, JSON.stringify(exampleReport({ sequence: 4 })));
    assert.deepEqual([older.status, (older.json as ReportAnswer).accepted], [200, false]);
    assert.equal(store.get('a')?.report.sequence, 5);
  });

  it('never takes the node from the body', async () => {
    const { reviewer, store, post } = await start();
    const answer = await post(reviewer.issue({ node: 'a' }), JSON.stringify({ ...exampleReport(), nodeName: 'b' }));
    assert.deepEqual([answer.status, (answer.json as ErrorBody).error.field], [422, 'nodeName']);
    assert.equal(store.size, 0);
  });

  it('asks a large fleet to report less often', async () => {
    const { reviewer, post } = await start({ fleetSize: () => 5_000 });
    assert.equal(
      ((await post(reviewer.issue({ node: 'a' }), wholeReport)).json as ReportAnswer).nextReportSeconds,
      1000,
    );
  });

  it('refuses a report without token, or with one of another kind, before it looks at the body', async () => {
    const { reviewer, store, post } = await start();
    assert.deepEqual([(await post(undefined, 'not json')).status, store.size], [401, 0]);
    assert.equal(codeOf(await post(undefined, 'x', { authorization: 'Basic abc' })), 'TokenMissing');
    assert.equal(codeOf(await post('aaaa.bbbb.cccc', 'not json')), 'TokenInvalid');
    assert.equal(
      codeOf(await post(reviewer.issue({ node: 'a', serviceAccount: 'default' }), wholeReport)),
      'ForeignServiceAccount',
    );
  });

  it('answers 503 with Retry-After when tokens cannot be reviewed', async () => {
    const { reviewer, post } = await start();
    reviewer.outage = new KubeError({ status: 0, reason: 'Unreachable', message: 'refused' });
    const answer = await post(reviewer.issue({ node: 'a' }), wholeReport);
    assert.deepEqual([answer.status, codeOf(answer), answer.headers['retry-after']], [503, 'ReviewUnavailable', '5']);
  });

  it('refuses another content type, broken JSON and an empty body', async () => {
    const { reviewer, store, post } = await start();
    const token = reviewer.issue({ node: 'a' });
    assert.deepEqual([(await post(token, wholeReport, { 'content-type': 'text/plain' })).status], [415]);
    assert.equal(codeOf(await post(token, wholeReport, { 'content-type': 'nonsense' })), 'NotJsonType');
    for (const body of ['{', '', '{"a":1}}', '\u0000']) {
      assert.deepEqual([codeOf(await post(token, body))], ['NotJson'], body);
    }
    assert.equal(store.size, 0);
  });

  it('takes a content type with a charset', async () => {
    const { reviewer, post } = await start();
    const answer = await post(reviewer.issue({ node: 'a' }), wholeReport, {
      'content-type': 'application/json; charset=utf-8',
    });
    assert.equal(answer.status, 200);
  });

  it('refuses a body beyond the limit, announced or not', async () => {
    const { reviewer, store, send, post } = await start();
    const token = reviewer.issue({ node: 'a' });
    const big = JSON.stringify({ ...exampleReport(), padding: 'x'.repeat(40_000) });
    const announced = await post(token, big);
    assert.deepEqual([announced.status, codeOf(announced)], [413, 'ReportTooLarge']);
    const chunked = await send({
      path: '/v1/report',
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, 'transfer-encoding': 'chunked' },
      body: big,
    });
    assert.equal(chunked.status, 413);
    assert.equal(store.size, 0);
  });

  it('serves nothing else', async () => {
    const { send } = await start();
    for (const [method, path] of [
      ['GET', '/v1/report'],
      ['PUT', '/v1/report'],
      ['POST', '/v1/report/'],
      ['GET', '/metrics'],
    ] as const) {
      const answer = await send({ path, method });
      assert.deepEqual([answer.status, codeOf(answer)], [404, 'UnknownPath'], `${method} ${path}`);
    }
  });

  it('never keeps anything but a report, whatever JSON comes, and names the fault', async () => {
    const { reviewer, store, post } = await start({ limits: { perNode: 1_000_000 } });
    const token = reviewer.issue({ node: 'a' });
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

  it('redirects a report from a standby to the leader, without a review', async () => {
    const { reviewer, store, leadership, post } = await start();
    leadership.leading = false;
    const answer = await post(reviewer.issue({ node: 'a' }), wholeReport);
    assert.deepEqual([answer.status, answer.headers['location']], [307, 'https://10.0.0.1:10270/v1/report']);
    assert.deepEqual([reviewer.reviews, store.size], [0, 0]);
  });

  it('answers 503 with Retry-After as a standby that knows no leader with an https URL', async () => {
    const { reviewer, leadership, post } = await start();
    leadership.leading = false;
    for (const url of [undefined, 'http://10.0.0.1:10270', 'nonsense']) {
      leadership.url = url;
      const answer = await post(reviewer.issue({ node: 'a' }), wholeReport);
      assert.deepEqual([answer.status, codeOf(answer), answer.headers['retry-after']], [503, 'NoLeader', '5']);
      assert.equal(answer.headers['location'], undefined);
    }
  });

  it('serves a new certificate to the next connection', async () => {
    const { server, reviewer, post } = await start();
    const next = await issuePair();
    server.reload(next.credentials);
    await assert.rejects(post(reviewer.issue({ node: 'a' }), wholeReport), /certificate|issuer|signature/);
    assert.equal((await post(reviewer.issue({ node: 'a' }), wholeReport, {}, next.authority.cert)).status, 200);
  });

  it('counts reports by outcome', async () => {
    const { reviewer, registry, post } = await start();
    const token = reviewer.issue({ node: 'a' });
    await post(token, wholeReport);
    await post(token, wholeReport);
    await post(undefined, wholeReport);
    const text = await registry.text();
    for (const outcome of ['kept', 'stale', 'TokenMissing']) {
      assert.match(text, new RegExp(`mooring_reports_total\\{outcome="${outcome}"\\} 1`));
    }
    assert.match(text, /mooring_token_reviews_total\{outcome="proved"\} 1/);
    assert.match(text, /mooring_report_handling_seconds_count 3/);
  });
});
