import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Cidr, cidrAt, overlap, parseCidr } from '../model/cidr.ts';
import { createCidrSet } from './cidr-set.ts';

function must(text: string): Cidr {
  const cidr = parseCidr(text);
  assert.ok(cidr, text);
  return cidr;
}

/** Allocates all free parts, in order. */
function drain(set: ReturnType<typeof createCidrSet>): string[] {
  const given: string[] = [];
  for (let next = set.allocate(); next; next = set.allocate()) given.push(next.cidr.text);
  return given;
}

describe('a set of ranges', () => {
  it('allocates each part once, in order', () => {
    const set = createCidrSet(must('10.0.0.0/14'), 16);
    assert.equal(set.size, 4);
    assert.deepEqual(drain(set), ['10.0.0.0/16', '10.1.0.0/16', '10.2.0.0/16', '10.3.0.0/16']);
    assert.equal(set.used, 4);
  });

  it('allocates parts of IPv6 ranges', () => {
    const set = createCidrSet(must('2001:db8::/62'), 64);
    assert.deepEqual(drain(set), ['2001:db8::/64', '2001:db8:0:1::/64', '2001:db8:0:2::/64', '2001:db8:0:3::/64']);
    assert.equal(createCidrSet(must('fd00::/48'), 64).size, 65_536);
  });

  it('supports a range of a single part', () =>
    assert.deepEqual(drain(createCidrSet(must('10.1.0.0/24'), 24)), ['10.1.0.0/24']));

  it('allocates released parts only after all others', () => {
    const set = createCidrSet(must('10.0.0.0/22'), 24);
    const first = set.allocate()!.cidr;
    set.release(first);
    assert.deepEqual(drain(set), ['10.0.1.0/24', '10.0.2.0/24', '10.0.3.0/24', '10.0.0.0/24']);
  });

  it('skips occupied ranges of any size', () => {
    const set = createCidrSet(must('10.0.0.0/21'), 24);
    set.occupy(must('10.0.0.0/23'));
    set.occupy(must('10.0.4.128/25'));
    set.occupy(must('10.9.0.0/24'));
    set.occupy(must('fd00::/64'));
    assert.equal(set.used, 3);
    const { cidr, tries } = set.allocate()!;
    assert.equal(cidr.text, '10.0.2.0/24');
    assert.equal(tries, 2);
    assert.deepEqual(drain(set), ['10.0.3.0/24', '10.0.5.0/24', '10.0.6.0/24', '10.0.7.0/24']);
  });

  it('gives no range once a larger range is taken', () => {
    const set = createCidrSet(must('10.0.0.0/16'), 24);
    assert.deepEqual(set.occupy(must('10.0.0.0/8')), { touches: true, free: true });
    assert.equal(set.allocate(), undefined);
    set.release(must('10.0.0.0/8'));
    assert.equal(set.used, 0);
  });

  it('frees a part when its last holder released it', () => {
    const set = createCidrSet(must('10.0.0.0/24'), 24);
    assert.deepEqual(set.occupy(must('10.0.0.0/25')), { touches: true, free: true });
    assert.deepEqual(set.occupy(must('10.0.0.128/25')), { touches: true, free: false });
    set.release(must('10.0.0.0/25'));
    assert.equal(set.allocate(), undefined);
    set.release(must('10.0.0.128/25'));
    assert.equal(set.allocate()?.cidr.text, '10.0.0.0/24');
  });

  it('searches far in a large set', () => {
    const set = createCidrSet(must('10.0.0.0/8'), 24);
    set.occupy(must('10.0.0.0/9'));
    set.occupy(must('10.128.0.0/10'));
    assert.equal(set.allocate()?.cidr.text, '10.192.0.0/24');
    assert.equal(set.used, 32_768 + 16_384 + 1);
  });

  it('never allocates a part that overlaps an occupied range, and always counts correctly', () => {
    const range = must('10.0.0.0/18');
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.constant({ do: 'allocate' as const }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), which: fc.nat(1000) }) },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('occupy' as const),
          at: fc.integer({ min: 0, max: 2 ** 15 - 1 }),
          prefix: fc.integer({ min: 17, max: 27 }),
        }),
      },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const set = createCidrSet(range, 24);
        const held: Cidr[] = [];
        for (const each of steps) {
          if (each.do === 'allocate') {
            const given = set.allocate();
            if (!given) continue;
            assert.ok(!held.some((other) => overlap(other, given.cidr)));
            held.push(given.cidr);
          } else if (each.do === 'release') {
            const [cidr] = held.splice(each.which % Math.max(1, held.length), 1);
            if (cidr) set.release(cidr);
          } else {
            const cidr = cidrAt(4, range.first + BigInt(each.at), each.prefix);
            const { touches } = set.occupy(cidr);
            assert.equal(touches, overlap(cidr, range));
            held.push(cidr);
          }
          const parts = Array.from({ length: set.size }, (_, at) => cidrAt(4, range.first + BigInt(at) * 256n, 24));
          assert.equal(set.used, parts.filter((part) => held.some((other) => overlap(other, part))).length);
        }
        for (const cidr of held) set.release(cidr);
        assert.equal(set.used, 0);
      }),
      { numRuns: 60 },
    );
  });
});
