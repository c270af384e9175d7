import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Cidr, cidrAt, overlap, parseCidr } from '../model/cidr.ts';
import { holds, type RouteBounds } from '../model/route-bounds.ts';
import { type RangeClaim, refusedClaims, type VmAddress } from './allowed-ranges.ts';

const cidr = (text: string): Cidr => parseCidr(text)!;
const bounds: RouteBounds = {
  clusterCidrs: ['100.64.0.0/10', 'fd00:10::/48'].map(cidr),
  serviceCidrs: ['100.96.0.0/16'].map(cidr),
  masks: { 4: 24, 6: 64 },
};
const anyMask: RouteBounds = { ...bounds, masks: {} };
const claim = (node: string, range: string, createdAtMs: number, hasRoute = false): RangeClaim => ({
  node,
  createdAtMs,
  claimedAt: 0,
  range: cidr(range),
  hasRoute,
});

/** `node: reason message` of each refused claim. */
function refusals(claims: readonly RangeClaim[], within = bounds, vms: readonly VmAddress[] = []): string[] {
  return [...refusedClaims(claims, within, vms)].map(
    ([{ node }, { reason, message }]) => `${node}: ${reason} ${message}`,
  );
}

describe('pod ranges that may be routed', () => {
  const cases: readonly (readonly [range: string, why: string | undefined])[] = [
    ['100.64.1.0/24', undefined],
    ['fd00:10:0:7::/64', undefined],
    ['0.0.0.0/1', 'is not inside --cluster-cidr 100.64.0.0/10,fd00:10::/48'],
    ['::/0', 'is not inside --cluster-cidr 100.64.0.0/10,fd00:10::/48'],
    ['169.254.169.254/32', 'is not inside --cluster-cidr 100.64.0.0/10,fd00:10::/48'],
    ['10.0.0.0/24', 'is not inside --cluster-cidr 100.64.0.0/10,fd00:10::/48'],
    ['100.64.0.0/9', 'is not inside --cluster-cidr 100.64.0.0/10,fd00:10::/48'],
    ['100.64.0.0/11', 'has another mask than the configured /24'],
    ['100.64.0.5/32', 'has another mask than the configured /24'],
    ['fd00:10::/63', 'has another mask than the configured /64'],
    ['100.96.3.0/24', 'overlaps --service-cluster-ip-range 100.96.0.0/16'],
  ];
  for (const [range, why] of cases)
    it(`${range} ${why === undefined ? 'is allowed' : `is refused: it ${why}`}`, () => {
      const expected = why === undefined ? [] : [`rogue: CIDRNotAllowed pod range ${cidr(range).text} ${why}`];
      assert.deepEqual(refusals([claim('rogue', range, 0), claim('honest', '100.64.9.0/24', 5)]), expected);
    });

  it('leaves out a range that contains the address of a VM', () => {
    const vms = [{ node: 'honest', address: cidr('100.64.1.9/32') }];
    assert.deepEqual(refusals([claim('rogue', '100.64.1.0/24', 0), claim('other', '100.64.2.0/24', 1)], bounds, vms), [
      'rogue: CIDRNotAllowed pod range 100.64.1.0/24 contains 100.64.1.9, the address of Node honest',
    ]);
  });

  describe('a new route over an existing one', () => {
    const within = { ...anyMask, serviceCidrs: [cidr('100.96.3.0/26')] };
    const vms = [{ node: 'honest', address: cidr('100.64.5.1/32') }];
    const existing: readonly (readonly [what: string, range: string, inside: string])[] = [
      ['with the address of a VM', '100.64.5.0/24', '100.64.5.128/25'],
      ['over the range of the Services', '100.96.3.0/24', '100.96.3.128/25'],
    ];
    for (const [what, range, inside] of existing)
      it(`${what}, although it would not be created today`, () => {
        const [honest, rogue] = [claim('honest', range, 5, true), claim('rogue', inside, 0)];
        const refused = refusedClaims([rogue, honest], within, vms);
        assert.deepEqual([...refused.keys()], [honest, rogue]);
        assert.equal(refused.get(rogue)?.message, `pod range ${inside} overlaps ${range} of Node honest`);
      });

    it('allows a new route inside one that contains all pods, such as the default route of a NAT instance', () => {
      const [nat, honest] = [claim('nat', '0.0.0.0/0', 0, true), claim('honest', '100.64.7.0/24', 5)];
      assert.deepEqual([...refusedClaims([nat, honest], within).keys()], [nat]);
    });

    it('refuses an existing route that loses to another existing one', () => {
      const inner = claim('inner', '100.64.2.0/24', 1, true);
      const outer = claim('outer', '100.64.2.0/23', 2, true);
      assert.deepEqual(refusals([inner, outer, claim('rogue', '100.64.3.0/24', 0)], anyMask), [
        'outer: CIDRNotAllowed pod range 100.64.2.0/23 overlaps 100.64.2.0/24 of Node inner',
        'rogue: CIDRNotAllowed pod range 100.64.3.0/24 overlaps 100.64.2.0/23 of Node outer',
      ]);
    });
  });

  it('prefers an existing range to an older existing one around it that would not be created today', () => {
    const claims = [claim('rogue', '100.0.0.0/8', 0, true), claim('honest', '100.64.1.0/24', 5, true)];
    assert.deepEqual(refusals(claims), [
      'rogue: CIDRNotAllowed pod range 100.0.0.0/8 is not inside --cluster-cidr 100.64.0.0/10,fd00:10::/48',
    ]);
  });

  it('gives one range to the Node with the route, then to the older one, then to the first by name', () => {
    const [range, told] = ['100.64.1.0/24', 'DuplicatePodCIDR 100.64.1.0/24 is the pod range of Node'];
    assert.deepEqual(refusals([claim('a', range, 1), claim('b', range, 2, true)]), [`a: ${told} b too`]);
    assert.deepEqual(refusals([claim('a', range, 2), claim('b', range, 1)]), [`a: ${told} b too`]);
    assert.deepEqual(refusals([claim('b', range, 1), claim('a', range, 1)]), [`b: ${told} a too`]);
  });

  it('keeps a Node with the route of an earlier mask before one that claims a part of its range', () => {
    assert.deepEqual(refusals([claim('honest', '100.64.2.0/23', 5, true), claim('rogue', '100.64.2.0/24', 1)]), [
      'honest: CIDRNotAllowed pod range 100.64.2.0/23 has another mask than the configured /24',
      'rogue: CIDRNotAllowed pod range 100.64.2.0/24 overlaps 100.64.2.0/23 of Node honest',
    ]);
  });

  it('refuses a wide range to a rogue Node that claimed it first, where no mask is known', () => {
    const honest = [claim('n1', '100.64.1.0/24', 5), claim('n2', '100.64.2.0/24', 6)];
    assert.deepEqual(refusals([claim('rogue', '100.64.0.0/11', 0), ...honest], anyMask), [
      'rogue: CIDRNotAllowed pod range 100.64.0.0/11 contains the pod ranges of 2 other Nodes',
    ]);
  });

  it('gives up an existing wide range only for Nodes with routes, where no mask is known', () => {
    const wide = claim('n1', '100.64.2.0/23', 5, true);
    const rogues = [claim('r1', '100.64.2.5/32', 6), claim('r2', '100.64.2.6/32', 7)];
    assert.deepEqual(
      [...refusedClaims([wide, ...rogues], anyMask).keys()].map(({ node }) => node),
      ['r1', 'r2'],
    );
  });
});

describe('any pod ranges', () => {
  const someRange = fc
    .record({ first: fc.integer({ min: 0, max: 0xffffffff }), prefix: fc.integer({ min: 0, max: 32 }) })
    .map(({ first, prefix }) => cidrAt(4, BigInt(first), prefix));
  const near = fc
    .record({ at: fc.nat(2047), prefix: fc.integer({ min: 20, max: 32 }) })
    .map(({ at, prefix }) => cidrAt(4, BigInt(0x64400000 + at), prefix));
  const someClaims = fc.array(
    fc.record({
      node: fc.constantFrom(...'abcdefgh'),
      createdAtMs: fc.nat(5),
      claimedAt: fc.nat(2),
      range: fc.oneof(near, someRange),
      hasRoute: fc.boolean(),
    }),
    { maxLength: 20 },
  );
  const someMasks = fc.constantFrom({}, { 4: 24 });
  const someVms = fc.array(
    fc.nat(2047).map((at) => ({ node: 'vm', address: cidrAt(4, BigInt(0x64400000 + at), 32) })),
    { maxLength: 3 },
  );

  it('allows only ranges that are inside the bounds and disjoint', () => {
    fc.assert(
      fc.property(someClaims, someMasks, someVms, (claims, masks, vms) => {
        const refused = refusedClaims(claims, { ...bounds, masks }, vms);
        const allowed = claims.filter((each) => !refused.has(each)).map(({ range }) => range);
        const [inner, services] = [cidr('100.64.0.0/10'), cidr('100.96.0.0/16')];
        allowed.forEach((range, at) => {
          assert.ok(inner.first <= range.first && range.last <= inner.last, range.text);
          assert.ok(!overlap(range, services), range.text);
          if ('4' in masks) assert.equal(range.prefix, 24);
          for (const { address } of vms) assert.ok(!overlap(range, address), range.text);
          for (const other of allowed.slice(at + 1)) assert.ok(!overlap(range, other), `${range.text} ${other.text}`);
        });
      }),
      { seed: 15, numRuns: 500 },
    );
  });

  it('allows no new route over an existing range, unless that contains the existing ranges of several', () => {
    fc.assert(
      fc.property(someClaims, someMasks, someVms, (claims, masks, vms) => {
        const refused = refusedClaims(claims, { ...bounds, masks }, vms);
        const made = claims.filter((each) => !refused.has(each) && !each.hasRoute);
        // What is not inside the cluster's ranges is the range of no Node.
        const isWithin = ({ range }: RangeClaim) => bounds.clusterCidrs.some((cluster) => holds(cluster, range));
        const existing = claims.filter((each) => each.hasRoute && isWithin(each));
        const inside = (outer: Cidr) =>
          existing.filter(({ range }) => range.prefix > outer.prefix && overlap(range, outer)).length;
        for (const { node, range } of made)
          for (const other of existing)
            if (other.node !== node && inside(other.range) < 2)
              assert.ok(!overlap(range, other.range), `${range.text} ${other.range.text}`);
      }),
      { seed: 15, numRuns: 2000 },
    );
  });

  it('displaces no valid range that has its route, and blocks no older one', () => {
    fc.assert(
      fc.property(someClaims, someMasks, fc.nat(7), fc.boolean(), (rogues, masks, at, hasRoute) => {
        const honest = claim('honest', `100.64.${at}.0/24`, hasRoute ? 9 : -1, hasRoute);
        const claims = [...rogues.map((each) => ({ ...each, hasRoute: false })), honest];
        // Without a mask and without a route yet, several Nodes inside a range win over one around
        // them.
        fc.pre(hasRoute || '4' in masks);
        assert.equal(refusedClaims(claims, { ...bounds, masks }).get(honest), undefined);
      }),
      { seed: 15, numRuns: 500 },
    );
  });

  it('lets a range outside the bounds change nothing for any other Node', () => {
    const outside = fc.array(
      fc
        .constantFrom('0.0.0.0/1', '64.0.0.0/2', '100.64.0.0/10', '100.64.0.1/32', '100.64.0.0/12')
        .map((range) => claim('rogue', range, 0)),
    );
    fc.assert(
      fc.property(someClaims, outside, (claims, rogues) => {
        const told = (all: readonly RangeClaim[]) =>
          [...refusedClaims(all, bounds)].filter(([{ node }]) => node !== 'rogue');
        assert.deepEqual(told([...rogues, ...claims]), told(claims));
      }),
      { seed: 15 },
    );
  });
});
