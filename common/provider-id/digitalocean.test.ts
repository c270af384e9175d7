import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digitalocean } from './digitalocean.ts';

test('a number with its scheme, and nothing else', () => {
  assert.deepEqual(digitalocean.parse('digitalocean://401234567'), { instanceId: '401234567' });
  assert.equal(digitalocean.print({ instanceId: '401234567' }), 'digitalocean://401234567');
  for (const text of ['401234567', 'digitalocean://', 'digitalocean://x', 'digitalocean:///1', 'hcloud://401234567']) {
    assert.equal(digitalocean.parse(text), undefined, text);
  }
  assert.throws(() => digitalocean.print({ instanceId: 'n' }), /"n", expected a droplet's number/);
});
