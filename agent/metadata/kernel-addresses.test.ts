import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kernelAddresses } from './kernel-addresses.ts';

test('keeps the oldest address of each family, and no virtual IP that came later', () => {
  // In the order of Linux, where 10.0.0.9 and 2001:db8::99 were added to a running machine.
  const addresses = ['10.0.0.1', '10.0.0.9', '2001:db8::99', '2001:db8::1', 'fe80::1', '169.254.0.2'];
  assert.deepEqual(kernelAddresses([{ name: 'eth0', mac: '', addresses }]), ['10.0.0.1', '2001:db8::1']);
});
