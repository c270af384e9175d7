import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../common/process/log.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { annotations as known } from '../../common/well-known.ts';
import { isKubeError, type KubeCall } from './api.ts';
import { createSoleLeader } from './sole-leader.ts';
import { memoryLeases, type Weather } from './testing/memory-leases.ts';
import { replicaClock } from './testing/replica-clock.ts';

function setUp() {
  const time = fakeClock();
  const leases = memoryLeases(time);
  const clock = replicaClock(time);
  const network: { weather: (call: KubeCall) => Weather } = { weather: () => ({}) };
  const history: string[] = [];
  const stop = new AbortController();
  const leader = createSoleLeader({
    api: leases.api(clock, (call) => network.weather(call)),
    clock,
    random: () => 0.5,
    log: silentLog,
    namespace: 'kube-system',
    name: 'cloud-controller-manager',
    annotations: { [known.reportUrl]: 'https://me' },
    onStartedLeading: (signal) => {
      history.push('started');
      signal.addEventListener('abort', () => history.push('aborted'));
    },
    onStoppedLeading: (reason) => {
      history.push(`stopped: ${reason}`);
    },
  });
  return { time, leases, network, history, stop, leader };
}

describe('the sole leader', () => {
  it('leads for ever and renews nothing', async () => {
    const { time, leases, leader, history, stop } = setUp();
    const done = leader.run(stop.signal);
    await time.advance(0);
    assert.equal(leader.timeLeftMs(), Number.POSITIVE_INFINITY);
    assert.equal(leader.leaderReportUrl(), 'https://me');
    const calls = leases.calls.length;
    await time.advance(3_600_000);
    assert.equal(leases.calls.length, calls);
    stop.abort();
    await done;
    assert.equal(leader.leading, false);
    assert.equal(leader.timeLeftMs(), 0);
    assert.deepEqual(history, ['started', 'aborted', 'stopped: stopping']);
  });

  it('waits to lead until it knows the annotations of the Lease', async () => {
    const { time, leases, network, leader, stop } = setUp();
    leases.lease = {
      metadata: {
        name: 'cloud-controller-manager',
        uid: 'u',
        resourceVersion: '0',
        annotations: { [known.deletionLedger]: '[7]' },
      },
      spec: { holderIdentity: 'old-ccm', leaseDurationSeconds: 15, leaseTransitions: 3 },
    };
    network.weather = () => ({ lost: 'request' });
    const done = leader.run(stop.signal);
    await time.advance(20_000);
    assert.equal(leader.leading, false);
    network.weather = () => ({});
    await time.advance(20_000);
    assert.equal(leader.leading, true);
    assert.equal(leader.annotations()[known.deletionLedger], '[7]');
    assert.deepEqual(leases.lease!.spec, { holderIdentity: 'old-ccm', leaseDurationSeconds: 15, leaseTransitions: 3 });
    await leader.release();
    await done;
  });

  it('annotates beside others, and refuses when it does not lead', async () => {
    const { time, leases, leader, history, stop } = setUp();
    await assert.rejects(leader.annotate({ x: '1' }), (error) => isKubeError(error) && error.reason === 'Fenced');
    const done = leader.run(stop.signal);
    await time.advance(0);
    const { metadata, spec } = leases.lease!;
    leases.lease = { metadata: { ...metadata, annotations: { ...metadata.annotations, theirs: 'kept' } }, spec };
    await leader.annotate({ [known.deletionLedger]: '[]' });
    assert.deepEqual(leases.lease!.metadata.annotations, {
      [known.reportUrl]: 'https://me',
      theirs: 'kept',
      [known.deletionLedger]: '[]',
    });
    await leader.release();
    await done;
    assert.deepEqual(history, ['started', 'aborted', 'stopped: released']);
  });
});
