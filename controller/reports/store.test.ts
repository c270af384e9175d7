import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { type FakeClock, fakeClock } from '../../common/testing/fake-clock.ts';
import type { Sender } from './sender.ts';
import { createReportStore, type ReportArrival, type ReportStore } from './store.ts';
import { exampleReport } from './testing/example-report.ts';

const sender: Sender = { nodeName: 'a', nodeUid: 'uid-1', podUid: 'pod-1', credentialId: 'JTI=1' };

describe('report store', () => {
  let clock: FakeClock;
  let store: ReportStore;
  let arrivals: ReportArrival[];

  beforeEach(() => {
    clock = fakeClock();
    store = createReportStore(clock);
    arrivals = [];
    store.subscribe((arrival) => arrivals.push(arrival));
  });

  it("keeps the newest report of a node, with the controller's times", async () => {
    store.put(sender, exampleReport());
    await clock.advance(1_000);
    assert.equal(store.put(sender, exampleReport({ sequence: 2 })), 'kept');
    const stored = store.get('a');
    assert.deepEqual([stored?.report.sequence, stored?.receivedAtMs], [2, clock.now()]);
    assert.equal(stored?.receivedMonotonicMs, 1_000);
    assert.equal(store.size, 1);
  });

  it('says whether anything of substance changed', () => {
    const instance = { ...exampleReport().instance!, zone: 'eu-west-1b' };
    store.put(sender, exampleReport());
    store.put(sender, exampleReport({ sequence: 2, observedAt: '2026-01-01T00:01:00Z' }));
    store.put(sender, exampleReport({ sequence: 3, instance }));
    store.put(sender, exampleReport({ sequence: 4, instance, notices: [] }));
    assert.deepEqual(
      arrivals.map((one) => one.changed),
      [true, false, true, true],
    );
  });

  it('keeps only the time of an outdated report, and treats the next one as the first', async () => {
    store.put(sender, exampleReport({ notices: [{ kind: 'preemption' }] }));
    await clock.advance(5000);
    store.outdate();
    assert.equal(store.get('a')?.receivedMonotonicMs, 0);
    assert.deepEqual([store.get('a')?.report.instance, store.get('a')?.report.notices], [undefined, undefined]);
    assert.equal(store.put(sender, exampleReport({ notices: [{ kind: 'preemption' }] })), 'stale');
    store.put(sender, exampleReport({ sequence: 2, notices: [{ kind: 'preemption' }] }));
    assert.deepEqual(
      arrivals.map(({ first, changed }) => [first, changed]),
      [
        [true, true],
        [true, true],
      ],
    );
    assert.equal(store.size, 1);
  });

  it('refuses an older or repeated report of the same agent process without an event', () => {
    store.put(sender, exampleReport({ sequence: 7 }));
    for (const sequence of [6, 7]) assert.equal(store.put(sender, exampleReport({ sequence })), 'stale');
    assert.equal(arrivals.length, 1);
  });

  it('takes a low sequence of a new agent process, and of a new Node of that name', () => {
    store.put(sender, exampleReport({ sequence: 7 }));
    assert.equal(store.put(sender, exampleReport({ sequence: 1, agentId: 'agent-2' })), 'kept');
    assert.equal(
      store.put({ ...sender, nodeUid: 'uid-2' }, exampleReport({ sequence: 1, agentId: 'agent-2' })),
      'kept',
    );
    assert.deepEqual(
      arrivals.map((one) => one.changed),
      [true, false, true],
    );
  });

  it('reports that an agent is leaving', () => {
    store.put(sender, exampleReport({ leaving: true }));
    assert.deepEqual(arrivals, [{ nodeName: 'a', changed: true, attested: false, first: true, leaving: true }]);
  });

  it('keeps verified evidence across reports of one Node, and reports it once', () => {
    const instance = { assurance: 'psat+fresh', cloud: 'aws', id: 'i-1' } as const;
    const judgement = { attestation: { instance, agentId: 'x', atMs: 0 } };
    store.put(sender, exampleReport({ sequence: 1 }));
    store.put(sender, exampleReport({ sequence: 2 }), judgement);
    store.put(sender, exampleReport({ sequence: 3 }), judgement);
    store.put(sender, exampleReport({ sequence: 4 }));
    assert.deepEqual(store.get('a')?.attestation?.instance, instance);
    assert.deepEqual(
      arrivals.map(({ attested, changed }) => [attested, changed]),
      [
        [false, true],
        [true, false],
        [false, false],
        [false, false],
      ],
    );
    assert.deepEqual([...store.assurances()], ['psat+fresh']);
    store.put({ ...sender, nodeUid: 'another' }, exampleReport({ sequence: 5 }));
    assert.equal(store.get('a')?.attestation, undefined, 'another Node object has to prove itself again');
  });

  it('drops verified evidence when the term ends', () => {
    const instance = { assurance: 'psat+doc', cloud: 'aws', id: 'i-1' } as const;
    store.put(sender, exampleReport(), { attestation: { instance, agentId: 'x', atMs: 0 } });
    store.outdate();
    assert.deepEqual([...store.assurances()], ['psat']);
  });

  it('forgets a node', () => {
    store.put(sender, exampleReport());
    store.forget('a');
    assert.deepEqual([store.get('a'), store.size], [undefined, 0]);
  });
});
