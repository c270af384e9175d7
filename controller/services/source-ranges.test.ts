import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { annotations } from '../../common/well-known.ts';
import { sourceRangesOf } from './source-ranges.ts';

const both = ['IPv4', 'IPv6'] as const;
const spec = (...sourceRanges: string[]) => sourceRangesOf({ sourceRanges, annotations: {}, ipFamilies: both });
const annotation = (text: string) =>
  sourceRangesOf({ sourceRanges: [], annotations: { [annotations.sourceRanges]: text }, ipFamilies: both });

describe('source ranges', () => {
  for (const [given, expected] of [
    ['', []],
    ['  ', []],
    ['0.0.0.0/0', []],
    ['192.168.0.0/0', []],
    ['10.0.0.0/8', ['10.0.0.0/8']],
    ['10.1.2.3/8', ['10.0.0.0/8']],
    ['10.0.0.0/8,192.168.0.1/32', ['10.0.0.0/8', '192.168.0.1/32']],
    [' 192.168.0.1/32 , 10.0.0.0/8 ', ['10.0.0.0/8', '192.168.0.1/32']],
    ['10.0.0.0/8,10.0.0.0/8,10.9.9.9/8', ['10.0.0.0/8']],
    ['2001:DB8:0::1/32', ['2001:db8::/32']],
    ['::/0', ['::/0']],
    ['0.0.0.0/0,10.0.0.0/8', ['0.0.0.0/0', '10.0.0.0/8']],
  ] as const) {
    it(`${JSON.stringify(given)} lets in ${expected.length === 0 ? 'all addresses' : expected.join(' and ')}`, () => {
      const asksForEverybody = expected.length === 0 && given.trim() !== '';
      const told = { ok: true, ranges: expected, asksForEverybody };
      assert.deepEqual(annotation(given), told);
      if (given.trim() !== '') assert.deepEqual(spec(...given.split(',')), told);
    });
  }

  for (const given of [
    '0.0.0.0/33',
    'foo.bar',
    '*',
    'a',
    '192.168.0.1/8,',
    '10.0.0.0',
    '10.0.0/8',
    '10.0.0.0/08',
    '010.0.0.0/8',
    '2001:db8::/129',
    'fe80::1%eth0/64',
    '/8',
  ]) {
    it(`${JSON.stringify(given)} is refused, and the entry is named`, () => {
      const told = annotation(given);
      assert.equal(told.ok, false);
      assert.match(!told.ok ? told.message : '', /annotation service\.beta.*expected a CIDR/);
      const inSpec = spec(...given.split(','));
      assert.match(!inSpec.ok ? inSpec.message : '', /spec\.loadBalancerSourceRanges: "/);
    });
  }

  it('prefers the ranges of the spec over the annotation', () => {
    const chosen = sourceRangesOf({
      ipFamilies: both,
      sourceRanges: ['10.0.0.0/8'],
      annotations: { [annotations.sourceRanges]: 'nonsense' },
    });
    assert.deepEqual(chosen.ok && chosen.ranges, ['10.0.0.0/8']);
  });

  it('returns equal ranges whatever their order, duplicates and host bits', () => {
    const cidr = fc
      .tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 }))
      .map(([address, length]) => `${address}/${length}`);
    fc.assert(
      fc.property(fc.array(cidr, { minLength: 1, maxLength: 6 }), fc.func(fc.integer()), (list, rank) => {
        const shuffled = [...list, ...list].sort((a, b) => rank(a) - rank(b));
        const first = spec(...list);
        assert.deepEqual(spec(...shuffled), first);
        assert.ok(first.ok);
        if (first.ranges.length > 0) assert.deepEqual(spec(...first.ranges), first);
      }),
    );
  });

  it('refuses ranges of which none is of a family that the Service has', () => {
    const of = (ipFamilies: readonly ('IPv4' | 'IPv6')[], ...sourceRanges: string[]) =>
      sourceRangesOf({ sourceRanges, annotations: {}, ipFamilies });
    const refused = of(['IPv4'], '2001:db8::/32');
    assert.match(refused.ok ? '' : refused.message, /expected at least one IPv4 range/);
    assert.equal(of([], '2001:db8::/32').ok, false);
    assert.deepEqual(of(['IPv6'], '0.0.0.0/0'), { ok: true, ranges: [], asksForEverybody: true });
    assert.equal(of(['IPv6'], '10.0.0.0/8').ok, false);
    assert.equal(of(['IPv6', 'IPv4'], '2001:db8::/32').ok, true);
    assert.equal(of(['IPv4'], '2001:db8::/32', '10.0.0.0/8').ok, true);
  });
});
