import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNotes, printNotes } from './balancers/notes.ts';
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

test('a record tells for which class of the Service, where earlier versions ignore it', () => {
  const record = { scope: 'http://cloud/p/r', id: 'lb-1', loadBalancerClass: 'example.com/ours' };
  assert.equal(printRecord(record), 'http://cloud/p/r lb-1 notes:class:example.com/ours');
  const noted = { ...record, notes: 'ids:a/b=1;tried:c/d', adopted: ['203.0.113.5'] };
  const text = 'http://cloud/p/r lb-1 adopted:203.0.113.5 notes:ids:a/b=1;tried:c/d;class:example.com/ours';
  assert.equal(printRecord(noted), text);
  for (const each of [record, noted]) assert.deepEqual(parseRecord(printRecord(each)), each);
  // What an earlier version takes for notes.
  const ids = { 'load balancer/main': 'lb-1' };
  const notes = printNotes({ ids, tried: [] });
  assert.deepEqual(parseNotes(`${notes};class:example.com/ours`), { ids, tried: [] });
  assert.deepEqual(parseNotes('class:example.com/ours'), { ids: {}, tried: [] });
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
    'a b notes:',
    'a b class:x',
    'a b notes:class:',
    'a b notes:n;class:',
    ' lb-1',
    'scope ',
  ])
    assert.equal(parseRecord(text), undefined);
});
