import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertBefore, isRead, writesOf } from './testing/calls.ts';
import { adoptsFor } from './testing/drivers.ts';
import { ownerOf } from './testing/environment.ts';
import { createHarness, desire } from './testing/harness.ts';

describe('reads', () => {
  it('a success answer counts as a read; an old read is repeated before anything is deleted', async () => {
    const harness = createHarness('plain');
    await harness.settle('u1', desire('u1'));
    harness.calls();
    await harness.settle('u1', desire('u1', { members: ['n1', 'n2', 'n3'] }));
    assert.deepEqual(harness.calls().filter(isRead), []);
    await harness.settle('u1', desire('u1', { ports: [] }));
    assert.deepEqual(harness.calls().filter(isRead), []);
    await harness.settle('u1', desire('u1'));
    harness.calls();
    await harness.pass(61_000);
    await harness.settle('u1', desire('u1', { ports: [] }));
    assertBefore(harness.calls(), /^read/, /^delete/);
  });

  it('reads nothing before a deletion that reads by itself', async () => {
    const harness = createHarness('plain', 0, {}, (driver) => ({
      ...driver,
      kinds: driver.kinds.map((kind) => ({ ...kind, readsBeforeRemove: true })),
    }));
    await harness.settle('u1', desire('u1'));
    await harness.pass(61_000);
    harness.calls();
    await harness.settle('u1', desire('u1', { ports: [] }));
    assert.deepEqual(harness.calls().filter(isRead), []);
  });

  it('sends nothing after an unknown outcome until a read has succeeded', async () => {
    const harness = createHarness('plain');
    await harness.settle('u1', desire('u1', { ports: [] }));
    harness.calls();
    harness.trouble({ call: /^create group 80/, is: 'lost' }, { call: /^(read|list)/, is: 'Unavailable' });
    await assert.rejects(harness.reconcile('u1', desire('u1')), /trouble/);
    const failed = harness.calls();
    assert.equal(failed.filter((call) => call === 'create group 80').length, 1);
    await harness.settle('u1', desire('u1'));
    const calls = harness.calls();
    assert.ok(isRead(calls[0]!), calls.join(', '));
    assert.deepEqual(
      calls.filter((call) => call === 'create group 80'),
      [],
    );
  });

  it('searches by marks in the read after an error, so that a duplicate does not stay', async () => {
    const harness = createHarness('plain');
    await harness.settle('u1', desire('u1'));
    const { things } = harness.cloud;
    const balancer = [...things.values()].find(({ kind, owner }) => kind === 'balancer' && owner?.cluster === 'c1')!;
    const copy = harness.cloud.add({ ...balancer, slots: [] });
    harness.trouble({ call: /^update/, is: 'Unavailable' });
    await harness.settle('u1', desire('u1', { algorithm: 'lc' }));
    assert.equal(things.has(copy.id), false);
    assert.equal(things.get(balancer.id)?.body['algorithm'], 'lc');
  });

  it('the very first claim of a Service needs no read', async () => {
    const harness = createHarness('plain');
    await harness.settle('u1', desire('u1'));
    harness.calls();
    await harness.settle('u2', desire('u2'));
    assert.deepEqual(harness.calls().filter(isRead), []);
  });
});

describe('settle time', () => {
  it('drops the state of a Service without resources, unless one of its creates may appear', async () => {
    const harness = createHarness('plain', 30_000);
    harness.trouble({ call: /^create balancer/, is: 'lost' });
    await harness.reconcile('u1', desire('u1'));
    assert.equal(harness.forget('u1'), false);
    await harness.settle('u1', desire('u1'));
    assert.equal(harness.forget('u1'), false);
    await harness.settle('u1', undefined);
    assert.equal(harness.forget('u1'), true);
  });

  it('a lost create is searched for until lists must show it, and is not repeated', async () => {
    const harness = createHarness('plain', 3000);
    await harness.pass(5000);
    harness.trouble({ call: /^create balancer/, is: 'lost' });
    await harness.settle('u1', desire('u1', { ports: [] }));
    assert.equal(harness.calls().filter((call) => call.startsWith('create balancer')).length, 1);
  });
});

describe('the record', () => {
  it('the intent of a create that is not safe to repeat is saved with the claim, before the call', async () => {
    const harness = createHarness('plain');
    const tried: (readonly string[])[] = [];
    harness.cloud.setHook({
      before(call) {
        if (call === 'create balancer main') tried.push(harness.journals.get('u1')!.tried);
        return undefined;
      },
      crash: () => assert.fail(),
    });
    await harness.settle('u1', desire('u1'));
    assert.deepEqual(tried, [['address/main', 'balancer/main']]);
    assert.equal(harness.saves.length, 2, 'the claim, and the ids');
  });

  it('ids are saved before any read that could fail', async () => {
    const harness = createHarness('silent');
    harness.trouble({ call: /^read/, is: 'Unavailable' });
    await assert.rejects(harness.reconcile('u1', desire('u1')), /trouble/);
    const { ids } = harness.journals.get('u1')!;
    assert.deepEqual(Object.keys(ids).sort(), ['address/main', 'balancer/main', 'group/443', 'group/80']);
  });

  it('a deleted id leaves the record at once', async () => {
    const harness = createHarness('plain');
    await harness.settle('u1', desire('u1'));
    harness.trouble({ call: /^delete address/, is: 'Unavailable', times: 2 });
    await harness.reconcile('u1', undefined).catch(() => undefined);
    assert.deepEqual(Object.keys(harness.journals.get('u1')!.ids), ['address/main']);
  });

  it('a restart with nothing changed costs one audit and writes nothing', async () => {
    for (const name of ['plain', 'silent', 'composite', 'document', 'rules'] as const) {
      const harness = createHarness(name);
      await harness.settle('u1', desire('u1'));
      harness.saves.length = 0;
      harness.calls();
      harness.restart();
      await harness.settle('u1', desire('u1'));
      const calls = harness.calls();
      assert.deepEqual(writesOf(calls), [], name);
      assert.ok(calls.length <= 2, `${name}: ${calls}`);
      assert.deepEqual(harness.saves, [], name);
    }
  });
});

describe('removals', () => {
  it('a removal is complete only after a read has proved that nothing is left', async () => {
    for (const name of ['plain', 'composite', 'rules'] as const) {
      const harness = createHarness(name);
      await harness.settle('u1', desire('u1'));
      harness.calls();
      await harness.settle('u1', undefined);
      assert.ok(isRead(harness.calls().at(-1)!), name);
      assert.deepEqual(harness.journals.get('u1'), { claimed: false, ids: {}, tried: [] });
    }
  });

  it('a removal finds the last create of an earlier process, although lists do not show it yet', async () => {
    const harness = createHarness('plain', 3000);
    harness.journals.set('u1', { claimed: true, ids: {}, tried: [] });
    await harness.pass(10_000);
    const made = harness.cloud.add({ kind: 'group', key: '80', owner: ownerOf('u1'), slots: [], refs: [], body: {} });
    harness.restart();
    await harness.settle('u1', undefined);
    assert.equal(harness.cloud.things.has(made.id), false);
  });
});

describe('ownership', () => {
  const balancerOf = (harness: ReturnType<typeof createHarness>) =>
    [...harness.cloud.things.values()].find(
      (one) => one.kind === 'balancer' && one.key === 'main' && one.owner?.cluster !== 'c2',
    )!;

  it('a recorded resource that refers to a marked one gets its marks back', async () => {
    const harness = createHarness('plain');
    await harness.settle('u1', desire('u1'));
    const { owner, ...stripped } = balancerOf(harness);
    harness.cloud.set(stripped.id, { ...stripped, owner: undefined });
    harness.restart();
    assert.equal((await harness.settle('u1', desire('u1'))).state, 'settled');
    assert.deepEqual(harness.cloud.things.get(stripped.id)?.owner, owner);
  });

  it('keeps a recorded resource without marks and without proof, and names it', async () => {
    const harness = createHarness('rules');
    await harness.settle('u1', desire('u1'));
    const group = [...harness.cloud.things.values()].find(
      (one) => one.kind === 'group' && one.owner?.service === 'u1',
    )!;
    harness.cloud.set(group.id, { ...group, owner: undefined });
    harness.restart();
    const ensured = await harness.settle('u1', desire('u1'));
    assert.deepEqual([ensured.state, ensured.refusals[0]?.reason], ['refused', 'ForeignLoadBalancer']);
    const removed = await harness.settle('u1', undefined);
    assert.deepEqual([removed.state, removed.refusals[0]?.reason], ['settled', 'ForeignLoadBalancer']);
    assert.ok(harness.cloud.things.has(group.id));
  });

  it('keeps what a load balancer without marks refers to, names it, and deletes the rest', async () => {
    const harness = createHarness('plain');
    await harness.settle('u1', desire('u1'));
    const { things } = harness.cloud;
    const ours = [...things.values()].filter(({ owner }) => owner?.service === 'u1');
    const [group, unused] = ours.filter(({ kind }) => kind === 'group');
    for (const one of ours) if (one.kind !== 'group') harness.cloud.set(one.id, { ...one, owner: undefined });
    for (const one of things.values()) if (one.refs.some(({ id }) => id === unused!.id)) things.delete(one.id);
    harness.restart();
    harness.calls();
    for (let round = 0; round < 2; round += 1) {
      const removed = await harness.settle('u1', undefined);
      assert.equal(removed.state, 'refused');
      const said = removed.refusals.map(({ reason, message }) => `${reason}: ${message}`).join('; ');
      assert.match(said, new RegExp(`ForeignLoadBalancer: group ${group!.id} stays: balancer .*refers to it`));
    }
    assert.deepEqual([things.has(group!.id), things.has(unused!.id)], [true, false]);
    assert.equal(harness.calls().filter((call) => call.startsWith('delete')).length, 1);
  });

  it('parts in a load balancer of others need consent, are recorded, and are removed completely', async () => {
    const harness = createHarness('plain');
    const host = harness.cloud.add({ kind: 'balancer', key: 'host', slots: ['name host'], refs: [], body: {} });
    const theirs = harness.cloud.add({
      kind: 'listener',
      key: '443',
      within: host.id,
      slots: [`${host.id} 443`],
      refs: [],
      body: {},
    });
    const attach = { id: host.id, allowed: false };
    const refused = await harness.settle('u1', desire('u1', { attach }));
    assert.deepEqual(
      refused.refusals.map(({ reason, name }) => [reason, name]),
      [['ForeignLoadBalancer', 'balancer/main']],
    );
    harness.trouble({ call: /^create listener 80/, is: 'lost' });
    const result = await harness.settle('u1', desire('u1', { attach: { ...attach, allowed: true } }));
    assert.deepEqual(
      result.refusals.map(({ reason, name }) => [reason, name]),
      [['ForeignLoadBalancer', 'listener/443']],
    );
    const inside = () =>
      [...harness.cloud.things.values()].filter(({ within }) => within === host.id).map(({ key }) => key);
    assert.deepEqual(inside().sort(), ['443', '80']);
    harness.restart();
    await harness.settle('u1', desire('u1', { attach: { ...attach, allowed: true } }));
    await harness.settle('u1', undefined);
    assert.deepEqual(inside(), ['443']);
    assert.deepEqual([harness.cloud.things.get(host.id), harness.cloud.things.get(theirs.id)], [host, theirs]);
  });

  it('an adopted resource is marked before it is changed, and a retained one stays', async () => {
    const harness = createHarness('plain');
    const classic = harness.cloud.add({
      kind: 'balancer',
      key: 'main',
      slots: ['name u1'],
      refs: [],
      body: { algorithm: 'old', fixed: 'z1' },
      consent: true,
    });
    await harness.settle('u1', desire('u1'), { adopts: adoptsFor('u1') });
    const calls = harness.calls();
    const updates = calls.filter((call) => call.startsWith(`update ${classic.id}`));
    assert.equal(updates[0], `update ${classic.id} owner`);
    assert.equal(balancerOf(harness).id, classic.id);
    await harness.settle('u1', undefined, { retain: true });
    const left = harness.cloud.things.get(classic.id)!;
    assert.deepEqual([left.owner, left.retained], [undefined, true]);
  });

  it('an adopted resource is recorded by its id, so that no search is needed afterwards', async () => {
    const harness = createHarness('silent');
    const classic = harness.cloud.add({
      kind: 'balancer',
      key: 'main',
      slots: ['name u1'],
      refs: [],
      consent: true,
      body: { algorithm: 'old', fixed: 'z1' },
    });
    harness.trouble({ call: /^create (group|listener)/, is: 'Unavailable', times: 99 });
    await harness.reconcile('u1', desire('u1'), { adopts: adoptsFor('u1') });
    assert.equal(harness.journals.get('u1')?.ids['balancer/main'], classic.id);
  });

  it('no address is given up without consent, and the rest of the plan goes on', async () => {
    const harness = createHarness('document');
    await harness.settle('u1', desire('u1'));
    const address = () =>
      [...harness.cloud.things.values()].find((one) => one.kind === 'address' && one.owner?.service === 'u1');
    const before = address();
    const more = { mayChangeAddress: false };
    const result = await harness.settle('u1', desire('u1', { zone: 'z2', members: ['n7'] }), more);
    assert.deepEqual(
      result.refusals.map(({ reason }) => reason),
      ['AddressWouldChange'],
    );
    assert.deepEqual(address(), before);
    assert.ok(harness.documents!.doc!.some(({ body }) => body['members'] === 'n7'));
  });
});

describe('calls', () => {
  const table = {
    // First, further, a node more, delete, audit: reads and writes, without polls.
    plain: [7, 6, 2, 8, 1],
    composite: [6, 4, 4, 4, 2],
    document: [5, 3, 2, 3, 2],
    rules: [4, 2, 1, 4, 2],
  } as const;
  for (const [name, most] of Object.entries(table))
    it(`the ${name} cloud takes no more calls than its table says`, async () => {
      const harness = createHarness(name as keyof typeof table);
      const count = async (work: () => Promise<unknown>) => {
        harness.calls();
        await work();
        return harness.calls();
      };
      const more = { members: ['n1', 'n2', 'n3'] };
      const counted = [
        await count(() => harness.settle('u1', desire('u1'))),
        await count(() => harness.settle('u2', desire('u2'))),
        await count(() => harness.settle('u2', desire('u2', more))),
        await count(() => harness.settle('u2', undefined)),
        await count(async () => {
          harness.restart();
          await harness.settle('u1', desire('u1'));
        }),
      ];
      for (const [at, calls] of counted.entries()) assert.ok(calls.length <= most[at]!, `${at}: ${calls.join(', ')}`);
    });
});
