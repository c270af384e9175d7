import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../../../common/testing/fake-clock.ts';
import { type Carrier, createCarriers } from './carriers.ts';

const carrier: Carrier = { name: 'web', id: 'arn:web', hostname: 'web.example.com', groups: ['sg-1'], tags: {} };

/** Carriers whose list of network load balancers answers when it is told to. */
function listedLate() {
  const clock = fakeClock();
  let answer = (): void => assert.fail('no list is being read');
  const network = {
    carriers: () =>
      new Promise<readonly Carrier[]>((resolve) => {
        answer = () => resolve([{ ...carrier, tags: undefined }]);
      }),
  };
  const carriers = createCarriers(clock, [{ carriers: async () => [] }, network]);
  carriers.take(carrier);
  async function list(meanwhile: () => Promise<void> | void = () => {}): Promise<void> {
    const read = carriers.read({ urgency: 'change' });
    await meanwhile();
    answer();
    await read;
  }
  return { carriers, clock, list };
}

describe('the carriers of security groups', () => {
  it('returns the carriers that the lists show', async () => {
    const { carriers, list } = listedLate();
    assert.equal(carriers.of('sg-1'), undefined);
    await list();
    assert.deepEqual(carriers.of('sg-1'), ['web']);
  });

  it('lack a load balancer that was deleted while the list was read, however long that takes', async () => {
    for (const tookMs of [0, 120_000]) {
      const { carriers, clock, list } = listedLate();
      await list(() => {
        carriers.removed(carrier);
        return clock.advance(tookMs);
      });
      assert.deepEqual(carriers.of('sg-1'), [], `${tookMs} ms`);
    }
  });

  it('lack one that was deleted before the list of its type had come', async () => {
    const { carriers, list } = listedLate();
    carriers.seen({ names: ['web'], types: new Set(['network']) }, [], carriers.nowMs());
    await list(() => carriers.removed(carrier));
    assert.deepEqual(carriers.of('sg-1'), []);
  });

  it('lack one that was deleted while a Service was read', async () => {
    const { carriers, list } = listedLate();
    const beganAtMs = carriers.nowMs();
    await list(() => carriers.removed(carrier));
    carriers.seen({ names: ['web'], types: new Set(['network']) }, [carrier], beganAtMs);
    assert.deepEqual(carriers.of('sg-1'), []);
  });

  it('returns a removed carrier again when a read that begins a minute later shows it', async () => {
    const { carriers, clock, list } = listedLate();
    carriers.removed(carrier);
    await list();
    assert.deepEqual(carriers.of('sg-1'), []);
    await clock.advance(60_000);
    await list();
    assert.deepEqual(carriers.of('sg-1'), ['web']);
  });

  it('returns a removed carrier again when our own call made it', async () => {
    const { carriers, list } = listedLate();
    carriers.removed(carrier);
    carriers.take(carrier);
    await list();
    assert.deepEqual(carriers.of('sg-1'), ['web']);
  });
});
