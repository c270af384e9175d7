import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Instance } from '../common/instance.ts';
import { maxReportBytes } from '../common/report.ts';
import type { Observation } from './observe.ts';
import { composeReport } from './report.ts';

const identity = { agentVersion: '0.1.0', agentId: 'a1', bootId: 'b1', smbiosUuid: 'ec2b' };
const instance: Instance = {
  cloud: 'aws',
  id: 'i-1',
  providerID: 'aws:///a/i-1',
  incarnation: 'i-1',
  smbiosUuid: 'ec2c',
  addresses: [{ type: 'InternalIP', address: '10.0.0.7' }],
};
const healthy: Observation = { instance, notices: [], metadata: { ok: true, ageSeconds: 0, failures: 0 } };
const moment = { sequence: 4, nowMs: Date.parse('2026-01-01T00:00:00Z'), leaving: false };

test('composes a report of the sender, the time and the instance, without unknown fields', () => {
  assert.deepEqual(composeReport(identity, healthy, moment), {
    version: 1,
    agentVersion: '0.1.0',
    agentId: 'a1',
    bootId: 'b1',
    smbiosUuid: 'ec2b',
    sequence: 4,
    observedAt: '2026-01-01T00:00:00.000Z',
    instance: {
      cloud: 'aws',
      id: 'i-1',
      providerID: 'aws:///a/i-1',
      incarnation: 'i-1',
      addresses: [{ type: 'InternalIP', address: '10.0.0.7' }],
    },
    metadata: { ok: true, ageSeconds: 0, failures: 0 },
  });
});

test('reports the error, cut to 300 characters, in place of an instance before the first read', () => {
  const metadata = { ok: false, ageSeconds: 0, failures: 2, error: 'x'.repeat(1000) };
  const report = composeReport(identity, { notices: [], metadata }, { ...moment, leaving: true });
  assert.equal('instance' in report, false);
  assert.equal(report.metadata.error?.length, 300);
  assert.equal(report.leaving, true);
});

test('notices are carried, few and short', () => {
  const notices = Array.from({ length: 20 }, () => ({ kind: 'maintenance' as const, message: 'm'.repeat(1000) }));
  const report = composeReport(identity, { ...healthy, notices }, moment);
  assert.equal(report.notices?.length, 10);
  assert.equal(report.notices?.[0]?.message?.length, 300);
});

test('a list of addresses that does not fit loses its tail, never its head', () => {
  const addresses = Array.from({ length: 2000 }, (_, index) => ({
    type: 'InternalIP' as const,
    address: `10.${index >> 8}.${index & 255}.1`,
  }));
  const report = composeReport(identity, { ...healthy, instance: { ...instance, addresses } }, moment);
  const bytes = Buffer.byteLength(JSON.stringify(report));
  assert.ok(bytes <= maxReportBytes && bytes > maxReportBytes - 200, `${bytes} bytes`);
  const kept = report.instance?.addresses ?? [];
  assert.deepEqual(kept, addresses.slice(0, kept.length));
});

test('shows texts of a metadata service as one line of visible text', () => {
  const notices = [{ kind: 'maintenance' as const, message: 'now\n\u001b[2J\u202e' }];
  const metadata = { ok: false, ageSeconds: 0, failures: 1, error: 'no\r\nanswer' };
  const report = composeReport(identity, { notices, metadata }, moment);
  assert.equal(report.notices?.[0]?.message, 'now\\u{a}\\u{1b}[2J\\u{202e}');
  assert.equal(report.metadata.error, 'no\\u{d}\\u{a}answer');
});
