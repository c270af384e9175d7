import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Outcome } from './answers.ts';
import type { Case } from './cases.ts';
import type { Member } from './lane.ts';
import { createLedger } from './ledger.ts';

const report = { agentId: 'agent-1', sequence: 7 };
const kept = { node: 'fuzz-0-ghost', uid: 'uid-1', report: JSON.stringify(report) };

function reportOf(sender: Member, right: readonly Outcome[]): Case {
  return {
    number: 1,
    kind: 'wild',
    door: 'open',
    delivery: { tls: 'yes', parts: [], ending: 'vanish' },
    outcomes: new Set(right),
    headOnly: false,
    sender,
    report: report as unknown as Case['report'],
  };
}

function ghost(): Member {
  return { name: kept.node, uid: kept.uid, token: '', last: undefined };
}

describe('the ledger of reports', () => {
  it('finds an accepted report that was not kept, once', () => {
    const ledger = createLedger();
    ledger.note(reportOf(ghost(), ['kept']), 'kept');
    assert.equal(ledger.settle([]).length, 1);
    assert.equal(ledger.settle([]).length, 0);
  });

  it('finds a kept report without sender', () => {
    assert.equal(createLedger().settle([kept]).length, 1);
  });

  it('allows the report of a sender who left before the answer to be kept after the count, once', () => {
    const ledger = createLedger();
    ledger.note(reportOf(ghost(), ['kept', 'silence']), 'silence');
    assert.deepEqual(ledger.settle([]), []);
    assert.deepEqual(ledger.settle([kept]), []);
    assert.equal(ledger.settle([kept]).length, 1);
  });

  it('waits for such a report only until the next count', () => {
    const ledger = createLedger();
    ledger.note(reportOf(ghost(), ['kept', 'silence']), 'silence');
    ledger.settle([]);
    ledger.settle([]);
    assert.equal(ledger.settle([kept]).length, 1);
  });
});
