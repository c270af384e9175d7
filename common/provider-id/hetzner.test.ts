import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hetzner } from './hetzner.ts';

test('a server of Hetzner Cloud is a number after hcloud://', () => {
  assert.deepEqual(hetzner.parse('hcloud://42123456'), { instanceId: '42123456' });
  assert.equal(hetzner.print({ instanceId: '42123456' }), 'hcloud://42123456');
});

test('a dedicated server is read in the form of an old fork, too, and written as hrobot://', () => {
  for (const text of ['hrobot://321987', 'hcloud://bm-321987']) {
    assert.deepEqual(hetzner.parse(text), { instanceId: 'bm-321987' }, text);
  }
  assert.equal(hetzner.print({ instanceId: 'bm-321987' }), 'hrobot://321987');
});

test('other texts are no providerIDs of Hetzner', () => {
  const texts = [
    '42123456',
    'hcloud://',
    'hcloud://042',
    'hcloud://4 2',
    'hcloud:///42',
    'hcloud://n1',
    'hrobot://bm-1',
  ];
  for (const text of [...texts, 'hrobot://', 'hrobot://01', 'hcloud://bm-', 'nocloud://42']) {
    assert.equal(hetzner.parse(text), undefined, text);
  }
  assert.throws(() => hetzner.print({ instanceId: 'node-7' }), /"node-7", expected a server's number/);
});
