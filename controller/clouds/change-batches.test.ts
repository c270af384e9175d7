import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBatches, sendTogether } from './change-batches.ts';
import { WithheldError } from './permit.ts';

describe('changes in batches', () => {
  it('checks only the permits of the changes in the request, when it is sent', async () => {
    const permitted: string[] = [];
    const sent: string[][] = [];
    const change = createBatches<string, string>('simulated', async (batch) => {
      const together = await sendTogether(batch, async (permitted, permit) => {
        for (const one of permitted) if (one.change === 'refused') one.reject(new Error('refused'));
        permit(1000);
        sent.push(permitted.map((one) => one.change));
      });
      for (const one of together?.permitted ?? []) one.resolve(one.change);
    });
    const ask = (name: string, isAllowed = true) =>
      change(name, () => {
        permitted.push(name);
        if (!isAllowed) throw new WithheldError('Paused', 'paused');
      });
    const results = await Promise.allSettled([ask('a'), ask('refused'), ask('b')]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.deepEqual([permitted, sent], [['a', 'b'], [['a', 'b']]]);
    const next = await Promise.allSettled([ask('c'), ask('paused', false)]);
    assert.deepEqual(
      next.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    );
    assert.deepEqual(sent, [['a', 'b'], ['c']]);
  });

  it('continues after a failed batch, and starts none for callers that have given up', async () => {
    const batches: (readonly string[])[] = [];
    const change = createBatches<string, string>('simulated', async (batch) => {
      batches.push(batch.map((one) => one.change));
      if (batches.length === 1) throw new Error('the cloud is away');
      for (const one of batch) one.resolve(one.change);
    });
    await assert.rejects(
      change('a', () => {}),
      { message: 'the cloud is away' },
    );
    const late = change('late', () => {}, AbortSignal.abort());
    const [other] = await Promise.all([change('b', () => {}), assert.rejects(late, { kind: 'Unavailable' })]);
    assert.equal(other, 'b');
    assert.deepEqual(batches, [['a'], ['b']]);
  });

  it('gives up a batch when all callers have given up, not before', async () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const seen: boolean[] = [];
    const change = createBatches<string, string>('simulated', async (_batch, signal) => {
      one.abort();
      seen.push(signal.aborted);
      other.abort();
      seen.push(signal.aborted);
      throw new Error('given up');
    });
    const both = [change('a', () => {}, one.signal), change('b', () => {}, other.signal)];
    await Promise.allSettled(both);
    assert.deepEqual(seen, [false, true]);
  });
});
