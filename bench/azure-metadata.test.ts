import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedOf } from './azure-metadata.ts';

test('reads the VM from the path, or from the name for the proxy, and nothing from other requests', () => {
  const path = '/metadata/instance?api-version=2021-10-01&format=json';
  const basic = (text: string) => ({ 'proxy-authorization': `Basic ${Buffer.from(text).toString('base64')}` });
  assert.deepEqual(askedOf({ path: `/bench-7${path}`, headers: {} }), { vm: 'bench-7', path });
  const proxied = `http://169.254.169.254${path}`;
  assert.deepEqual(askedOf({ path: proxied, headers: basic('bench-7:') }), { vm: 'bench-7', path });
  assert.equal(askedOf({ path: proxied, headers: {} }), undefined);
  assert.equal(askedOf({ path: proxied, headers: basic('') }), undefined);
  assert.equal(askedOf({ path: 'http://example.com/metadata/instance', headers: basic('bench-7:') }), undefined);
  assert.equal(askedOf({ path: '/', headers: {} }), undefined);
});
