import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createFoundIndex, type FoundIndex } from './found-index.ts';
import { everyService, type Found, identityOf, type Kind } from './resource.ts';

const kind = (name: string, more: Partial<Kind> = {}): Kind => ({
  kind: name,
  retryCreate: 'atOnce',
  compare: () => ({ same: true }),
  ...more,
});
const kinds = new Map([kind('lb'), kind('part', { within: 'lb' })].map((one) => [one.kind, one]));
const owners = ['u1', 'u2', everyService, undefined] as const;
const anyFound = fc
  .record({
    kind: fc.constantFrom('lb', 'part'),
    id: fc.constantFrom('a', 'b', 'c'),
    within: fc.constantFrom('a', 'b', undefined),
    service: fc.constantFrom(...owners),
    slots: fc.subarray(['one', 'two']),
    status: fc.constantFrom('ready', 'deleting'),
  })
  .map(
    ({ service, within, ...one }): Found => ({
      ...one,
      status: one.status as Found['status'],
      body: undefined,
      ...(one.kind === 'part' && within !== undefined && { within }),
      ...(service !== undefined && { owner: { cluster: 'c', service } }),
    }),
  );
const anyChange = fc.record({ found: anyFound, isGone: fc.boolean() });

/** As the inventory does: the parts of a container are set again after it. */
function setAll(index: ReturnType<typeof createFoundIndex>, all: ReadonlyMap<string, Found>, identity: string): void {
  index.set(identity, all.get(identity));
  for (const [part, { within }] of all)
    if (within !== undefined && identityOf({ kind: 'lb', id: within }) === identity) index.set(part, all.get(part));
}

const byIdentity = (all: readonly Found[]) => all.map((one) => JSON.stringify(one)).sort();
const shownBy = (index: FoundIndex) => ({
  all: byIdentity(index.all),
  kinds: [...kinds.keys()].map((name) => byIdentity(index.ofKind(name))),
  near: ['u1', 'u2', 'u3'].map((service) => byIdentity(index.near(service))),
  held: ['one', 'two'].map((slot) => [index.holderOf(slot) !== undefined, index.holderOf(slot)?.status]),
});

describe('the index of what is found', () => {
  it('shows after any changes what an index of the last state shows', () => {
    fc.assert(
      fc.property(fc.array(anyChange, { maxLength: 30 }), (changes) => {
        const live = createFoundIndex(kinds);
        const all = new Map<string, Found>();
        for (const { found, isGone } of changes) {
          const identity = identityOf(found);
          if (isGone) all.delete(identity);
          else all.set(identity, found);
          setAll(live, all, identity);
        }
        const whole = createFoundIndex(kinds);
        for (const order of ['lb', 'part'])
          for (const [identity, one] of all) if (one.kind === order) whole.set(identity, one);
        assert.deepEqual(shownBy(live), shownBy(whole));
      }),
    );
  });

  it('keeps the array of a kind until something of that kind changes', () => {
    const index = createFoundIndex(kinds);
    const lb: Found = { kind: 'lb', id: 'a', status: 'ready', body: 1 };
    index.set('lb a', lb);
    const before = index.ofKind('lb');
    index.set('part p', { kind: 'part', id: 'p', within: 'a', status: 'ready', body: 1 });
    assert.equal(index.ofKind('lb'), before);
    index.set('lb a', { ...lb, body: 2 });
    assert.deepEqual(before, [lb]);
    assert.notEqual(index.ofKind('lb'), before);
  });
});
