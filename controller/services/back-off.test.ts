import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BackOff, backOffAfter, backOffLeftMs } from './back-off.ts';
import { exampleService, finalized, recorded } from './testing/example-service.ts';

const lasting = { followsMembers: false };
const following = { followsMembers: true };

test('the delay doubles with every failure, up to its limit', () => {
  const service = exampleService();
  let held: BackOff | undefined;
  const delays = Array.from({ length: 9 }, (_, index) => {
    held = backOffAfter(held, service, lasting, 1000);
    assert.equal(held.failures, index + 1);
    return backOffLeftMs(held, service, false, 1000) / 750;
  });
  assert.deepEqual(delays, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
  assert.equal(backOffLeftMs(undefined, service, true, 1000), 0);
});

test('the first failure of another desired state counts as one, and as a correction', () => {
  const [service, corrected] = [exampleService(), exampleService({ spec: { ports: [{ port: 81 }] } })];
  let held = backOffAfter(undefined, service, lasting, 0);
  held = backOffAfter(held, service, lasting, 0);
  assert.deepEqual([held.failures, held.isCorrection], [2, false]);
  held = backOffAfter(held, corrected, lasting, 0);
  assert.deepEqual([held.failures, held.isCorrection], [1, true]);
  held = backOffAfter(held, corrected, lasting, 0);
  assert.deepEqual([held.failures, held.isCorrection], [2, true]);
});

test('the delay that the cloud asks for is observed', () => {
  const held = backOffAfter(undefined, exampleService(), { ...lasting, retryAfterMs: 42_000 }, 0);
  assert.equal(backOffLeftMs(held, exampleService(), false, 2000), 40_000);
});

test('a change of members shortens the delay to a minute, and to no less than the cloud asks for', () => {
  const service = exampleService();
  let held: BackOff | undefined;
  const delays = Array.from({ length: 9 }, () => {
    held = backOffAfter(held, service, following, 1000);
    return backOffLeftMs(held, service, true, 1000);
  });
  assert.deepEqual(delays, [3750, 7500, 15_000, 30_000, 60_000, 60_000, 60_000, 60_000, 60_000]);
  assert.equal(backOffLeftMs(held, service, false, 1000), 225_000);
  held = backOffAfter(held, service, { ...following, retryAfterMs: 90_000 }, 0);
  assert.equal(backOffLeftMs(held, service, true, 0), 90_000);
  held = backOffAfter(held, service, lasting, 0);
  assert.equal(backOffLeftMs(held, service, true, 0), 225_000);
  assert.equal(held.failures, 11);
});

test('our own writes do not end the delay; a change of what the Service asks for does', () => {
  const held = backOffAfter(undefined, exampleService(), lasting, 0);
  for (const ours of [
    { metadata: { ...finalized, ...recorded('s lb-1'), resourceVersion: '101' } },
    { status: { conditions: [{ type: 'CloudLoadBalancer', status: 'False', reason: 'AwaitingCloud' }] } },
    { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } },
  ])
    assert.ok(backOffLeftMs(held, exampleService(ours), false, 0) > 0);
  for (const theirs of [
    { metadata: { deletionTimestamp: '2026-05-01T12:00:00Z' } },
    { spec: { type: 'ClusterIP' } },
    { spec: { ports: [{ port: 81 }] } },
    { metadata: { uid: 'another' } },
    { metadata: { annotations: { 'mooring.dev/allow-address-change': 'true' } } },
  ])
    assert.equal(backOffLeftMs(held, exampleService(theirs), false, 0), 0);
});
