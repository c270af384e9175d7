import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRecord, printRecord } from './record.ts';

test('a record has the scope and the id, or pending', () => {
  assert.equal(printRecord({ scope: 'http://cloud/p/r', id: 'lb-1' }), 'http://cloud/p/r lb-1');
  assert.equal(printRecord({ scope: 'http://cloud/p/r', id: undefined }), 'http://cloud/p/r pending');
  assert.deepEqual(parseRecord('http://cloud/p/r lb-1'), { scope: 'http://cloud/p/r', id: 'lb-1' });
  assert.deepEqual(parseRecord('http://cloud/p/r pending'), { scope: 'http://cloud/p/r', id: undefined });
});

test('a record tells that the load balancer was adopted and does not carry our tags yet', () => {
  const record = { scope: 'http://cloud/p/r', id: 'lb-1', adopted: ['203.0.113.5', '2001:db8::5'] };
  assert.equal(printRecord(record), 'http://cloud/p/r lb-1 adopted:203.0.113.5,2001:db8::5');
  assert.deepEqual(parseRecord('http://cloud/p/r lb-1 adopted:203.0.113.5,2001:db8::5'), record);
});

test('an invalid record counts as none', () => {
  for (const text of [
    undefined,
    '',
    'lb-1',
    'a b c',
    'a b adopted:1 c',
    'a b adopted',
    'a b adopted:',
    'a b adopted:1,',
    'a b ',
    ' lb-1',
    'scope ',
  ])
    assert.equal(parseRecord(text), undefined);
});
