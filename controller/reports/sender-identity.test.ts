import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { type FakeClock, fakeClock } from '../../common/testing/fake-clock.ts';
import { KubeError } from '../kube/api.ts';
import { ReportRefusal } from './refusal.ts';
import { createIdentity, type Identity, type IdentityOptions } from './sender-identity.ts';
import { type FakeTokenReviewer, fakeTokenReviewer } from './testing/fake-token-reviewer.ts';

describe('the identity of a sender', () => {
  let clock: FakeClock;
  let reviewer: FakeTokenReviewer;
  let identity: Identity;

  function make(changes: Partial<IdentityOptions> = {}): Identity {
    return createIdentity({
      api: reviewer.api,
      clock,
      audience: 'mooring',
      serviceAccount: { namespace: 'kube-system', name: 'mooring-agent' },
      liveNodeUid: (name) => reviewer.nodeUid(name),
      ...changes,
    });
  }

  beforeEach(() => {
    clock = fakeClock();
    reviewer = fakeTokenReviewer(clock);
    reviewer.putNode('a');
    identity = make();
  });

  async function refusalOf(token: string, from: Identity = identity): Promise<ReportRefusal> {
    try {
      await from.identify(token);
    } catch (error) {
      assert.ok(error instanceof ReportRefusal);
      assert.ok(token.length < 10 || !error.message.includes(token));
      return error;
    }
    return assert.fail('was accepted');
  }

  it('takes node and pod from the review', async () => {
    const sender = await identity.identify(reviewer.issue({ node: 'a' }));
    assert.equal(sender.nodeName, 'a');
    assert.equal(sender.nodeUid, reviewer.nodeUid('a'));
    assert.match(sender.podUid, /^pod-/);
    assert.match(sender.credentialId, /^JTI=/);
  });

  it('refuses an invalid token without a call to the API server', async () => {
    assert.equal((await refusalOf('')).code, 'TokenMissing');
    for (const token of ['x', 'a.b', 'a.b.c.d', 'a.b.ü', 'a..c', `a.b.${'c'.repeat(20_000)}`]) {
      assert.equal((await refusalOf(token)).code, 'TokenInvalid');
    }
    assert.equal(reviewer.reviews, 0);
  });

  it('refuses a token the API server does not know', async () => {
    const refusal = await refusalOf('aaaa.bbbb.cccc');
    assert.deepEqual([refusal.code, refusal.status], ['TokenInvalid', 401]);
  });

  it('refuses an expired token', async () => {
    const token = reviewer.issue({ node: 'a', lifetimeSeconds: 600 });
    await clock.advance(600_000);
    assert.equal((await refusalOf(token)).code, 'TokenInvalid');
  });

  it('refuses a token for another audience', async () => {
    const token = reviewer.issue({ node: 'a', audiences: ['https://kubernetes.default.svc'] });
    assert.equal((await refusalOf(token)).code, 'TokenInvalid');
  });

  it('refuses a reviewer that knows no audiences', async () => {
    reviewer.audienceUnaware = true;
    assert.equal((await refusalOf(reviewer.issue({ node: 'a' }))).code, 'AudienceUnproved');
  });

  it("refuses another ServiceAccount's token, of the same name elsewhere too", async () => {
    for (const other of [{ serviceAccount: 'default' }, { namespace: 'shop' }]) {
      const refusal = await refusalOf(reviewer.issue({ node: 'a', ...other }));
      assert.deepEqual([refusal.code, refusal.status], ['ForeignServiceAccount', 403]);
    }
  });

  it('refuses a token that is bound to no pod', async () => {
    assert.equal((await refusalOf(reviewer.issue({ node: 'a', unbound: true }))).code, 'BindingIncomplete');
  });

  for (const key of ['node-name', 'node-uid', 'pod-name', 'pod-uid', 'credential-id']) {
    it(`refuses two values of ${key}, and an empty one`, async () => {
      for (const values of [['x', 'y'], ['']]) {
        const token = reviewer.issue({ node: 'a' });
        reviewer.tamper(token, (extra) => {
          extra[`authentication.kubernetes.io/${key}`] = values;
        });
        assert.equal((await refusalOf(token)).code, 'BindingIncomplete');
      }
    });
  }

  it('asks for a retry when the token is older than the Node, also once the Node exists', async () => {
    const token = reviewer.issue({ node: 'late' });
    reviewer.putNode('late');
    const refusal = await refusalOf(token);
    assert.equal(refusal.code, 'NodeUidMissing');
    assert.ok(refusal.retryAfterSeconds);
  });

  it('refuses the authenticated token of a Node that was deleted or re-created', async () => {
    const token = reviewer.issue({ node: 'a' });
    await identity.identify(token);
    reviewer.deleteNode('a');
    assert.equal((await refusalOf(token)).code, 'NodeUnknown');
    reviewer.putNode('a');
    assert.equal((await refusalOf(token)).code, 'NodeReplaced');
    assert.equal((await identity.identify(reviewer.issue({ node: 'a' }))).nodeUid, reviewer.nodeUid('a'));
  });

  it('asks for a retry when the live Node cannot be read', async () => {
    const withoutCache = make({ liveNodeUid: () => Promise.reject(new Error('no cache yet')) });
    assert.equal((await refusalOf(reviewer.issue({ node: 'a' }), withoutCache)).code, 'ReviewUnavailable');
  });

  it('reviews a token once in ten minutes', async () => {
    const token = reviewer.issue({ node: 'a' });
    for (let minute = 0; minute < 10; minute += 1) {
      await identity.identify(token);
      await clock.advance(59_000);
    }
    assert.equal(reviewer.reviews, 1);
    await clock.advance(10_000);
    await identity.identify(token);
    assert.equal(reviewer.reviews, 2);
  });

  it('notices a deleted pod when the verdict is ten minutes old', async () => {
    const token = reviewer.issue({ node: 'a' });
    await identity.identify(token);
    reviewer.deletePodOf(token);
    await identity.identify(token);
    await clock.advance(600_000);
    assert.equal((await refusalOf(token)).code, 'TokenInvalid');
  });

  it("never keeps a verdict beyond the token's end, nor after the wall clock jumped there", async () => {
    const token = reviewer.issue({ node: 'a', lifetimeSeconds: 600 });
    await clock.advance(500_000);
    await identity.identify(token);
    clock.stepWall(100_000);
    assert.equal((await refusalOf(token)).code, 'TokenInvalid');
    assert.equal(reviewer.reviews, 2);
  });

  it('keeps a refusal for ten seconds', async () => {
    await refusalOf('aaaa.bbbb.cccc');
    await clock.advance(9_000);
    await refusalOf('aaaa.bbbb.cccc');
    assert.equal(reviewer.reviews, 1);
    await clock.advance(1_000);
    await refusalOf('aaaa.bbbb.cccc');
    assert.equal(reviewer.reviews, 2);
  });

  it('says that the API server is unavailable, for how long, and keeps no verdict from that', async () => {
    const token = reviewer.issue({ node: 'a' });
    reviewer.outage = new KubeError({ status: 429, reason: 'TooManyRequests', message: 'busy', retryAfterMs: 2_500 });
    const refusal = await refusalOf(token);
    assert.deepEqual([refusal.code, refusal.status, refusal.retryAfterSeconds], ['ReviewUnavailable', 503, 3]);
    for (const status of [0, 403, 500]) {
      reviewer.outage = new KubeError({ status, reason: 'x', message: 'x' });
      assert.equal((await refusalOf(token)).code, 'ReviewUnavailable');
    }
    reviewer.outage = undefined;
    assert.equal((await identity.identify(token)).nodeName, 'a');
  });

  it('keeps its verdicts while the API server is unavailable', async () => {
    const token = reviewer.issue({ node: 'a' });
    await identity.identify(token);
    reviewer.outage = new KubeError({ status: 0, reason: 'Unreachable', message: 'x' });
    assert.equal((await identity.identify(token)).nodeName, 'a');
  });

  it('shares one review among requests with one token', async () => {
    const token = reviewer.issue({ node: 'a' });
    let release: () => void = () => {};
    reviewer.hold = new Promise((resolve) => {
      release = resolve;
    });
    const senders = Array.from({ length: 20 }, () => identity.identify(token));
    release();
    assert.equal(new Set((await Promise.all(senders)).map((one) => one.credentialId)).size, 1);
    assert.equal(reviewer.reviews, 1);
  });

  it('limits concurrent and waiting reviews, and refuses further ones', async () => {
    identity = make({ maxInFlight: 3, maxWaiting: 5 });
    let release: () => void = () => {};
    reviewer.hold = new Promise((resolve) => {
      release = resolve;
    });
    const all = Array.from({ length: 10 }, () => identity.identify(reviewer.issue({ node: 'a' })));
    const outcomes = Promise.allSettled(all);
    release();
    const refused = (await outcomes).filter((one) => one.status === 'rejected');
    assert.equal(reviewer.mostAtOnce, 3);
    assert.deepEqual(
      refused.map((one) => (one.reason as ReportRefusal).code),
      ['Busy', 'Busy'],
    );
    await identity.identify(reviewer.issue({ node: 'a' }));
  });

  it('counts how reviews end', async () => {
    const seen: string[] = [];
    const counting = make({ onReview: (outcome) => seen.push(outcome) });
    const token = reviewer.issue({ node: 'a' });
    await counting.identify(token);
    await counting.identify(token);
    await refusalOf('aaaa.bbbb.cccc', counting);
    assert.deepEqual(seen, ['proved', 'cached', 'refused']);
  });
});
