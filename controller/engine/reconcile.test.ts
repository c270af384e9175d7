import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WithheldError } from '../clouds/permit.ts';
import type { Kind, Want } from './resource.ts';
import { adoptsFor, type Desired, plainDriver } from './testing/drivers.ts';
import { createFakeCloud } from './testing/fake-cloud.ts';
import { createHarness, desire } from './testing/harness.ts';
import type { Spec } from './testing/table.ts';
import { createWorld, drive, ownerOf } from './testing/world.ts';

const isRead = (call: string) => /^(list|read)/.test(call);
const writesOf = (calls: readonly string[]) => calls.filter((call) => !isRead(call));
const before = (calls: readonly string[], first: RegExp, second: RegExp) => {
  const [a, b] = [calls.findIndex((call) => first.test(call)), calls.findLastIndex((call) => second.test(call))];
  assert.ok(a >= 0 && b >= 0 && a < b, `${first} before ${second}: ${calls.join(', ')}`);
};

describe('the engine reads', () => {
  it('takes a success answer as a read, and reads before it deletes by old knowledge', async () => {
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
    before(harness.calls(), /^read/, /^delete/);
  });

  it('knows nothing after an unknown outcome until a read has succeeded', async () => {
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

  it('searches by marks after an error, so that a duplicate does not stay', async () => {
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

  it('needs no read for the very first claim of a Service', async () => {
    const harness = createHarness('plain');
    await harness.settle('u1', desire('u1'));
    harness.calls();
    await harness.settle('u2', desire('u2'));
    assert.deepEqual(harness.calls().filter(isRead), []);
  });
});

describe('the engine looks', () => {
  it('until a lost create must show, and makes no second one', async () => {
    const harness = createHarness('plain', 3000);
    await harness.pass(5000);
    harness.trouble({ call: /^create balancer/, is: 'lost' });
    await harness.settle('u1', desire('u1', { ports: [] }));
    assert.equal(harness.calls().filter((call) => call.startsWith('create balancer')).length, 1);
  });
});

describe('the engine records', () => {
  it('its intent before a create that is not safe to repeat, together with the claim', async () => {
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

  it('ids before any read that could fail', async () => {
    const harness = createHarness('silent');
    harness.trouble({ call: /^read/, is: 'Unavailable' });
    await assert.rejects(harness.reconcile('u1', desire('u1')), /trouble/);
    const { ids } = harness.journals.get('u1')!;
    assert.deepEqual(Object.keys(ids).sort(), ['address/main', 'balancer/main', 'group/443', 'group/80']);
  });

  it('at once that what it deleted is gone', async () => {
    const harness = createHarness('plain');
    await harness.settle('u1', desire('u1'));
    harness.trouble({ call: /^delete address/, is: 'Unavailable', times: 2 });
    await harness.reconcile('u1', undefined).catch(() => undefined);
    assert.deepEqual(Object.keys(harness.journals.get('u1')!.ids), ['address/main']);
  });

  it('nothing new where nothing has changed, and a restart costs one audit and no write', async () => {
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

describe('the engine removes', () => {
  it('and says so only after a read has proved that nothing is left', async () => {
    for (const name of ['plain', 'composite', 'rules'] as const) {
      const harness = createHarness(name);
      await harness.settle('u1', desire('u1'));
      harness.calls();
      await harness.settle('u1', undefined);
      assert.ok(isRead(harness.calls().at(-1)!), name);
      assert.deepEqual(harness.journals.get('u1'), { claimed: false, ids: {}, tried: [] });
    }
  });

  it('what an earlier process made last, although lists do not show it yet', async () => {
    const harness = createHarness('plain', 3000);
    harness.journals.set('u1', { claimed: true, ids: {}, tried: [] });
    await harness.pass(10_000);
    const made = harness.cloud.add({ kind: 'group', key: '80', owner: ownerOf('u1'), slots: [], refs: [], body: {} });
    harness.restart();
    await harness.settle('u1', undefined);
    assert.equal(harness.cloud.things.has(made.id), false);
  });
});

describe('the engine orders', () => {
  it('by resources and not by kinds: the error of one port stops no other port', async () => {
    const harness = createHarness('plain');
    harness.trouble({ call: /^create group 443/, is: 'QuotaExceeded', times: 9 });
    const result = await harness.reconcile('u1', desire('u1'));
    assert.equal(result.state, 'failed');
    const listeners = [...harness.cloud.things.values()].filter(({ kind }) => kind === 'listener');
    assert.deepEqual(
      listeners.map(({ key }) => key),
      ['80'],
    );
    assert.deepEqual(
      harness.calls().filter((call) => call.startsWith('update')),
      [],
      'no fresh listener is changed',
    );
  });

  it('the turn of a listener before the end of its old group, and frees a place as late as it can', async () => {
    const harness = createHarness('plain');
    await harness.settle('u1', desire('u1'));
    harness.calls();
    await harness.settle('u1', desire('u1', { ports: [{ port: 80, nodePort: 31000 }] }));
    const turned = harness.calls();
    before(turned, /^create group 80/, /^update listener/);
    before(turned, /^update listener/, /^delete group/);
    await harness.settle('u1', desire('u1', { zone: 'z2' }));
    const moved = harness.calls();
    before(moved, /^create group 443/, /^delete balancer/);
    assert.deepEqual(
      moved.filter((call) => /^delete listener/.test(call)),
      [],
      'parts go with their container',
    );
    assert.deepEqual(harness.cloud.violations, []);
  });

  it('nothing away that something still refers to, because its turn failed', async () => {
    const harness = createHarness('plain');
    await harness.settle('u1', desire('u1'));
    harness.calls();
    harness.trouble({ call: /^update listener/, is: 'QuotaExceeded', times: 9 });
    const result = await harness.reconcile('u1', desire('u1', { ports: [{ port: 80, nodePort: 31000 }] }));
    assert.equal(result.state, 'failed');
    // The group of port 443, which is not asked for any more, goes; the one that serves port 80 stays.
    assert.equal(harness.calls().filter((call) => /^delete group/.test(call)).length, 1);
    assert.deepEqual(harness.cloud.violations, []);
  });

  it('what is added before what is taken away, and takes nothing away when adding failed', async () => {
    const harness = createHarness('plain');
    const ports = [{ port: 80, nodePort: 30080 }];
    await harness.settle('u1', desire('u1', { ports }));
    const group = [...harness.cloud.things.values()].find(
      (one) => one.kind === 'group' && one.owner?.service === 'u1',
    )!;
    const members = () => harness.cloud.things.get(group.id)!.body['members'];
    harness.trouble({ call: /^update group/, is: 'QuotaExceeded' });
    await harness.reconcile('u1', desire('u1', { ports, members: ['n3'] }));
    assert.deepEqual(members(), ['n1', 'n2']);
    harness.cloud.setHook(undefined);
    const seen: unknown[] = [];
    harness.cloud.setHook({ before: () => void seen.push(members()), crash: () => assert.fail() });
    await harness.settle('u1', desire('u1', { ports, members: ['n3'] }));
    assert.ok(
      seen.some((one) => String(one) === 'n1,n2,n3'),
      JSON.stringify(seen),
    );
    assert.deepEqual(members(), ['n3']);
  });
});

describe('the engine completes', () => {
  for (const answers of [true, false])
    it(`what a create leaves to be done, in the same run, with answers that tell all: ${answers}`, async () => {
      const world = createWorld(
        (clock) => createFakeCloud({ clock }),
        (cloud) => () => {
          const driver = plainDriver(cloud, { answers, settleMs: 0 });
          const kinds = driver.kinds.map((kind): Kind => {
            if (kind.kind !== 'group') return kind;
            const bare = (want: Want): Want => ({ ...want, spec: { ...(want.spec as Spec), body: { members: [] } } });
            return {
              ...kind,
              create: (want, inside, io) => kind.create!(bare(want), inside, io),
              fresh: ({ spec }) => ({ body: { body: { members: [], fixed: (spec as Spec).fixed! }, refs: [] } }),
            };
          });
          return { ...driver, kinds };
        },
      );
      const engine = world.engine();
      const request = { owner: ownerOf('u1'), desired: desire('u1') };
      assert.equal((await drive(world.clock, engine.reconcile(request))).state, 'settled');
      const { calls, things } = world.cloud;
      before(calls, /^update group/, /^create listener/);
      const groups = [...things.values()].filter(({ kind }) => kind === 'group');
      assert.deepEqual(
        groups.map(({ body }) => body['members']),
        [
          ['n1', 'n2'],
          ['n1', 'n2'],
        ],
      );
      const firstRead = calls.findIndex((call, at) => at > 0 && isRead(call));
      assert.ok(firstRead < 0 || firstRead > calls.findIndex((call) => call.startsWith('create listener')), `${calls}`);
    });
});

describe('the engine runs', () => {
  it('one change at a time in what locks itself, and makes it with all its parts in one call', async () => {
    const harness = createHarness('composite');
    await harness.settle('u1', desire('u1'));
    assert.deepEqual(writesOf(harness.calls()), ['create balancer main', 'create floating ip main']);
    await harness.settle('u1', desire('u1', { members: ['n1', 'n2', 'n3'], ports: [{ port: 80, nodePort: 31000 }] }));
    assert.deepEqual(harness.cloud.violations, []);
  });

  it('nothing in a locked container while an operation lasts, even when its worker is gone', async () => {
    const harness = createHarness('composite', 0, { budgetMs: 500 });
    const { cloud, clock } = harness;
    const host = cloud.add({ kind: 'balancer', key: 'host', slots: ['name host'], refs: [], body: {} });
    const engine = harness.engine({ budgetMs: 500 });
    await drive(clock, engine.audit());
    const ask = (service: string, port: number) => {
      const ports = [{ port, nodePort: 30000 + port }];
      const desired = desire(service, { ports, attach: { id: host.id, allowed: true } });
      return engine.reconcile({ owner: ownerOf(service), desired, mayChangeAddress: true });
    };
    const first = ask('u1', 80);
    await clock.advance(35);
    const second = ask('u2', 81);
    await drive(clock, Promise.all([first, second]));
    assert.deepEqual(cloud.violations, []);
  });

  it('nothing more of a plan once something else is desired', async () => {
    const harness = createHarness('plain');
    const { cloud, clock } = harness;
    const engine = harness.engine();
    const ask = (ports: Desired['ports']) =>
      engine.reconcile({ owner: ownerOf('u1'), desired: desire('u1', { ports }), mayChangeAddress: true });
    const first = ask(desire('u1').ports);
    while (!cloud.calls.includes('create balancer main')) await clock.advance(1);
    const second = ask([]);
    const results = await drive(clock, Promise.all([first, second]));
    assert.deepEqual(
      results.map(({ state }) => state),
      ['settled', 'settled'],
    );
    const kinds = [...cloud.things.values()].filter(({ owner }) => owner?.service === 'u1' && owner.cluster === 'c1');
    assert.deepEqual(kinds.map(({ kind }) => kind).sort(), ['address', 'balancer']);
    assert.ok(!cloud.calls.some((call) => call.startsWith('create listener')), cloud.calls.join(', '));
  });

  it('gives the worker back while an operation lasts, polls once for all, and goes on from there', async () => {
    const harness = createHarness('composite', 0, { budgetMs: 500 });
    const startedAt = harness.clock.monotonic();
    const both = ['u1', 'u2'].map((service) => harness.reconcile(service, desire(service)));
    assert.deepEqual(
      (await Promise.all(both)).map(({ state }) => state),
      ['waiting', 'waiting'],
    );
    assert.ok(harness.clock.monotonic() - startedAt <= 600);
    // Another process resumes from what the cloud says it works on.
    harness.restart();
    await Promise.all([harness.settle('u1', desire('u1')), harness.settle('u2', desire('u2'))]);
    const polls = harness.cloud.calls.filter((call) => call === 'poll').length;
    assert.ok(polls <= 14, `${polls} polls`);
    const made = [...harness.cloud.things.values()].filter(
      (one) => one.kind === 'balancer' && one.owner?.cluster === 'c1',
    );
    assert.equal(made.length, 2);
    assert.deepEqual(harness.cloud.violations, []);
  });

  it('no look before a create: the branch fails, a read follows, and the next plan decides', async () => {
    const harness = createHarness('plain');
    const foreign = harness.cloud.add({
      kind: 'balancer',
      key: 'main',
      slots: ['name u1'],
      refs: [],
      body: { algorithm: 'x' },
    });
    const result = await harness.settle('u1', desire('u1'));
    assert.equal(result.state, 'refused');
    assert.deepEqual(
      result.refusals.map(({ reason, name }) => [reason, name]),
      [['Foreign', 'balancer/main']],
    );
    const calls = harness.calls();
    before(calls, /^create balancer/, /^list/);
    assert.equal(calls.filter((call) => /^create balancer/.test(call)).length, 1);
    assert.deepEqual(harness.cloud.things.get(foreign.id), foreign);
    harness.cloud.set(foreign.id, undefined);
    assert.equal((await harness.settle('u1', desire('u1'))).state, 'settled');
  });

  it('a few tries against the lock of another, and then waits visibly', async () => {
    const harness = createHarness('plain');
    harness.trouble({ call: /^create balancer/, is: 'Busy', times: 9 });
    const result = await harness.reconcile('u1', desire('u1'));
    assert.equal(result.state, 'waiting');
    assert.equal(result.errors.length, 1);
    assert.equal(harness.calls().filter((call) => /^create balancer/.test(call)).length, 3);
  });

  it('not for ever what the cloud accepts without doing it, names it, and keeps nothing else waiting', async () => {
    const harness = createHarness('silent');
    await harness.settle('u1', desire('u1'));
    harness.cloud.ignoring.add('group');
    harness.calls();
    const ports = [...desire('u1').ports, { port: 8080, nodePort: 30088 }];
    const result = await harness.settle('u1', desire('u1', { ports, members: ['n1', 'n2', 'n3'], algorithm: 'lc' }));
    assert.equal(result.state, 'refused');
    assert.deepEqual([...new Set(result.refusals.map(({ reason }) => reason))], ['NoEffect']);
    assert.match(result.refusals[0]!.message, /group\/(80|443): members of group/);
    const calls = harness.calls();
    assert.equal(calls.filter((call) => /^update group/.test(call)).length, 6, 'three for each of two');
    assert.ok(calls.includes('create listener 8080') && calls.some((call) => /^update balancer/.test(call)));
  });

  it('nothing without a permit, and tries again later', async () => {
    for (const name of ['plain', 'composite', 'document', 'rules'] as const) {
      const paused = createHarness(name);
      const no = () => {
        throw new WithheldError('Paused', 'paused');
      };
      paused.restart({ permit: () => no });
      const result = await paused.reconcile('u1', desire('u1'));
      assert.equal(result.state, 'withheld', name);
      assert.deepEqual(writesOf(paused.calls()), [], name);
    }
  });
});

describe('the engine owns', () => {
  const balancerOf = (harness: ReturnType<typeof createHarness>) =>
    [...harness.cloud.things.values()].find(
      (one) => one.kind === 'balancer' && one.key === 'main' && one.owner?.cluster !== 'c2',
    )!;

  it('what is recorded and refers to what is marked: it gets its marks back', async () => {
    const harness = createHarness('plain');
    await harness.settle('u1', desire('u1'));
    const { owner, ...stripped } = balancerOf(harness);
    harness.cloud.set(stripped.id, { ...stripped, owner: undefined });
    harness.restart();
    assert.equal((await harness.settle('u1', desire('u1'))).state, 'settled');
    assert.deepEqual(harness.cloud.things.get(stripped.id)?.owner, owner);
  });

  it('not what is recorded and unmarked without proof: it stays, and is named', async () => {
    const harness = createHarness('rules');
    await harness.settle('u1', desire('u1'));
    const group = [...harness.cloud.things.values()].find(
      (one) => one.kind === 'group' && one.owner?.service === 'u1',
    )!;
    harness.cloud.set(group.id, { ...group, owner: undefined });
    harness.restart();
    const ensured = await harness.settle('u1', desire('u1'));
    assert.deepEqual([ensured.state, ensured.refusals[0]?.reason], ['refused', 'Foreign']);
    const removed = await harness.settle('u1', undefined);
    assert.deepEqual([removed.state, removed.refusals[0]?.reason], ['settled', 'Foreign']);
    assert.ok(harness.cloud.things.has(group.id));
  });

  it('parts alone in what others made: with consent, journaled, and removed without a trace', async () => {
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
      [['Foreign', 'balancer/main']],
    );
    harness.trouble({ call: /^create listener 80/, is: 'lost' });
    const result = await harness.settle('u1', desire('u1', { attach: { ...attach, allowed: true } }));
    assert.deepEqual(
      result.refusals.map(({ reason, name }) => [reason, name]),
      [['Foreign', 'listener/443']],
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

  it('what it adopts, marked before anything of it is changed; and leaves what it retains', async () => {
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

  it('what it has just taken over, by its id: no search is needed to see what came of it', async () => {
    const harness = createHarness('silent');
    const classic = harness.cloud.add({
      ...{ kind: 'balancer', key: 'main', slots: ['name u1'], refs: [], consent: true },
      body: { algorithm: 'old', fixed: 'z1' },
    });
    harness.trouble({ call: /^create (group|listener)/, is: 'Unavailable', times: 99 });
    await harness.reconcile('u1', desire('u1'), { adopts: adoptsFor('u1') });
    assert.equal(harness.journals.get('u1')?.ids['balancer/main'], classic.id);
  });

  it('no address away without consent: the rest goes on', async () => {
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

describe('the engine shares', () => {
  it('a document in edits of each owner, and shrinks no union before all Services are known', async () => {
    const harness = createHarness('document');
    await harness.settle('u1', desire('u1', { members: ['n1'] }));
    await harness.settle('u2', desire('u2', { members: ['n2'] }));
    harness.restart({ everyoneDeclared: () => false });
    await harness.settle('u1', desire('u1', { members: ['n3'], ports: [] }));
    const doc = harness.documents!.doc!;
    const pool = doc.find(({ kind }) => kind === 'pool')!;
    assert.equal(pool.body['members'], 'n1,n2,n3');
    assert.deepEqual(
      doc.filter(({ kind, owner }) => kind === 'rule' && owner?.service === 'u1'),
      [],
    );
    assert.equal(doc.filter(({ kind, owner }) => kind === 'rule' && owner?.service === 'u2').length, 2);
  });

  it('one write of a document among all, and lets no refused edit spoil it', async () => {
    const harness = createHarness('document');
    await harness.settle('u1', desire('u1'));
    harness.documents!.refuse('30666');
    harness.calls();
    const bad = desire('bad', { ports: [{ port: 80, nodePort: 30666 }] });
    const services = ['a', 'b', 'c', 'd'];
    const all = await Promise.all([
      harness.reconcile('bad', bad),
      ...services.map((one) => harness.reconcile(one, desire(one))),
    ]);
    assert.deepEqual(
      all.map(({ state }) => state),
      ['failed', 'settled', 'settled', 'settled', 'settled'],
    );
    harness.calls();
    // The offender goes alone from now on.
    await Promise.all([
      harness.reconcile('bad', bad),
      ...services.map((one) => harness.settle(one, desire(one, { members: ['n5'] }))),
    ]);
    const writes = harness.calls().filter((call) => call === 'write document');
    assert.ok(writes.length <= 3, `${writes.length} writes`);
  });

  it('a lane: one call at a time takes what gathers, adds first, and asks the permit of each owner', async () => {
    const harness = createHarness('rules');
    const services = ['a', 'b', 'c'];
    for (const one of services)
      await harness.settle(one, desire(one, { ports: [{ port: 1, nodePort: 30009 }], members: [] }));
    harness.calls();
    harness.restart({
      permit:
        ({ service }) =>
        () => {
          if (service === 'b') throw new WithheldError('Paused', 'paused');
        },
    });
    const group = [{ port: 1, nodePort: 30009 }];
    await Promise.all(services.map((one) => harness.reconcile(one, desire(one, { ports: group, members: [one] }))));
    const rules = () => [...harness.cloud.things.values()].filter(({ kind }) => kind === 'rule').map(({ key }) => key);
    assert.deepEqual(
      rules().filter((key) => key.startsWith('30009')),
      ['30009 from a', '30009 from c'],
    );
    assert.equal(harness.calls().filter((call) => call.startsWith('authorize')).length, 1);
    harness.restart({});
    const declared = services.map((one) => ({
      owner: ownerOf(one),
      desired: desire(one, { ports: group, members: [`${one}2`] }),
    }));
    const engine = harness.engine();
    for (const request of declared) engine.declare(request);
    await drive(harness.clock, Promise.all(declared.map((request) => engine.reconcile(request))));
    before(harness.calls(), /^authorize/, /^revoke/);
    assert.deepEqual(
      rules()
        .filter((key) => key.startsWith('30009'))
        .sort(),
      ['30009 from a2', '30009 from b2', '30009 from c2'],
    );
  });

  it('a rule that is wanted again in the turn in which it would be removed', async () => {
    const harness = createHarness('rules');
    const ports = [{ port: 80, nodePort: 30080 }];
    await harness.settle('u1', desire('u1', { ports, members: ['n1', 'n2'] }));
    harness.calls();
    const engine = harness.engine();
    await drive(harness.clock, engine.audit());
    const ask = (service: string, members: string[]) => ({
      owner: ownerOf(service),
      desired: desire(service, { ports, members }),
    });
    // The lane is busy with a rule of another Service.
    const adding = engine.reconcile(ask('u3', ['n3']));
    await harness.clock.advance(25);
    const removing = engine.reconcile(ask('u1', ['n1']));
    await harness.clock.advance(1);
    engine.declare(ask('u2', ['n2']));
    await drive(harness.clock, Promise.all([adding, removing]));
    assert.deepEqual(
      harness.calls().filter((call) => call.startsWith('revoke')),
      [],
    );
  });

  it('a lane that adds first, whatever came first into its queue', async () => {
    const harness = createHarness('rules');
    const ports = [{ port: 80, nodePort: 30080 }];
    await harness.settle('u1', desire('u1', { ports, members: ['n1', 'n2'] }));
    await harness.settle('u4', desire('u4', { ports, members: [] }));
    harness.calls();
    const engine = harness.engine();
    await drive(harness.clock, engine.audit());
    const ask = (service: string, members: string[]) =>
      engine.reconcile({ owner: ownerOf(service), desired: desire(service, { ports, members }) });
    const all = [ask('u3', ['n3'])];
    await harness.clock.advance(25);
    all.push(ask('u1', ['n1']));
    await harness.clock.advance(1);
    all.push(ask('u4', ['n4']));
    await drive(harness.clock, Promise.all(all));
    const lane = harness.calls().filter((call) => /^(authorize|revoke)/.test(call));
    assert.deepEqual(lane, ['authorize 30080 from n3', 'authorize 30080 from n4', 'revoke 30080 from n2']);
  });

  it('nothing away that a Service may want which is not known yet, and waits', async () => {
    const harness = createHarness('rules');
    await harness.settle('u1', desire('u1'));
    await harness.settle('u2', desire('u2', { members: ['n7'] }));
    harness.restart({ everyoneDeclared: () => false });
    const result = await harness.reconcile('u1', undefined);
    assert.equal(result.state, 'waiting');
    assert.match(result.waits[0]!.why, /not every Service is known/);
    assert.deepEqual(
      harness.calls().filter((call) => call.startsWith('revoke')),
      [],
    );
  });

  it('a refused batch in halves, and is content with what is there already', async () => {
    const harness = createHarness('rules');
    const ports = [{ port: 80, nodePort: 30080 }];
    const result = await harness.reconcile('u1', desire('u1', { ports, members: ['n1', 'refused', 'n2', 'n3'] }));
    assert.equal(result.state, 'failed');
    const rules = [...harness.cloud.things.values()].filter(({ key }) => key.startsWith('30080')).map(({ key }) => key);
    assert.deepEqual(rules.sort(), ['30080 from n1', '30080 from n2', '30080 from n3']);
    const foreign = [...harness.cloud.things.values()].find(({ key }) => key === '30001 from n1')!;
    harness.restart();
    await harness.settle('u2', desire('u2', { ports: [{ port: 80, nodePort: 30001 }], members: ['n1'] }));
    assert.deepEqual(harness.cloud.things.get(foreign.id), foreign, 'an identical foreign rule serves');
  });

  it('a rule that another controller keeps for a Service, until that Service has settled here', async () => {
    const harness = createHarness('rules');
    const held = harness.cloud.add({
      ...{ kind: 'rule', key: '31000 from x', slots: ['rule 31000 from x'], refs: [], within: 'nodes-group' },
      ...{ owner: { cluster: 'c1', service: '*' }, body: { heldBy: 'u2' } },
    });
    await harness.settle('u1', desire('u1'));
    assert.ok(harness.cloud.things.has(held.id));
    await harness.settle('u2', desire('u2'));
    assert.equal(harness.cloud.things.has(held.id), false);
  });
});

describe('the engine costs', () => {
  const table = {
    // First, further, a node more, delete, audit: reads and writes, without polls.
    plain: [7, 6, 2, 8, 1],
    composite: [6, 4, 4, 4, 2],
    document: [5, 3, 2, 3, 2],
    rules: [4, 2, 1, 4, 2],
  } as const;
  for (const [name, most] of Object.entries(table))
    it(`no more calls with the ${name} cloud than its table says`, async () => {
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
