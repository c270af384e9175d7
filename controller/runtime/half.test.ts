import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Half, together } from './half.ts';

function half(name: string, lead: (signal: AbortSignal) => Promise<void>): Half {
  return { lead, progress: () => new Map([[name, 1]]) };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

test('a half that fails ends the others before the failure is told', async () => {
  const ended: string[] = [];
  const steady = half('steady', async (signal) => {
    await untilAborted(signal);
    ended.push('steady');
  });
  const failing = half('failing', async () => {
    throw new Error('cannot begin');
  });
  await assert.rejects(together([steady, failing]).lead(new AbortController().signal), /cannot begin/);
  assert.deepEqual(ended, ['steady']);
});

test('all halves end with the signal, and tell their progress together', async () => {
  const halves = together([half('a', untilAborted), half('b', untilAborted)]);
  const stop = new AbortController();
  const leading = halves.lead(stop.signal);
  assert.deepEqual([...halves.progress().keys()], ['a', 'b']);
  stop.abort();
  await leading;
});
