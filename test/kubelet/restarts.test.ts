import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  noRestarts,
  parseRestarts,
  pauseAfter,
  printRestarts,
  reasonToWait,
} from '../../deploy/kubelet/reregister/restarts.ts';
import { limits } from './harness/reregister-examples.ts';

describe("the time of a kubelet's restart", () => {
  const running = { active: true, activeForMs: 1e9 };

  test('waits while a restart would be early or within the pause after the last one, and only then', () => {
    fc.assert(
      fc.property(
        fc.nat(10_000_000),
        fc.boolean(),
        fc.nat(1_000_000),
        fc.nat(40),
        fc.nat(10_000_000),
        (uptimeMs, active, activeForMs, count, lastAtMs) => {
          const reason = reasonToWait(uptimeMs, { active, activeForMs }, { count, lastAtMs }, limits);
          const early = uptimeMs < 300_000 || !active || activeForMs < 300_000;
          const soon = count > 0 && uptimeMs - lastAtMs < pauseAfter(count, limits);
          assert.equal(reason !== undefined, early || soon);
        },
      ),
    );
  });

  test('follows a pause that doubles from five minutes to an hour', () => {
    const minutes = [1, 2, 3, 4, 5, 6, 1000].map((count) => pauseAfter(count, limits) / 60_000);
    assert.deepEqual(minutes, [5, 10, 20, 40, 60, 60, 60]);
    assert.equal(reasonToWait(400_000, running, noRestarts, limits), undefined);
  });

  test('ignores restarts of an earlier boot and a broken record', () => {
    const text = printRestarts({ count: 3, lastAtMs: 7 }, 'boot-1');
    assert.deepEqual(parseRestarts(text, 'boot-1'), { count: 3, lastAtMs: 7 });
    assert.deepEqual(parseRestarts(text, 'boot-2'), noRestarts);
    for (const broken of ['', '{', 'null', '{}', '{"bootId":"boot-1","count":-1,"lastAtMs":0}', '{"bootId":"boot-1"}'])
      assert.throws(() => parseRestarts(broken, 'boot-1'));
  });
});
