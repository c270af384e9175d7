import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { DocumentType } from './driver.ts';
import { createFoundIndex } from './found-index.ts';
import { matchFound } from './match.ts';
import { stepsInOrder } from './order.ts';
import { makePlan } from './plan.ts';
import { type Found, identityOf, type Kind, nameOf, type Want } from './resource.ts';
import type { PlanInput, Step } from './step.ts';

const owner = { cluster: 'c1', service: 'u1' };
const kindNamed = (kind: string, more: Partial<Kind> = {}): Kind => ({
  kind,
  retryCreate: 'atOnce',
  compare(found, spec) {
    const { value, order } = spec as { value: string; order: 'createFirst' | 'deleteFirst' | undefined };
    if (found.body === value) return { same: true };
    return order === undefined
      ? { changes: [{ what: 'value', summary: value, phase: 'set' }] }
      : { replace: `${found.body} to ${value}`, order };
  },
  ...more,
});
const want = (
  kind: string,
  value: string,
  more: Partial<Want> & { order?: 'createFirst' | 'deleteFirst' } = {},
): Want => {
  const { order, ...rest } = more;
  return { kind, key: 'k', summary: kind, spec: { value, order }, ...rest };
};
const found = (kind: string, body: string, more: Partial<Found> = {}): Found => {
  return { kind, id: `${kind}-1`, owner, key: 'k', status: 'ready', body, ...more };
};
const refTo = (kind: string, more: object = {}) => ({ role: kind, kind, id: `${kind}-1`, ...more });

function indexOf(kinds: ReadonlyMap<string, Kind>, all: readonly Found[]) {
  const index = createFoundIndex(kinds);
  for (const one of all) index.set(identityOf(one), one);
  return index;
}

function planOf(kinds: readonly Kind[], wants: readonly Want[], all: readonly Found[], more: Partial<PlanInput> = {}) {
  const byName = new Map(kinds.map((kind) => [kind.kind, kind]));
  const journal = { claimed: true, ids: {}, tried: [] };
  return makePlan({
    kinds: byName,
    documents: new Map(),
    match: matchFound({ kinds: byName, owner, found: indexOf(byName, all), journal }),
    wants,
    refusals: [],
    removing: false,
    retain: false,
    mayChangeAddress: true,
    unseenMs: () => 0,
    specOf: (one) => one.spec,
    mayDrop: () => 'yes',
    isDesired: () => false,
    isIneffective: () => false,
    hasRetained: () => false,
    ...more,
  });
}
const orderOf = ({ steps }: { readonly steps: readonly Step[] }) => stepsInOrder(steps).map(({ id }) => id);

describe('a plan', () => {
  it('deletes resources that refer to a resource before it replaces that one by delete and create', () => {
    const kinds = [kindNamed('pool'), kindNamed('listener')];
    const wants = [want('pool', 'b', { order: 'deleteFirst' }), want('listener', 'x', { needs: ['pool/k'] })];
    const plan = planOf(kinds, wants, [found('pool', 'a'), found('listener', 'x', { refs: [refTo('pool')] })]);
    assert.deepEqual(orderOf(plan), [
      'delete listener listener-1',
      'delete pool pool-1',
      'create pool/k',
      'create listener/k',
    ]);
  });

  it('says that parts are dropped from a document, which stays', () => {
    const kinds = [kindNamed('rule', { document: 'group' })];
    const type = { document: 'group', name: () => 'g1' } as Partial<DocumentType> as DocumentType;
    const plan = planOf(kinds, [], [found('rule', 'a')], { removing: true, documents: new Map([['group', type]]) });
    assert.deepEqual(
      plan.steps.map(({ id, summary }) => [id, summary]),
      [['edit group g1', 'drop rule/k']],
    );
  });

  it('keeps resources with an unreadable desired state and all that need them, and creates neither', () => {
    const kinds = [kindNamed('pool'), kindNamed('listener')];
    const pool = want('pool', '?', { leaveUnchanged: true });
    const wants = [pool, want('listener', 'y', { needs: ['pool/k'] })];
    const there = planOf(kinds, wants, [found('pool', 'a'), found('listener', 'x', { refs: [refTo('pool')] })]);
    assert.deepEqual(orderOf(there), ['update listener/k listener-1 value']);
    assert.deepEqual(planOf(kinds, wants, []).steps, []);
    assert.deepEqual(planOf(kinds, wants, [found('listener', 'x')]).steps, [], 'what needs it stays, too');
  });

  it('keeps resources with an unreadable desired state without a look at it, also where there are two of one', () => {
    const pool = want('pool', '?', { leaveUnchanged: true, spec: undefined });
    const all = [found('pool', 'a', { id: 'pool-1', address: '192.0.2.1' }), found('pool', 'b', { id: 'pool-2' })];
    assert.deepEqual(orderOf(planOf([kindNamed('pool')], [pool], all)), ['delete pool pool-2']);
  });

  it('creates parts with their container, except a part that must be created alone and parts that need it', () => {
    const net = kindNamed('net', { within: 'lb', inline: true, needsOwnCreate: ({ spec }) => spec !== undefined });
    const kinds = [kindNamed('lb'), net, kindNamed('port', { within: 'lb', inline: true })];
    const part = (kind: string, more: Partial<Want>) => ({ ...want(kind, 'x', { within: 'lb/k' }), ...more });
    const ports = [part('port', { key: '80' }), part('port', { key: '443', needs: ['net/k'] })];
    const together = planOf(kinds, [want('lb', 'a'), part('net', { spec: undefined }), ...ports], []);
    assert.deepEqual(
      together.steps.map(({ id, inside }) => [id, inside?.map(nameOf)]),
      [['create lb/k', ['net/k', 'port/80', 'port/443']]],
    );
    const apart = planOf(kinds, [want('lb', 'a'), part('net', {}), ...ports], []);
    assert.deepEqual(orderOf(apart), ['create lb/k', 'create net/k', 'create port/443']);
    assert.deepEqual(apart.steps[0]?.inside?.map(nameOf), ['port/80']);
  });

  it('replaces no resource that a resource with an address refers to, without consent', () => {
    const kinds = [kindNamed('pool'), kindNamed('listener')];
    const wants = [want('pool', 'b', { order: 'deleteFirst' }), want('listener', 'x', { needs: ['pool/k'] })];
    const all = [found('pool', 'a'), found('listener', 'x', { refs: [refTo('pool')], address: '1.1.1.1' })];
    const plan = planOf(kinds, wants, all, { mayChangeAddress: false });
    assert.deepEqual(
      [plan.steps, plan.refusals.map(({ reason, name }) => [reason, name])],
      [[], [['AddressWouldChange', 'pool/k']]],
    );
  });

  it('deletes a resource that outlives its target after the target, and keeps it with the target', () => {
    const kinds = [
      kindNamed('lb'),
      kindNamed('vip', { within: 'lb' }),
      kindNamed('foreignPart', { within: 'lb' }),
      kindNamed('ip'),
    ];
    const vip = found('vip', 'x', { within: 'lb-1' });
    const ip = found('ip', 'x', { address: '1.1.1.1', refs: [refTo('vip', { loose: true, outlives: true })] });
    const all = [found('lb', 'x'), vip, ip];
    const plan = planOf(kinds, [], all, { removing: true });
    assert.deepEqual(orderOf(plan), ['delete lb lb-1', 'delete ip ip-1']);
    const foreignPart = found('foreignPart', 'x', { within: 'lb-1', owner: { ...owner, service: 'u2' } });
    const used = planOf(kinds, [], [...all, foreignPart], { removing: true });
    assert.deepEqual([used.steps, used.refusals.map(({ reason }) => reason)], [[], ['Conflict']]);
    const replaced = planOf(kinds, [want('lb', 'x'), want('vip', 'x', { within: 'lb/k' })], all);
    assert.deepEqual(orderOf(replaced), ['delete ip ip-1'], 'its target stays');
  });

  it('repairs a failed container before it changes its parts', () => {
    const kinds = [
      kindNamed('lb', { locks: true }),
      kindNamed('part', { within: 'lb' }),
      kindNamed('other', { within: 'lb' }),
    ];
    const wants = [
      want('lb', 'mended'),
      want('part', 'new', { within: 'lb/k' }),
      want('other', 'x', { within: 'lb/k' }),
    ];
    const all = [found('lb', 'x', { status: 'failed' }), found('part', 'old', { within: 'lb-1' })];
    const plan = planOf(kinds, wants, all);
    assert.deepEqual(orderOf(plan), ['update lb/k lb-1 value']);
    assert.deepEqual(
      plan.waits.map(({ name }) => name),
      ['other/k'],
    );
  });

  it('deletes our parts from a container that others use, except those deleted only with it', () => {
    const remove = async () => ({});
    const kinds = [
      kindNamed('lb', { remove }),
      kindNamed('part', { within: 'lb', remove }),
      kindNamed('vip', { within: 'lb' }),
    ];
    const foreignPart = found('part', 'x', { id: 'foreignPart', within: 'lb-1', owner: { ...owner, service: 'u2' } });
    const all = [
      found('lb', 'x'),
      found('part', 'x', { within: 'lb-1' }),
      found('vip', 'x', { within: 'lb-1' }),
      foreignPart,
    ];
    const plan = planOf(kinds, [], all, { removing: true });
    assert.deepEqual(orderOf(plan), ['delete part part-1']);
    assert.deepEqual(
      plan.refusals.map(({ reason }) => reason),
      ['Conflict'],
    );
  });

  for (const order of ['createFirst', 'deleteFirst'] as const)
    it(`keeps serving from a container that others use while it is to be replaced: ${order}`, () => {
      const remove = async () => ({});
      const kinds = [kindNamed('lb', { remove }), kindNamed('part', { within: 'lb', remove })];
      const foreignPart = found('part', 'x', { id: 'foreignPart', within: 'lb-1', owner: { ...owner, service: 'u2' } });
      const all = [found('lb', 'a'), found('part', 'x', { within: 'lb-1' }), foreignPart];
      const wants = [want('lb', 'b', { order }), want('part', 'x', { within: 'lb/k' })];
      const plan = planOf(kinds, wants, all);
      assert.ok(!orderOf(plan).some((step) => step.startsWith('delete')), orderOf(plan).join(', '));
      assert.deepEqual(
        plan.refusals.map(({ reason }) => reason),
        ['Conflict'],
      );
    });

  it('keeps a resource with a loose reference when its target is replaced', () => {
    const kinds = [kindNamed('pool'), kindNamed('address')];
    const wants = [want('pool', 'b', { order: 'deleteFirst' }), want('address', 'x', { needs: ['pool/k'] })];
    const all = [found('pool', 'a'), found('address', 'x', { refs: [refTo('pool', { loose: true })] })];
    assert.deepEqual(orderOf(planOf(kinds, wants, all)), ['delete pool pool-1', 'create pool/k']);
  });

  it('throws an error that names the cycle where resources need each other', () => {
    const wants = [want('a', '1', { needs: ['b/k'] }), want('b', '1', { needs: ['a/k'] })];
    assert.throws(() => planOf([kindNamed('a'), kindNamed('b')], wants, []), /a cycle: a\/k needs b\/k needs a\/k/);
  });

  it('deletes the resource that proves ownership last, even where the reference is loose', () => {
    const kinds = [kindNamed('group'), kindNamed('rule')];
    const all = [found('group', 'g'), found('rule', 'r', { refs: [refTo('group', { loose: true, proof: true })] })];
    const plan = planOf(kinds, [], all, { removing: true });
    assert.deepEqual(orderOf(plan), ['delete rule rule-1', 'delete group group-1']);
    assert.deepEqual(plan.steps.find(({ id }) => id === 'delete group group-1')?.after, ['delete rule rule-1']);
  });

  it('needs no step for parts of a deleted container, and refuses to delete one with parts of others', () => {
    const kinds = [kindNamed('lb'), kindNamed('part', { within: 'lb', remove: async () => ({}) })];
    const { owner: _, ...unmarked } = found('part', 'p', { within: 'lb-1' });
    assert.deepEqual(orderOf(planOf(kinds, [], [found('lb', 'x'), unmarked], { removing: true })), ['delete lb lb-1']);
    const foreignPart = found('part', 'p', {
      within: 'lb-1',
      id: 'foreignPart',
      owner: { cluster: 'c1', service: 'u2' },
    });
    const plan = planOf(kinds, [], [found('lb', 'x'), foreignPart], { removing: true });
    assert.deepEqual([plan.steps, plan.refusals.map(({ reason }) => reason)], [[], ['Conflict']]);
  });

  it('waits for pending resources and for resources that are being deleted', () => {
    const kinds = [kindNamed('lb', { locks: true }), kindNamed('part', { within: 'lb' })];
    const pending = found('lb', 'x', { status: 'pending', operation: 'op' });
    const wants = [want('lb', 'y'), want('part', 'p', { within: 'lb/k' })];
    const plan = planOf(kinds, wants, [pending]);
    assert.deepEqual([plan.steps, plan.waits.map(({ name, operation }) => [name, operation])], [[], [['lb/k', 'op']]]);
    const going = planOf(kinds, wants, [found('lb', 'x', { status: 'deleting' })]);
    assert.deepEqual([going.steps, going.waits.length], [[], 1]);
  });

  it('plans the changes that follow a create', () => {
    const kinds = [kindNamed('lb', { fresh: () => ({ body: 'default' }) })];
    assert.deepEqual(orderOf(planOf(kinds, [want('lb', 'special')], [])), ['create lb/k', 'update lb/k  value']);
  });

  it('deletes what has an address only when everything in its replacement has succeeded', () => {
    const kinds = [kindNamed('lb'), kindNamed('listener', { within: 'lb' })];
    const wants = [want('lb', 'b', { order: 'createFirst' }), want('listener', 'x', { within: 'lb/k' })];
    const deleteOf = (address: object) => {
      const { steps } = planOf(kinds, wants, [found('lb', 'a', address), found('listener', 'x', { within: 'lb-1' })]);
      return steps.find(({ id }) => id === 'delete lb lb-1')?.after;
    };
    assert.deepEqual(deleteOf({ address: '192.0.2.1' })?.toSorted(), ['create lb/k', 'create listener/k']);
    assert.deepEqual(deleteOf({}), ['create lb/k']);
  });

  it('removes after every addition, or after those alone that the removal names', () => {
    const afterOf = (after?: readonly string[]) => {
      const changes = [
        { what: 'join', summary: 'join', phase: 'grow' },
        { what: 'policy', summary: 'policy', phase: 'grow' },
        { what: 'leave', summary: 'leave', phase: 'shrink', ...(after && { after }) },
      ] as const;
      const pool = kindNamed('pool', { compare: () => ({ changes }) });
      const { steps } = planOf([pool], [want('pool', 'x')], [found('pool', 'y')]);
      return steps.find(({ id }) => id.endsWith('leave'))!.after.map((id) => id.split(' ').at(-1));
    };
    assert.deepEqual(afterOf(), ['join', 'policy']);
    assert.deepEqual(afterOf(['join']), ['join']);
  });

  it('starts nothing in a resource, or with it, before the changes that guard it have succeeded', () => {
    const changes = [
      { what: 'ranges', summary: 'ranges', phase: 'grow', guards: true },
      { what: 'name', summary: 'name', phase: 'set' },
    ] as const;
    const list = kindNamed('list', { compare: ({ body }) => (body === 'all' ? { same: true } : { changes }) });
    const fresh = { ...list, fresh: () => ({ body: 'empty' }) };
    const kinds = [kindNamed('listener', { within: 'list' }), kindNamed('rule')];
    const wants = [
      want('list', 'all'),
      want('listener', 'x', { within: 'list/k' }),
      want('rule', 'x', { needs: ['list/k'] }),
    ];
    for (const [all, id] of [
      [[], 'update list/k  ranges'],
      [[found('list', 'empty')], 'update list/k list-1 ranges'],
    ] as const) {
      const { steps } = planOf([fresh, ...kinds], wants, all);
      for (const name of ['listener', 'rule']) {
        const { after, follows } = steps.find((one) => one.id === `create ${name}/k`)!;
        assert.ok(after.includes(id), `${name} after ${after}`);
        assert.equal(
          after.some((one) => one.endsWith('name')),
          false,
        );
        assert.equal(follows.includes(id.replace('ranges', 'name')), name === 'rule');
      }
    }
  });

  it('accepts the spec of an adopted resource as equal, as long as it carries no mark', () => {
    const kinds = [kindNamed('lb', { mark: async () => ({}) })];
    const { owner: _, ...classic } = found('lb', 'theirs');
    const byName = new Map([['lb', kinds[0]!]]);
    const match = matchFound({
      kinds: byName,
      owner,
      found: indexOf(byName, [classic]),
      journal: { claimed: false, ids: {}, tried: [] },
      adopts: () => 'k',
    });
    const wants = [want('lb', 'ours', { alsoAccepted: [{ value: 'theirs' }] })];
    assert.deepEqual(orderOf(planOf(kinds, wants, [classic], { match })), ['mark lb lb-1']);
  });

  it('marks an adopted resource before it changes it, and never touches a retained one', () => {
    const kinds = [kindNamed('lb', { mark: async () => ({}) })];
    const { owner: _, ...classic } = found('lb', 'theirs');
    const journal = { claimed: false, ids: {}, tried: [] };
    const byName = new Map([['lb', kinds[0]!]]);
    const match = matchFound({
      kinds: byName,
      owner,
      found: indexOf(byName, [classic]),
      journal,
      adopts: () => 'k',
    });
    const plan = planOf(kinds, [want('lb', 'ours')], [classic], { match });
    assert.deepEqual(plan.steps.find((step) => step.do === 'update')?.after, ['mark lb lb-1']);
    const retained = found('lb', 'x', { retained: true });
    assert.deepEqual(planOf(kinds, [], [retained], { removing: true }).steps, []);
    assert.deepEqual(orderOf(planOf(kinds, [want('lb', 'x')], [retained])), ['create lb/k']);
  });

  it('marks a part again whose retention did not come to its end, and ends it where that is still asked for', () => {
    const mark = async () => ({});
    const kinds = [kindNamed('lb', { mark }), kindNamed('listener', { within: 'lb', mark, remove: mark })];
    const { owner: _, ...rest } = found('listener', 'x', { within: 'lb-1', retained: true });
    const lb = found('lb', 'x');
    const wants = [want('lb', 'x'), want('listener', 'x', { within: 'lb/k' })];
    assert.deepEqual(orderOf(planOf(kinds, wants, [lb, rest])), ['mark listener listener-1']);
    const removing = { removing: true, retain: true };
    assert.deepEqual(orderOf(planOf(kinds, [], [lb, rest], removing)), ['mark lb lb-1']);
    // Kept for another Service: it has no key.
    const { key: __, ...ofOther } = rest;
    assert.deepEqual(orderOf(planOf(kinds, [want('lb', 'x')], [lb, ofOther])), []);
    const both = [lb, found('listener', 'x', { within: 'lb-1' })];
    const order = ['mark listener listener-1', 'mark lb lb-1'];
    assert.deepEqual(orderOf(planOf(kinds, [], both, removing)), order);
    assert.deepEqual(planOf(kinds, [], both, removing).steps[0]?.after, ['mark listener listener-1']);
  });

  it('keeps the recorded parts of what was just retained, and deletes those in a retained one of others', () => {
    const answer = async () => ({});
    const kinds = [kindNamed('lb', { mark: answer }), kindNamed('listener', { within: 'lb', remove: answer })];
    const byName = new Map(kinds.map((kind) => [kind.kind, kind]));
    const { owner: _, ...lb } = found('lb', 'x', { retained: true });
    const marked = found('listener', 'x', { within: lb.id });
    const { owner: __, ...unmarked } = marked;
    const stepsWith = (listener: Found, isOurWork: boolean) => {
      const all = [lb, listener];
      const journal = { claimed: true, ids: { 'lb/k': lb.id, 'listener/k': listener.id }, tried: [] };
      const hasRetained = ({ id }: Found) => isOurWork && id === lb.id;
      const match = matchFound({ kinds: byName, owner, found: indexOf(byName, all), journal });
      return orderOf(planOf(kinds, [], all, { match, hasRetained, removing: true, retain: true }));
    };
    for (const listener of [unmarked, marked]) {
      assert.deepEqual(stepsWith(listener, true), []);
      assert.deepEqual(stepsWith(listener, false), ['delete listener listener-1']);
    }
  });

  it('takes over parts of parts of an adopted resource, and none of a part that others made', () => {
    const kinds = [kindNamed('lb'), kindNamed('rule', { within: 'lb' }), kindNamed('member', { within: 'rule' })];
    const byName = new Map(kinds.map((kind) => [kind.kind, kind]));
    const { owner: _, ...lb } = found('lb', 'x');
    const part = (kind: string, id: string, within: string, key: string | undefined): Found => {
      return { kind, id, within, status: 'ready', body: 'x', ...(key !== undefined && { key }) };
    };
    const rules = [part('rule', 'ours', lb.id, '80'), part('rule', 'theirs', lb.id, undefined)];
    const members = [part('member', 'm-ours', 'ours', '80'), part('member', 'm-theirs', 'theirs', '81')];
    const match = matchFound({
      kinds: byName,
      owner,
      found: indexOf(byName, [lb, ...rules, ...members]),
      journal: { claimed: false, ids: {}, tried: [] },
      adopts: ({ kind }) => (kind === 'lb' ? 'k' : undefined),
    });
    assert.deepEqual(match.ours.map(({ id }) => id).sort(), ['lb-1', 'm-ours', 'ours']);
  });

  it('deletes first what its replacement would have to wait for', () => {
    const kinds = ['a', 'c', 'd'].map((kind) => kindNamed(kind));
    const all = [
      found('a', 'x', { status: 'failed', slots: ['s'] }),
      found('c', 'x', { refs: [refTo('a')] }),
      found('d', 'x', { status: 'failed', refs: [refTo('c')] }),
    ];
    const wants = [
      want('a', 'x', { order: 'createFirst', slot: 's' }),
      want('d', 'x', { order: 'createFirst', needs: ['a/k'] }),
    ];
    assert.deepEqual(orderOf(planOf(kinds, wants, all)), [
      'delete d d-1',
      'delete c c-1',
      'delete a a-1',
      'create a/k',
      'create d/k',
    ]);
  });

  it('deletes without the change that has to wait for it', () => {
    const kinds = ['a', 'b', 'c', 'd'].map((kind) => kindNamed(kind));
    const all = [
      found('a', 'x', { slots: ['s'] }),
      found('c', 'x', { refs: [refTo('a')] }),
      found('d', 'x', { refs: [refTo('c')] }),
    ];
    const wants = [want('b', 'x', { slot: 's' }), want('d', 'y', { needs: ['b/k'] })];
    assert.deepEqual(orderOf(planOf(kinds, wants, all)), [
      'delete c c-1',
      'delete a a-1',
      'create b/k',
      'update d/k d-1 value',
    ]);
  });

  it('makes plain data without cycles, the same when made again, and changes only our resources', () => {
    const names = ['a', 'b', 'c', 'd'];
    const resource = fc.record({
      kind: fc.constantFrom(...names),
      value: fc.constantFrom('x', 'y'),
      order: fc.constantFrom('createFirst', 'deleteFirst', undefined),
      slot: fc.option(fc.constantFrom('s', 't'), { nil: undefined }),
      isThere: fc.boolean(),
      body: fc.constantFrom('x', 'y'),
      status: fc.constantFrom('ready', 'ready', 'failed', 'pending', 'deleting'),
      isWanted: fc.boolean(),
      isOurs: fc.constantFrom(true, true, false),
      address: fc.option(fc.constant('1.1.1.1'), { nil: undefined }),
      needs: fc.subarray(names),
      refs: fc.subarray(names),
    });
    fc.assert(
      fc.property(fc.uniqueArray(resource, { selector: ({ kind }) => kind }), fc.boolean(), (all, mayChangeAddress) => {
        const earlier = (kind: string, list: readonly string[]) => list.filter((one) => one < kind);
        const there = all
          .filter(({ isThere }) => isThere)
          .map((one) =>
            found(one.kind, one.body, {
              status: one.status as 'ready',
              refs: earlier(one.kind, one.refs).map((kind) => refTo(kind)),
              ...(one.slot !== undefined && { slots: [one.slot] }),
              ...(one.address !== undefined && { address: one.address }),
              ...(!one.isOurs && { owner: { cluster: 'c2', service: 'u1' } }),
            }),
          );
        const wants = all
          .filter(({ isWanted }) => isWanted)
          .map(({ kind, value, order, slot, needs }) =>
            want(kind, value, {
              needs: earlier(kind, needs).map((one) => `${one}/k`),
              ...(order !== undefined && { order: order as 'createFirst' }),
              ...(slot !== undefined && { slot }),
            }),
          );
        const kinds = names.map((kind) => kindNamed(kind));
        const plan = planOf(kinds, wants, there, { mayChangeAddress });
        assert.equal(orderOf(plan).length, plan.steps.length);
        assert.deepEqual(JSON.parse(JSON.stringify(plan.steps)).length, plan.steps.length);
        assert.deepEqual(planOf(kinds, wants, there, { mayChangeAddress }), plan);
        for (const { found: one, do: what } of plan.steps) {
          if (one !== undefined && one.id !== '') assert.deepEqual(one.owner, owner);
          if (what === 'delete' && !mayChangeAddress) assert.equal(one!.address, undefined);
        }
        const created = plan.steps.filter((step) => step.do === 'create').map(({ want: one }) => nameOf(one!));
        assert.equal(new Set(created).size, created.length);
      }),
      { numRuns: 1000 },
    );
  });
});
