import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { bitsOf, type Cidr, cidrAt, contains, memoizedCidrParser, overlap, parseCidr, reaches } from './cidr.ts';
import { parseClusterCidrs } from './cluster-cidrs.ts';

function must(text: string): Cidr {
  const cidr = parseCidr(text);
  assert.ok(cidr, text);
  return cidr;
}

const someCidr = fc.oneof(
  fc.tuple(fc.bigInt(0n, 2n ** 32n - 1n), fc.integer({ min: 0, max: 32 })).map(([at, prefix]) => cidrAt(4, at, prefix)),
  fc
    .tuple(fc.bigInt(0n, 2n ** 128n - 1n), fc.integer({ min: 0, max: 128 }))
    .map(([at, prefix]) => cidrAt(6, at, prefix)),
);

describe('a CIDR', () => {
  it('spells each CIDR in one way', () => {
    const spellings = {
      '10.1.2.3/16': '10.1.0.0/16',
      '10.0.0.0/8': '10.0.0.0/8',
      '0.0.0.0/0': '0.0.0.0/0',
      '1.2.3.4/32': '1.2.3.4/32',
      '2001:DB8:0:0::1/48': '2001:db8::/48',
      '2001:db8:0:1:0:0:0:1/128': '2001:db8:0:1::1/128',
      'fd00:10:0:0:0:0:0:0/64': 'fd00:10::/64',
      '::/0': '::/0',
    };
    for (const [given, text] of Object.entries(spellings)) assert.equal(must(given).text, text);
  });

  it('refuses malformed CIDRs', () => {
    for (const text of [
      '',
      '/',
      '10.0.0.0',
      '10.0.0.0/',
      '/8',
      '10.0.0.0/33',
      '10.0.0.0/-1',
      '10.0.0.0/08',
      '10.0.0.0/8/8',
      '10.0.0/8',
      '010.0.0.0/8',
      '256.0.0.0/8',
      '::/129',
      'fe80::1%eth0/64',
      'node/24',
      ' 10.0.0.0/8',
    ])
      assert.equal(parseCidr(text), undefined, JSON.stringify(text));
  });

  it('parses what it prints', () => {
    fc.assert(fc.property(someCidr, (cidr) => assert.deepEqual(parseCidr(cidr.text), cidr)));
  });

  it('overlaps another CIDR exactly if one contains the first address of the other', () => {
    fc.assert(
      fc.property(someCidr, someCidr, (a, b) => {
        const held = contains(a, b.family, b.first) || contains(b, a.family, a.first);
        assert.equal(overlap(a, b), held);
        assert.equal(overlap(b, a), held);
      }),
    );
  });

  it('contains as many addresses as its mask leaves', () => {
    fc.assert(
      fc.property(someCidr, ({ family, first, last, prefix }) =>
        assert.equal(last - first + 1n, 2n ** BigInt(bitsOf(family) - prefix)),
      ),
    );
  });

  it('caches valid and invalid CIDRs', () => {
    const parse = memoizedCidrParser(2);
    assert.equal(parse('10.0.0.1/24'), parse('10.0.0.1/24'));
    assert.equal(parse('x'), undefined);
    assert.equal(parse('10.0.1.0/24')?.text, '10.0.1.0/24');
    assert.equal(parse('10.0.0.1/24')?.text, '10.0.0.0/24');
  });
});

describe('routes that concern a cluster', () => {
  const cases: readonly [string, string, boolean][] = [
    ['10.10.0.0/16', '10.10.0.0/24', true],
    ['10.10.0.0/16', '10.9.0.0/24', false],
    ['10.10.0.0/14', '10.8.0.0/24', true],
    ['10.10.0.0/14', '10.11.255.0/24', true],
    ['10.10.0.0/14', '10.12.0.0/24', false],
    ['10.10.0.0/14', '10.7.255.0/24', false],
    ['10.10.0.0/16', '10.10.255.0/24', true],
    ['10.10.0.0/16', '10.11.0.0/24', false],
    ['2001:db8::/48', '2001:db8::/64', true],
    ['2001:db8::/48', '2001:db8:0:ffff::/64', true],
    ['2001:db8::/48', '2001:db8:1::/64', false],
    ['2001:db8::/48', '10.10.0.0/24', false],
  ];
  for (const [cluster, destination, expected] of cases)
    it(`a route to ${destination} ${expected ? 'concerns' : 'does not concern'} the cluster ${cluster}`, () =>
      assert.equal(reaches([must(cluster)], must(destination)), expected));

  it('accepts any of the ranges of a dual-stack cluster', () => {
    const both = [must('10.244.0.0/16'), must('fd00:10::/56')];
    assert.equal(reaches(both, must('fd00:10:0:ff::/64')), true);
    assert.equal(reaches(both, must('10.244.3.0/24')), true);
    assert.equal(reaches([], must('10.244.3.0/24')), false);
  });
});

describe('--cluster-cidr', () => {
  const texts = (given: string) => {
    const parsed = parseClusterCidrs(given);
    return 'expected' in parsed ? 'refused' : parsed.map(({ text }) => text);
  };

  it('accepts no range, one range, or one of each family', () => {
    assert.deepEqual(texts(''), []);
    assert.deepEqual(texts(' '), []);
    assert.deepEqual(texts('10.244.0.0/16'), ['10.244.0.0/16']);
    assert.deepEqual(texts('fd00:10::1/56, 10.244.0.0/16'), ['fd00:10::/56', '10.244.0.0/16']);
  });

  it('refuses other numbers of ranges', () => {
    for (const given of ['x', '10.244.0.0', '10.0.0.0/16,10.1.0.0/16', '10.0.0.0/16,', ',', 'a,b,c', '::/0,fd00::/8'])
      assert.equal(texts(given), 'refused', given);
  });
});
