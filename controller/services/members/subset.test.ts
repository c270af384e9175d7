import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { slotsOf, subsetOf as subsetOfSeats } from './subset.ts';

interface Seat {
  readonly node: string;
  readonly zone: string;
}

function subsetOf(members: readonly Seat[], max: number, seed: string): readonly Seat[] {
  return subsetOfSeats(slotsOf(members), max, seed);
}

const fleets = fc
  .uniqueArray(fc.integer({ min: 0, max: 500 }), { minLength: 1, maxLength: 60 })
  .chain((ids) =>
    fc
      .array(fc.constantFrom('', 'a', 'b', 'c'), { minLength: ids.length, maxLength: ids.length })
      .map((zones): Seat[] => ids.map((id, index) => ({ node: `node-${id}`, zone: zones[index]! }))),
  );
const caps = fc.integer({ min: 0, max: 70 });
const seeds = fc.uuid();

function names(slots: readonly Seat[]): Set<string> {
  return new Set(slots.map(({ node }) => node));
}

function difference(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  return [...a].filter((name) => !b.has(name)).length;
}

describe('the part of the members that a capped load balancer takes', () => {
  it('picks as many members as the cap allows, without duplicates', () => {
    fc.assert(
      fc.property(fleets, caps, seeds, (fleet, max, seed) => {
        const picked = subsetOf(fleet, max, seed);
        assert.equal(picked.length, Math.min(max, fleet.length));
        assert.equal(names(picked).size, picked.length);
      }),
    );
  });

  it('picks the same members in whatever order Nodes are listed', () => {
    fc.assert(
      fc.property(fleets, caps, seeds, (fleet, max, seed) => {
        assert.deepEqual(names(subsetOf(fleet, max, seed)), names(subsetOf([...fleet].reverse(), max, seed)));
      }),
    );
  });

  it('changes by at most one slot when one Node joins or leaves', () => {
    fc.assert(
      fc.property(fleets, caps, seeds, fc.nat(), (fleet, max, seed, index) => {
        const gone = fleet[index % fleet.length]!;
        const before = names(subsetOf(fleet, max, seed));
        const after = names(
          subsetOf(
            fleet.filter((slot) => slot !== gone),
            max,
            seed,
          ),
        );
        assert.ok(difference(before, after) <= 1, `${difference(before, after)} left`);
        assert.ok(difference(after, before) <= 1, `${difference(after, before)} joined`);
        if (!before.has(gone.node)) assert.deepEqual(before, after);
      }),
    );
  });

  it('gives no zone two slots more than another that still has Nodes without one', () => {
    fc.assert(
      fc.property(fleets, caps, seeds, (fleet, max, seed) => {
        const picked = names(subsetOf(fleet, max, seed));
        const zones = new Map<string, { slots: number; free: number }>();
        for (const { node, zone } of fleet) {
          const counts = zones.get(zone) ?? { slots: 0, free: 0 };
          counts[picked.has(node) ? 'slots' : 'free'] += 1;
          zones.set(zone, counts);
        }
        const most = Math.max(...[...zones.values()].map(({ slots }) => slots));
        for (const { slots, free } of zones.values()) assert.ok(free === 0 || slots >= most - 1);
      }),
    );
  });

  it('picks a part of what a larger cap would pick', () => {
    fc.assert(
      fc.property(fleets, caps, seeds, (fleet, max, seed) => {
        assert.equal(difference(names(subsetOf(fleet, max, seed)), names(subsetOf(fleet, max + 1, seed))), 0);
      }),
    );
  });

  it('spreads Services over the Nodes', () => {
    const fleet = Array.from({ length: 20 }, (_, at) => ({ node: `node-${at}`, zone: '' }));
    const used = new Map<string, number>();
    for (let service = 0; service < 400; service += 1) {
      for (const { node } of subsetOf(fleet, 5, `uid-${service}`)) used.set(node, (used.get(node) ?? 0) + 1);
    }
    assert.equal(used.size, 20);
    for (const [node, count] of used) assert.ok(count > 50 && count < 150, `${node}: ${count} of about 100`);
  });
});
