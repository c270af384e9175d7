import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createKeyQueue, type KeyQueue, type Priority } from './key-queue.ts';

function takeAll(queue: KeyQueue, now: number): string[] {
  const taken: string[] = [];
  for (let next = queue.take(now); next; next = queue.take(now)) taken.push(next.key);
  return taken;
}

describe('the queue of keys', () => {
  it('returns keys in the order of their due times', () => {
    const queue = createKeyQueue();
    queue.add('c', 3, 'normal');
    queue.add('a', 1, 'normal');
    queue.add('b', 1, 'normal');
    assert.deepEqual(takeAll(queue, 2), ['a', 'b']);
    assert.equal(queue.nextDueAt(2), 3);
    assert.deepEqual(takeAll(queue, 3), ['c']);
    assert.equal(queue.nextDueAt(3), undefined);
  });

  it('holds a key once, at the earlier time and the higher priority', () => {
    const queue = createKeyQueue();
    queue.add('a', 10, 'low');
    queue.add('a', 5, 'normal');
    queue.add('a', 20, 'high');
    queue.add('a', 7, 'low');
    assert.equal(queue.size, 1);
    assert.equal(queue.nextDueAt(0), 5);
    assert.deepEqual(queue.take(5), { key: 'a', priority: 'high', dueAt: 5 });
    assert.equal(queue.take(100), undefined);
  });

  it('lets changes overtake routine work, also a waiting routine key that changes', () => {
    const queue = createKeyQueue();
    for (const key of ['r1', 'r2', 'r3']) queue.add(key, 0, 'low');
    queue.add('n1', 1, 'normal');
    queue.add('h1', 2, 'high');
    queue.add('r3', 2, 'high');
    assert.deepEqual(takeAll(queue, 2), ['r3', 'h1', 'n1', 'r1', 'r2']);
  });

  it('never starves routine work', () => {
    const queue = createKeyQueue();
    queue.add('routine', 0, 'low');
    const taken: string[] = [];
    for (let i = 0; i < 40; i += 1) {
      queue.add(`urgent-${i}`, 1, 'high');
      taken.push(queue.take(1)!.key);
    }
    assert.ok(taken.indexOf('routine') > 10 && taken.indexOf('routine') < 20, String(taken.indexOf('routine')));
  });

  it('never starves routine work behind two higher priorities', () => {
    const queue = createKeyQueue();
    queue.add('routine', 0, 'low');
    const taken: string[] = [];
    for (let i = 0; i < 80; i += 1) {
      queue.add(`urgent-${i}`, 1, 'high');
      queue.add(`change-${i}`, 1, 'normal');
      taken.push(queue.take(1)!.key);
    }
    assert.ok(taken.includes('routine'), 'routine work');
    assert.ok(taken.includes('change-0'), 'changes');
    assert.ok(taken.filter((key) => key.startsWith('urgent')).length > 70);
  });

  it('keeps one entry for each key, however often it is moved', () => {
    const queue = createKeyQueue();
    // A stale entry for each move would keep them all until their time comes.
    for (let i = 0; i < 200_000; i += 1) queue.add(`k${i % 10}`, 1e9 - i, 'normal');
    assert.equal(queue.size, 10);
    assert.equal(takeAll(queue, 1e9).length, 10);
  });

  it('returns the same keys as a sorted list', () => {
    const priority = fc.constantFrom<Priority>('high', 'normal', 'low');
    const add = fc.record({
      kind: fc.constant('add' as const),
      key: fc.constantFrom(...'abcdefgh'),
      at: fc.nat({ max: 30 }),
      priority,
    });
    const take = fc.record({ kind: fc.constant('take' as const), step: fc.nat({ max: 6 }) });
    fc.assert(
      fc.property(fc.array(fc.oneof(add, add, take), { maxLength: 60 }), (steps) => {
        const queue = createKeyQueue();
        const model = new Map<string, { at: number; rank: number; order: number }>();
        let now = 0;
        let order = 0;
        for (const step of steps) {
          if (step.kind === 'add') {
            const rank = ['high', 'normal', 'low'].indexOf(step.priority);
            const known = model.get(step.key);
            if (known) {
              known.at = Math.min(known.at, step.at);
              known.rank = Math.min(known.rank, rank);
            } else model.set(step.key, { at: step.at, rank, order: order++ });
            queue.add(step.key, step.at, step.priority);
          } else {
            now += step.step;
            const due = [...model].filter(([, item]) => item.at <= now);
            due.sort(([, a], [, b]) => a.rank - b.rank || a.at - b.at || a.order - b.order);
            assert.equal(queue.due(now), due.length);
            const first = due[0];
            assert.equal(queue.take(now)?.key, first?.[0]);
            if (first) model.delete(first[0]);
          }
          const later = [...model.values()].filter((item) => item.at > now).map((item) => item.at);
          assert.equal(queue.nextDueAt(now), later.length > 0 ? Math.min(...later) : undefined);
          assert.equal(queue.size, model.size);
        }
      }),
      { numRuns: 300 },
    );
  });
});
