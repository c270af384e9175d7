import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../../common/process/log.ts';
import type { Report } from '../../../common/report.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { exampleReport } from '../testing/example-report.ts';
import { createAttestor } from './attestor.ts';
import { createChallenges } from './challenges.ts';
import { EvidenceRefusal, type EvidenceVerifier } from './verdict.ts';

/** Accepts `CHALLENGE INSTANCE`. */
const verifier: EvidenceVerifier = {
  cloud: 'simulated',
  kind: 'signed-identity',
  async verify(document, challenges) {
    const [challenge = '', id = ''] = document.split(' ');
    if (id === 'crash') throw new Error('a bug');
    if (!challenges.includes(challenge)) throw new EvidenceRefusal('NotFresh');
    return { assurance: 'psat+fresh', cloud: 'simulated', id, incarnation: `${id}-1` };
  },
};

describe('the attestor', () => {
  const senderOf = (node: string, credentialId = 'JTI=1') => ({
    nodeName: node,
    nodeUid: `uid-${node}`,
    podUid: 'p',
    credentialId,
  });

  function setUp() {
    const clock = fakeClock();
    const dead = new Set<string>();
    const providerIDs = new Map<string, string>();
    const judged: string[] = [];
    const attestor = createAttestor({
      clock,
      log: silentLog,
      challenges: createChallenges(clock, Buffer.alloc(32, 3)),
      verifiers: [verifier],
      alive: (name) => !dead.has(name),
      providerIDOf: (name) => providerIDs.get(name) ?? '',
      onJudged: (cloud, outcome) => judged.push(`${cloud} ${outcome}`),
    });
    const instance = { cloud: 'simulated', id: 'i-1', providerID: 'simulated://sim-1/i-1', addresses: [] };
    const reportOf = (changes: Partial<Report> = {}) => exampleReport({ instance, ...changes });
    const evidenceOf = (document: string) => ({ cloud: 'simulated', kind: 'signed-identity', document });
    const challengeFor = (node: string, credentialId?: string) =>
      attestor.challenge(senderOf(node, credentialId), reportOf(), {}, true);
    async function judge(node: string, document: string, credentialId?: string) {
      const judgement = await attestor.judge(
        senderOf(node, credentialId),
        reportOf({ evidence: evidenceOf(document) }),
      );
      return judgement?.refused?.code ?? judgement?.attestation?.instance.id;
    }
    return { clock, dead, providerIDs, judged, attestor, reportOf, evidenceOf, challengeFor, judge };
  }

  it('verifies evidence that answers a challenge of this Node and this token', async () => {
    const { judge, challengeFor, judged } = setUp();
    assert.equal(await judge('a', `${challengeFor('a')} i-1`), 'i-1');
    assert.equal(await judge('a', `${challengeFor('b')} i-1`), 'NotFresh');
    assert.equal(await judge('a', `${challengeFor('a', 'JTI=2')} i-1`), 'NotFresh');
    assert.deepEqual(judged, ['simulated verified', 'simulated NotFresh', 'simulated NotFresh']);
  });

  it('refuses evidence of an instance from another Node while the first one lives', async () => {
    const { judge, challengeFor, dead, attestor } = setUp();
    assert.equal(await judge('a', `${challengeFor('a')} i-1`), 'i-1');
    assert.equal(await judge('b', `${challengeFor('b')} i-1`), 'UsedElsewhere');
    assert.equal(await judge('a', `${challengeFor('a')} i-1`), 'i-1');
    dead.add('a');
    assert.equal(await judge('b', `${challengeFor('b')} i-1`), 'i-1');
    attestor.release('b');
    assert.equal(await judge('c', `${challengeFor('c')} i-1`), 'i-1');
  });

  it('keeps no instance for a Node whose providerID names another one or is of another cloud', async () => {
    for (const providerID of ['simulated://sim-1/i-2', 'hcloud://1']) {
      const { judge, challengeFor, providerIDs } = setUp();
      providerIDs.set('rogue', providerID).set('owner', 'simulated://sim-1/i-1');
      // The contradiction is for the reconciler to tell.
      assert.equal(await judge('rogue', `${challengeFor('rogue')} i-1`), 'i-1');
      assert.equal(await judge('owner', `${challengeFor('owner')} i-1`), 'i-1');
      assert.equal(await judge('other', `${challengeFor('other')} i-1`), 'UsedElsewhere');
    }
  });

  it('takes an instance from a Node that has got the providerID of another one since', async () => {
    const { judge, challengeFor, providerIDs } = setUp();
    assert.equal(await judge('rogue', `${challengeFor('rogue')} i-1`), 'i-1');
    assert.equal(await judge('owner', `${challengeFor('owner')} i-1`), 'UsedElsewhere');
    providerIDs.set('rogue', 'simulated://sim-1/i-2');
    assert.equal(await judge('owner', `${challengeFor('owner')} i-1`), 'i-1');
  });

  it('refuses evidence of an unknown kind or cloud, counts it as one, and survives a fault of its own', async () => {
    const { attestor, reportOf, judged, judge } = setUp();
    for (const evidence of [
      { cloud: 'simulated', kind: 'other', document: 'x' },
      { cloud: 'x'.repeat(32), kind: 'signed-identity', document: 'x' },
      { cloud: '__proto__', kind: 'signed-identity', document: 'x' },
    ]) {
      const judgement = await attestor.judge(senderOf('a'), reportOf({ evidence }));
      assert.equal(judgement?.refused?.code, 'UnknownKind');
    }
    assert.equal(await judge('a', 'x crash'), 'Malformed');
    assert.deepEqual(judged, [
      'simulated UnknownKind',
      'other UnknownKind',
      'other UnknownKind',
      'simulated Malformed',
    ]);
    assert.equal(await attestor.judge(senderOf('a'), reportOf()), undefined);
  });

  it('asks a new agent process, one after twelve hours, and none that has given evidence', async () => {
    const { attestor, reportOf, clock } = setUp();
    const instance = { assurance: 'psat+fresh', cloud: 'simulated', id: 'i-1' } as const;
    const report = reportOf();
    const attestation = { instance, agentId: report.agentId, atMs: clock.monotonic() };
    const asked = (changes: Partial<Report> = {}) =>
      attestor.challenge(senderOf('a'), { ...report, ...changes }, { attestation }, true) !== undefined;
    assert.deepEqual([asked(), asked({ agentId: 'restarted' })], [false, true]);
    await clock.advance(12 * 3_600_000);
    assert.equal(asked(), true);
  });

  it('asks nothing of a cloud whose evidence it cannot verify', () => {
    const { attestor, reportOf } = setUp();
    const { instance: _, ...silent } = reportOf();
    const elsewhere = reportOf({ instance: { cloud: 'hetzner', id: '1', providerID: 'hcloud://1', addresses: [] } });
    for (const report of [silent, elsewhere]) {
      assert.equal(attestor.challenge(senderOf('a'), report, {}, true), undefined);
    }
  });

  it('asks again at once only when another challenge helps', () => {
    const { attestor, reportOf } = setUp();
    const asked = (code: 'NotFresh' | 'BadSignature') =>
      attestor.challenge(senderOf('a'), reportOf(), { judgement: { refused: new EvidenceRefusal(code) } }, true);
    assert.equal(asked('BadSignature'), undefined);
    assert.ok(asked('NotFresh'));
  });

  it('asks a fleet of initialised Nodes one after the other, and joining ones at once', async () => {
    const { attestor, reportOf, clock } = setUp();
    const ask = (joining: boolean) =>
      Array.from({ length: 100 }, (_, index) =>
        attestor.challenge(senderOf(`n${index}`), reportOf(), {}, joining),
      ).filter((challenge) => challenge !== undefined).length;
    assert.deepEqual([ask(true), ask(false)], [100, 1]);
    await clock.advance(50);
    assert.equal(ask(false), 1);
  });
});
