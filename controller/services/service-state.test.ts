import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { listed } from './observation.ts';
import type { LoadBalancerReason } from './reasons.ts';
import { createServiceStates } from './service-state.ts';
import { exampleService } from './testing/example-service.ts';

function setUp() {
  const counts: Partial<Record<string, number>> = {};
  const states = createServiceStates({ set: ({ reason }, value) => Object.assign(counts, { [reason]: value }) });
  return { states, counts };
}

const service = exampleService();
const { uid } = service;

describe('the state of a Service', () => {
  it('drops all state of the work on a load balancer when the work has ended', () => {
    const { states, counts } = setUp();
    const blank = JSON.stringify(states.of('another'));
    const state = states.of(uid);
    state.backOff = { fingerprint: '', untilMs: 1, membersFromMs: 1, failures: 1, isCorrection: false };
    state.work = { kind: 'ensure', startedMs: 0, cause: 'service' };
    state.confirmed = true;
    state.observations.set('scope', { observation: listed(undefined, 0), stamp: 1 });
    states.setReason(uid, 'AwaitingCloud');
    states.forget(uid);
    assert.equal(states.get(uid), undefined);
    assert.equal(JSON.stringify({ ...states.of(uid), uid: 'another' }), blank);
    assert.deepEqual(counts, { AwaitingCloud: 0 });
  });

  it('our own writes are still recognised after the work has ended', () => {
    const { states } = setUp();
    const written = { service, atMs: 5 };
    Object.assign(states.of(uid), { written, released: true, confirmed: true });
    states.forget(uid);
    const { released, confirmed } = states.of(uid);
    assert.deepEqual([states.of(uid).written, released, confirmed], [written, true, false]);
  });

  it('a Service that is gone stays until nothing is left of it', () => {
    const { states } = setUp();
    states.setGone(uid, service);
    states.forget(uid);
    states.prune(() => false);
    assert.deepEqual(states.gone(), [service]);
    states.setGone(uid, undefined);
    states.prune(() => false);
    assert.deepEqual([states.gone(), states.get(uid)], [[], undefined]);
  });

  it('drops a state without a Service together with its last load balancer', () => {
    const { states, counts } = setUp();
    states.of('lives');
    states.of('held').observations.set('scope', { observation: listed(undefined, 0), stamp: 1 });
    states.setReason('neither', 'Deleting');
    states.prune((one) => one === 'lives');
    assert.deepEqual(
      [...states.values()].map((one) => one.uid),
      ['lives', 'held'],
    );
    assert.deepEqual(counts, { Deleting: 0 });
  });

  it('every Service is counted under one reason', () => {
    const { states, counts } = setUp();
    const note = (one: string, reason: LoadBalancerReason) => states.setReason(one, reason);
    note('a', 'Provisioning');
    note('b', 'Provisioning');
    note('a', 'Ensured');
    note('a', 'Ensured');
    assert.deepEqual(counts, { Provisioning: 1, Ensured: 1 });
  });
});
