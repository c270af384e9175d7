import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LeaderTask, runAll } from './leader-task.ts';

function task(name: string, lead: (signal: AbortSignal) => Promise<void>): LeaderTask {
  return { lead, progress: () => new Map([[name, 1]]) };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

test('a failed task ends the others before the failure is thrown', async () => {
  const ended: string[] = [];
  const steady = task('steady', async (signal) => {
    await untilAborted(signal);
    ended.push('steady');
  });
  const failing = task('failing', async () => {
    throw new Error('cannot begin');
  });
  await assert.rejects(runAll([steady, failing]).lead(new AbortController().signal), /cannot begin/);
  assert.deepEqual(ended, ['steady']);
});

test('all tasks end with the signal and report their progress', async () => {
  const tasks = runAll([task('a', untilAborted), task('b', untilAborted)]);
  const stop = new AbortController();
  const leading = tasks.lead(stop.signal);
  assert.deepEqual([...tasks.progress().keys()], ['a', 'b']);
  stop.abort();
  await leading;
});
