import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerFields } from '../answer-fields.ts';
import type { JsonApi } from '../json-api.ts';
import { createMachineReader } from '../machines.ts';
import { createInstances } from './instances.ts';

function item(id: string, change: Record<string, unknown> = {}) {
  const names = { hostname: id, internalDns: [], externalDns: [], interfaces: [], tags: {} };
  return {
    id,
    name: id,
    incarnation: 'x',
    region: 'r',
    zone: 'z',
    type: 't',
    power: 'running',
    smbiosUuid: 'u',
    ...names,
    ...change,
  };
}

/** A reader of a cloud that gives these answers, whatever is asked. */
function readerOf(answers: { items?: unknown[]; one?: unknown }) {
  const answer = 'one' in answers ? answers.one : answers;
  const api: JsonApi = {
    send: async () => answer,
    call: async () => answerFields(answer, { cloud: 'simulated', operation: 'instances' }),
  };
  return createMachineReader('simulated', [createInstances(api, 'r')]);
}

function short(answers: ReadonlyMap<string, { state: string; error?: unknown }>): Record<string, string> {
  const kindOf = (error: unknown) => (error as { kind?: string } | undefined)?.kind;
  return Object.fromEntries([...answers].map(([id, { state, error }]) => [id, kindOf(error) ?? state]));
}

test('an item without id leaves every instance that it may be unknown instead of missing', async () => {
  const answers = await readerOf({ items: [item('a'), item('b', { id: 7 })] }).list(['a', 'b', 'c']);
  assert.deepEqual(short(answers), { a: 'found', b: 'Invalid', c: 'Invalid' });
});

test('a malformed item affects only itself', async () => {
  const answers = await readerOf({ items: [item('a', { zone: null }), item('b')] }).list(['a', 'b', 'c']);
  assert.deepEqual(short(answers), { a: 'Invalid', b: 'found', c: 'missing' });
});

test('instances that were not requested are ignored', async () => {
  const answers = await readerOf({ items: [item('z')] }).list(['a']);
  assert.deepEqual(short(answers), { a: 'missing' });
});

test('an answer about another id is ignored', async () => {
  assert.deepEqual(short(await readerOf({ one: item('z') }).get(['a'])), { a: 'Invalid' });
  assert.deepEqual(short(await readerOf({ one: item('z', { power: 'terminated' }) }).get(['a'])), { a: 'Invalid' });
  assert.deepEqual(short(await readerOf({ one: null }).get(['a'])), { a: 'Invalid' });
});

test('a name search that returns other names finds nothing', async () => {
  const answers = await readerOf({ items: [item('id-1', { name: 'ab' })] }).byName(['a']);
  assert.deepEqual(short(answers), { a: 'NotFound' });
});
