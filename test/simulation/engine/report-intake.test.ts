import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError } from '../../../controller/kube/api.ts';
import { createReportReader } from '../../../controller/reports/read-report.ts';
import { createReportStore } from '../../../controller/reports/store.ts';
import { exampleReport } from '../../../controller/reports/testing/example-report.ts';
import {
  codeOf,
  type ReportServerStand,
  reportServerStand,
  wholeReport,
} from '../../../controller/reports/testing/report-server-stand.ts';
import { createReportIntake } from './report-intake.ts';

const limits = { perNode: 4, perAddress: 3 };

/** Sends the same to a report server on a socket and to the intake, which share the API server and nothing else. */
function both(stand: ReportServerStand) {
  const { clock, office, leadership } = stand;
  const intake = createReportIntake({
    api: office.api,
    clock,
    nodes: {
      synced: true,
      get(name) {
        const uid = office.nodeUid(name);
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
    const answer = await stand.post(token === '' ? undefined : token, body);
    const taken = await intake.take({ token, body: Buffer.from(body), address: '127.0.0.1' });
    return { served: answer.status === 200 ? 'taken' : codeOf(answer), answer, taken };
  };
}

describe('reports as the simulation takes them', () => {
  const start = reportServerStand();
  const report = (sequence: number) => JSON.stringify(exampleReport({ sequence }));

  it('fare as behind the socket of the report API', async () => {
    const stand = await start({ limits });
    const { office, clock } = stand;
    const send = both(stand);
    const seen: string[] = [];
    const expectBoth = async (token: string, body: string, expected: string) => {
      const { served, taken } = await send(token, body);
      const outcome = taken.outcome === 'kept' || taken.outcome === 'stale' ? 'taken' : taken.outcome;
      assert.deepEqual([served, outcome], [expected, expected]);
      seen.push(expected);
    };
    const token = office.issue({ node: 'a' });
    await expectBoth(token, report(2), 'taken');
    await expectBoth(token, report(1), 'taken');
    await expectBoth(token, wholeReport.slice(0, 40), 'NotJson');
    await expectBoth(token, JSON.stringify({ ...exampleReport(), more: 1 }), 'InvalidReport');
    await expectBoth(token, report(3), 'NodeRateLimited');
    await clock.advance(60_000);
    await expectBoth('', wholeReport, 'TokenMissing');
    await expectBoth('aaaa.bbbb', wholeReport, 'TokenInvalid');
    await expectBoth(office.issue({ node: 'a', serviceAccount: 'other' }), wholeReport, 'ForeignServiceAccount');
    await expectBoth(token.replace(/.$/, '!'), wholeReport, 'AddressRateLimited');
    await expectBoth(token, report(4), 'taken');
    await clock.advance(60_000);
    await expectBoth(office.issue({ node: 'a', audiences: ['other'] }), wholeReport, 'TokenInvalid');
    await expectBoth(office.issue({ node: 'a', unbound: true }), wholeReport, 'BindingIncomplete');
    await clock.advance(60_000);
    await expectBoth(office.issue({ node: 'later' }), wholeReport, 'NodeUidMissing');
    office.outage = new KubeError({ status: 503, reason: 'ServiceUnavailable', message: 'no' });
    await expectBoth(office.issue({ node: 'a' }), wholeReport, 'ReviewUnavailable');
    office.outage = undefined;
    office.putNode('a');
    await expectBoth(token, report(5), 'NodeReplaced');
    office.deleteNode('a');
    await expectBoth(token, report(5), 'NodeUnknown');
    assert.equal(new Set(seen).size, 13);
  });

  it('are sent to the leader by all others, and told when there is none', async () => {
    const stand = await start();
    const send = both(stand);
    stand.leadership.leading = false;
    const { served, answer, taken } = await send(stand.office.issue({ node: 'a' }), wholeReport);
    assert.equal(served, 'NotLeader');
    assert.deepEqual(taken, { outcome: 'NotLeader', location: answer.headers['location'] });
    stand.leadership.url = undefined;
    const nobody = await send(stand.office.issue({ node: 'a' }), wholeReport);
    assert.deepEqual([nobody.served, nobody.taken.outcome], ['NoLeader', 'NoLeader']);
  });
});
