import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { createRetryGate } from './retry-gate.ts';
import { exampleService, finalized, recorded } from './testing/example-service.ts';

const backoff = { firstMs: 5000, maxMs: 300_000 };

test('the delay doubles with every failure, up to its limit, and begins anew after a success', () => {
  const gate = createRetryGate(fakeClock(), backoff);
  const service = exampleService();
  const delays = Array.from({ length: 9 }, (_, index) => {
    assert.equal(gate.failed(service, undefined), index + 1);
    return gate.remainingMs(service) / 750;
  });
  assert.deepEqual(delays, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
  gate.forget(service.uid);
  assert.equal(gate.remainingMs(service), 0);
  assert.equal(gate.failed(service, undefined), 1);
});

test('what the cloud asks for is waited for', () => {
  const gate = createRetryGate(fakeClock(), backoff);
  gate.failed(exampleService(), 42_000);
  assert.equal(gate.remainingMs(exampleService()), 42_000);
});

test('our own writes leave it closed; what the Service asks for opens it', () => {
  const gate = createRetryGate(fakeClock(), backoff);
  gate.failed(exampleService(), undefined);
  for (const ours of [
    { metadata: { ...finalized, ...recorded('s lb-1'), resourceVersion: '101' } },
    { status: { conditions: [{ type: 'CloudLoadBalancer', status: 'False', reason: 'AwaitingCloud' }] } },
    { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } },
  ])
    assert.ok(gate.remainingMs(exampleService(ours)) > 0);
  for (const theirs of [
    { metadata: { deletionTimestamp: '2026-05-01T12:00:00Z' } },
    { spec: { type: 'ClusterIP' } },
    { spec: { ports: [{ port: 81 }] } },
    { metadata: { uid: 'another' } },
    { metadata: { annotations: { 'mooring.dev/allow-address-change': 'true' } } },
  ])
    assert.equal(gate.remainingMs(exampleService(theirs)), 0);
});
