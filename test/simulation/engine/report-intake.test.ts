import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError } from '../../../controller/kube/api.ts';
import { createReportReader } from '../../../controller/reports/read-report.ts';
import { createReportStore } from '../../../controller/reports/store.ts';
import { exampleReport } from '../../../controller/reports/testing/example-report.ts';
import {
  codeOf,
  type ReportServerHarness,
  reportServerHarness,
  wholeReport,
} from '../../../controller/reports/testing/report-server-harness.ts';
import { createReportIntake } from './report-intake.ts';

const limits = { perNode: 4, perAddress: 3 };

/** Sends the same to a report server on a socket and to the intake, which share the API server and nothing else. */
function both(harness: ReportServerHarness) {
  const { clock, reviewer, leadership } = harness;
  const intake = createReportIntake({
    api: reviewer.api,
    clock,
    nodes: {
      synced: true,
      get(name) {
        const uid = reviewer.nodeUid(name);
        return uid === undefined ? undefined : { uid };
      },
    },
    store: createReportStore(clock),
    leadership: {
      get leading() {
        return leadership.leading;
      },
      leaderReportUrl: () => leadership.url,
    },
    read: createReportReader(),
    limits,
  });
  return async (token: string, body: string) => {
    const answer = await harness.post(token === '' ? undefined : token, body);
    const taken = await intake.take({ token, body: Buffer.from(body), address: '127.0.0.1' });
    return { served: answer.status === 200 ? 'taken' : codeOf(answer), answer, taken };
  };
}

describe('reports in the simulation', () => {
  const start = reportServerHarness();
  const report = (sequence: number) => JSON.stringify(exampleReport({ sequence }));

  it('takes and refuses reports as the report API does behind its socket', async () => {
    const harness = await start({ limits });
    const { reviewer, clock } = harness;
    const send = both(harness);
    const seen: string[] = [];
    const expectBoth = async (token: string, body: string, expected: string) => {
      const { served, taken } = await send(token, body);
      const outcome = taken.outcome === 'kept' || taken.outcome === 'stale' ? 'taken' : taken.outcome;
      assert.deepEqual([served, outcome], [expected, expected]);
      seen.push(expected);
    };
    const token = reviewer.issue({ node: 'a' });
    await expectBoth(token, report(2), 'taken');
    await expectBoth(token, report(1), 'taken');
    await expectBoth(token, wholeReport.slice(0, 40), 'NotJson');
    await expectBoth(token, JSON.stringify({ ...exampleReport(), more: 1 }), 'InvalidReport');
    await expectBoth(token, report(3), 'NodeRateLimited');
    await clock.advance(60_000);
    await expectBoth('', wholeReport, 'TokenMissing');
    await expectBoth('aaaa.bbbb', wholeReport, 'TokenInvalid');
    await expectBoth(reviewer.issue({ node: 'a', serviceAccount: 'other' }), wholeReport, 'ForeignServiceAccount');
    await expectBoth(token.replace(/.$/, '!'), wholeReport, 'AddressRateLimited');
    await expectBoth(token, report(4), 'taken');
    await clock.advance(60_000);
    await expectBoth(reviewer.issue({ node: 'a', audiences: ['other'] }), wholeReport, 'TokenInvalid');
    await expectBoth(reviewer.issue({ node: 'a', unbound: true }), wholeReport, 'BindingIncomplete');
    await clock.advance(60_000);
    await expectBoth(reviewer.issue({ node: 'later' }), wholeReport, 'NodeUidMissing');
    reviewer.outage = new KubeError({ status: 503, reason: 'ServiceUnavailable', message: 'no' });
    await expectBoth(reviewer.issue({ node: 'a' }), wholeReport, 'ReviewUnavailable');
    reviewer.outage = undefined;
    reviewer.putNode('a');
    await expectBoth(token, report(5), 'NodeReplaced');
    reviewer.deleteNode('a');
    await expectBoth(token, report(5), 'NodeUnknown');
    assert.equal(new Set(seen).size, 13);
  });

  it('sends reports to the leader, or refuses them when there is none', async () => {
    const harness = await start();
    const send = both(harness);
    harness.leadership.leading = false;
    const { served, answer, taken } = await send(harness.reviewer.issue({ node: 'a' }), wholeReport);
    assert.equal(served, 'NotLeader');
    assert.deepEqual(taken, { outcome: 'NotLeader', location: answer.headers['location'] });
    harness.leadership.url = undefined;
    const refused = await send(harness.reviewer.issue({ node: 'a' }), wholeReport);
    assert.deepEqual([refused.served, refused.taken.outcome], ['NoLeader', 'NoLeader']);
  });
});
