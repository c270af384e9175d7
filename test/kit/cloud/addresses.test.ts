import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import { addressAllocator } from './addresses.ts';

test('seventy thousand interfaces of two regions get valid addresses of their own, IPv6 in its canonical form', () => {
  const allocator = addressAllocator();
  const request = { interfaceCount: 1, external: true, dualStack: true };
  const seen = new Set<string>();
  let count = 0;
  for (let number = 0; number < 70_000; number += 1) {
    const [nic] = allocator.allocate(number % 2, request);
    for (const address of [...nic!.internal, ...nic!.external]) {
      const canonical = isIP(address) === 6 ? new URL(`http://[${address}]`).hostname : address;
      assert.ok(isIP(address) !== 0 && (canonical === address || canonical === `[${address}]`), address);
      seen.add(address);
      count += 1;
    }
  }
  assert.equal(seen.size, count);
});
