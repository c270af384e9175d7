import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { names } from '../../common/well-known.ts';
import { issueAuthority, issueServing } from '../../controller/reports/certificates/ca.ts';
import { readAnswer } from './answers.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { createLane, type Lane } from './lane.ts';
import { faultInLine } from './log-lines.ts';
import { regressions } from './regressions.ts';
import { startTarget, type Target } from './target.ts';
import { createWire, type Heard, type Wire } from './wire.ts';

describe('requests that once got a wrong answer', () => {
  let cluster: Cluster;
  let target: Target;
  let wire: Wire;
  let lane: Lane;

  before(async () => {
    cluster = await startCluster();
    const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
    const authority = await issueAuthority(validity);
    const credentials = await issueServing(authority, [names.serverName], validity);
    const { url: apiUrl, caPem: apiCa, adminToken: apiToken } = cluster.server;
    target = await startTarget({ apiUrl, apiCa, apiToken, credentials });
    wire = createWire(authority.cert);
    lane = createLane(cluster, 0);
  });
  after(async () => {
    await target.stop();
    await cluster.stop();
  });

  for (const { name, delivery, outcome } of regressions) {
    it(name, async () => {
      const token = lane.ghost.token;
      const heard = await wire.send(target.ports.open, delivery(token));
      assert.deepEqual(readAnswer(heard), { outcome }, heard.bytes.toString('latin1'));
      const { lines, kept } = await target.account();
      assert.deepEqual(kept, []);
      assert.deepEqual(
        lines.map(faultInLine).filter((fault) => fault !== undefined),
        [],
      );
      assert.equal(target.death(), undefined);
    });
  }
});

describe('the judge of answers', () => {
  const heard = (text: string, end: Heard['end'] = 'closed'): Heard => ({ bytes: Buffer.from(text), end });
  const answer = (status: string, body: string, more = 'connection: close\r\n') =>
    heard(
      `HTTP/1.1 ${status}\r\n${more}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  const refused = '{"error":{"code":"TokenInvalid","message":"no"}}';

  it('accepts an answer of the report API', () => {
    assert.deepEqual(readAnswer(answer('401 Unauthorized', refused)), { outcome: 'TokenInvalid' });
    assert.deepEqual(readAnswer(heard('')), { outcome: 'silence' });
  });

  const wrong: readonly [what: string, heard: Heard][] = [
    ['another status than the code has', answer('400 Bad Request', refused)],
    ['an unknown code', answer('400 Bad Request', '{"error":{"code":"toString","message":"no"}}')],
    ['a fault of our own', answer('500 Internal Server Error', '{"error":{"code":"InternalError","message":"x"}}')],
    ['a stack', answer('401 Unauthorized', '{"error":{"code":"TokenInvalid","message":"at x (server.ts:12:3)"}}')],
    [
      'what must not come out again',
      answer('401 Unauthorized', '{"error":{"code":"TokenInvalid","message":"cAnArY7f3e"}}'),
    ],
    ['two answers', heard(`${answer('401 Unauthorized', refused).bytes}${answer('401 Unauthorized', refused).bytes}`)],
    ['a connection that is kept', answer('401 Unauthorized', refused, 'connection: keep-alive\r\n')],
    ['no end', heard('', 'stuck')],
    ['no Retry-After', answer('503 Service Unavailable', '{"error":{"code":"NoLeader","message":"x"}}')],
    ['a fault without a field', answer('422 Unprocessable Entity', '{"error":{"code":"InvalidReport","message":"x"}}')],
  ];
  for (const [what, bytes] of wrong) {
    it(`rejects ${what}`, () => assert.ok('fault' in readAnswer(bytes)));
  }
});
