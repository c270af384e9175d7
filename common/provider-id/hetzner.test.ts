import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hetzner } from './hetzner.ts';

test('a number with its scheme, and nothing else', () => {
  assert.deepEqual(hetzner.parse('hcloud://42123456'), { instanceId: '42123456' });
  assert.equal(hetzner.print({ instanceId: '42123456' }), 'hcloud://42123456');
  for (const text of ['42123456', 'hcloud://', 'hcloud://042', 'hcloud://4 2', 'hcloud:///42', 'hcloud://n1']) {
    assert.equal(hetzner.parse(text), undefined, text);
  }
  assert.throws(() => hetzner.print({ instanceId: 'node-7' }), /"node-7", expected a server's number/);
});

test('dedicated servers are not of this cloud', () => {
  assert.equal(hetzner.parse('hrobot://321987'), undefined);
  assert.equal(hetzner.parse('hcloud://bm-321987'), undefined);
});
