import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRecord, printRecord } from './record.ts';

test('a record says the scope and the id, or that there is none yet', () => {
  assert.equal(printRecord({ scope: 'http://cloud/p/r', id: 'lb-1' }), 'http://cloud/p/r lb-1');
  assert.equal(printRecord({ scope: 'http://cloud/p/r', id: undefined }), 'http://cloud/p/r pending');
  assert.deepEqual(parseRecord('http://cloud/p/r lb-1'), { scope: 'http://cloud/p/r', id: 'lb-1' });
  assert.deepEqual(parseRecord('http://cloud/p/r pending'), { scope: 'http://cloud/p/r', id: undefined });
});

test('what is no record counts as none', () => {
  for (const text of [undefined, '', 'lb-1', 'a b c', ' lb-1', 'scope ']) assert.equal(parseRecord(text), undefined);
});
