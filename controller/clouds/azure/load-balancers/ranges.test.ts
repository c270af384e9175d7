import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { aggregated } from './ranges.ts';

describe('source ranges of a security rule', () => {
  it('merges source ranges as the classic controller does', () => {
    assert.deepEqual(aggregated(['192.168.0.1/32', '192.168.0.0/32']), ['192.168.0.0/31']);
    assert.deepEqual(aggregated(['192.168.0.0/24', '192.168.0.1/32']), ['192.168.0.0/24']);
    assert.deepEqual(aggregated(['10.0.1.0/24', '10.0.2.0/24']), ['10.0.1.0/24', '10.0.2.0/24']);
    assert.deepEqual(aggregated(['2001:db8:8000::/33', '2001:db8::/33', '2001:db8::1/128']), ['2001:db8::/32']);
    assert.deepEqual(aggregated(['::/0', 'fd00::/8']), ['::/0']);
    assert.deepEqual(aggregated(['0.0.0.0/1', '128.0.0.0/1', '10.0.0.0/8']), ['0.0.0.0/0']);
  });

  it('hold the same addresses as before, each once', () => {
    // Sixteen addresses, so that ranges meet.
    const range = fc.tuple(fc.nat(15), fc.integer({ min: 28, max: 32 })).map(([at, bits]) => {
      const start = at - (at % 2 ** (32 - bits));
      return { start, size: 2 ** (32 - bits), text: `203.0.113.${start}/${bits}` };
    });
    fc.assert(
      fc.property(fc.array(range), (ranges) => {
        const merged = aggregated(ranges.map(({ text }) => text));
        const held = merged.flatMap((text) => {
          const [, start, bits] = /^203\.0\.113\.(\d+)\/(\d+)$/.exec(text)!.map(Number);
          return Array.from({ length: 2 ** (32 - bits!) }, (_, at) => start! + at);
        });
        const expected = new Set(
          ranges.flatMap(({ start, size }) => Array.from({ length: size }, (_, at) => start + at)),
        );
        assert.deepEqual(
          held,
          [...expected].sort((a, b) => a - b),
        );
      }),
    );
  });
});
