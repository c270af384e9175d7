import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { type FakeClock, fakeClock } from '../../common/testing/fake-clock.ts';
import { EvidenceRefusal } from './attestation/verdict.ts';
import { createLineReader, reportLines } from './report-lines.ts';
import type { Sender } from './sender.ts';
import { createReportStore, type ReportStore } from './store.ts';
import { exampleReport } from './testing/example-report.ts';

const senderOf = (nodeName: string): Sender => {
  return { nodeName, nodeUid: `uid-${nodeName}`, podUid: 'pod-1', credentialId: 'JTI=1' };
};
const evidence = { cloud: 'aws', kind: 'identity-document', document: 'signed-and-secret' };
const verified = { assurance: 'psat+doc', cloud: 'aws', id: 'i-0abc', zone: 'eu-west-1a' } as const;

describe('the reports that a leader passes on', () => {
  let clock: FakeClock;
  let store: ReportStore;

  beforeEach(() => {
    clock = fakeClock();
    store = createReportStore(clock);
  });

  const text = (nodes = 10) => [...reportLines(store, clock, nodes)].join('');
  const lines = (nodes?: number) => text(nodes).split('\n').slice(0, -1);

  it('gives another store the reports with their age and what was verified, but without evidence', async () => {
    const attestation = { instance: verified, agentId: 'agent-1', atMs: 0 };
    store.put(senderOf('a'), exampleReport({ evidence }), { attestation });
    store.put(senderOf('b'), exampleReport({ evidence }), { refused: new EvidenceRefusal('BadSignature') });
    await clock.advance(5000);
    assert.doesNotMatch(text(), /evidence"|secret|identity-document/);
    const elsewhere = fakeClock();
    await elsewhere.advance(90_000);
    const other = createReportStore(elsewhere);
    for (const line of lines()) assert.equal(other.adopt(createLineReader(elsewhere)(line)), 'kept');
    const [a, b] = [other.get('a'), other.get('b')];
    assert.deepEqual(a?.report, exampleReport());
    assert.deepEqual([a?.nodeUid, a?.receivedMonotonicMs, a?.receivedAtMs], ['uid-a', 85_000, elsewhere.now() - 5000]);
    assert.deepEqual(a?.attestation, { instance: verified, agentId: 'agent-1', atMs: 85_000 });
    assert.match(b?.refusedEvidence ?? '', /^BadSignature: /);
    for (const line of lines()) assert.equal(other.adopt(createLineReader(elsewhere)(line)), 'stale');
  });

  it('leaves out agents that are silent, and what an earlier term has left', async () => {
    store.put(senderOf('old'), exampleReport());
    await clock.advance(180_001);
    store.put(senderOf('new'), exampleReport());
    assert.deepEqual(
      lines().map((line) => JSON.parse(line).nodeName),
      ['new'],
    );
    assert.equal(lines(15_000).length, 2);
    store.outdate();
    assert.equal(text(15_000), '');
  });

  it('sends reports in parts of bounded size, and loses none between them', () => {
    for (let each = 0; each < 1000; each += 1) store.put(senderOf(`n${each}`), exampleReport());
    const parts = [...reportLines(store, clock, 1000)];
    assert.ok(parts.every((part) => part.length < 64 * 1024));
    assert.equal(lines(1000).length, 1000);
  });

  const refused: readonly (readonly [string, (line: Record<string, unknown>) => unknown, RegExp])[] = [
    [
      'a report that an agent may not send',
      (line) => ({ ...line, report: { version: 1 } }),
      /^agentVersion: expected a/,
    ],
    ['another field', (line) => ({ ...line, token: 'x' }), /^token: expected no such field, found a text of 1 char/],
    ['no Node', ({ nodeName: _, ...line }) => line, /^nodeName: expected a value, found nothing/],
    ['an age that is none', (line) => ({ ...line, ageSeconds: -1 }), /^ageSeconds: expected >= 0, found -1/],
    ['another proof', (line) => ({ ...line, attestation: { agentId: 'a', instance: { cloud: 'aws' } } }), /assurance/],
    ['no object', () => 'x', /expected object/],
  ];
  for (const [what, change, message] of refused)
    it(`refuses a line with ${what}`, () => {
      store.put(senderOf('a'), exampleReport());
      const line = JSON.stringify(change(JSON.parse(text())));
      assert.throws(() => createLineReader(clock)(line), { message });
    });
});
