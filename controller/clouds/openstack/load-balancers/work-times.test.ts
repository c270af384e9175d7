import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../../../common/testing/fake-clock.ts';
import { readLoadBalancer } from './answer.ts';
import { createWorkTimes } from './work-times.ts';

const pending = readLoadBalancer({ id: 'lb', provisioning_status: 'PENDING_UPDATE', provider: 'amphora' }, 'test');

describe('the work of Octavia on a load balancer', () => {
  it('is timed from our change on, however often it is looked at', async () => {
    const clock = fakeClock();
    const times = createWorkTimes(clock);
    times.begun(pending, 'update members');
    for (let look = 1; look <= 5; look += 1) {
      await clock.advance(300_000);
      assert.equal(times.timed(pending).pendingMs, look * 300_000);
    }
    assert.notEqual(times.begunAtMs('lb'), undefined);
  });

  it('is other work when nobody has looked for long', async () => {
    const clock = fakeClock();
    const times = createWorkTimes(clock);
    times.begun(pending, 'update members');
    await clock.advance(3_600_000);
    assert.equal(times.timed(pending).pendingMs, 0);
    assert.equal(times.begunAtMs('lb'), undefined);
  });

  it('is forgotten of those that went unseen', async () => {
    const clock = fakeClock();
    const times = createWorkTimes(clock);
    times.begun({ ...pending, id: 'gone' }, 'delete load balancer');
    await clock.advance(3_600_000);
    times.timed(pending);
    assert.equal(times.begunAtMs('gone'), undefined);
  });
});
