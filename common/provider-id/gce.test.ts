import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gce } from './gce.ts';

test('accepts exactly three segments', () => {
  const parts = { instanceId: 'prod-1234/europe-west1-b/node-7', zone: 'europe-west1-b', region: 'europe-west1' };
  assert.deepEqual(gce.parse('gce://prod-1234/europe-west1-b/node-7'), parts);
  assert.deepEqual(gce.parse('gce://example.com:prod/us-central1-f/n')?.instanceId, 'example.com:prod/us-central1-f/n');
  for (const text of [
    'gce://p/z',
    'gce://p/z/n/more',
    'gce:///z/n',
    'gce://p/z/',
    'gce://p/z/.x',
    'p/z/n',
    'aws://p/z/n',
    'gce://p/z/a b',
  ]) {
    assert.equal(gce.parse(text), undefined, text);
  }
});

test('a domain after the name is cut', () => {
  assert.equal(gce.parse('gce://p/z-a/n.c.p.internal')?.instanceId, 'p/z-a/n');
});

test('prints what it parses', () => {
  const text = 'gce://prod-1234/europe-west1-b/node-7';
  assert.equal(gce.print(gce.parse(text)!), text);
  assert.throws(() => gce.print({ instanceId: 'node-7' }), /instanceId: "node-7", expected project\/zone\/name/);
});
