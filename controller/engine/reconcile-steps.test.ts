import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WithheldError } from '../clouds/permit.ts';
import type { Kind, Want } from './resource.ts';
import { assertBefore, isRead, writesOf } from './testing/calls.ts';
import { type Desired, plainDriver } from './testing/drivers.ts';
import { createEnvironment, drive, ownerOf } from './testing/environment.ts';
import { createFakeCloud } from './testing/fake-cloud.ts';
import { createHarness, desire } from './testing/harness.ts';
import type { Spec } from './testing/table.ts';

describe('the order of steps', () => {
  it('an error of one port delays no other port, because resources wait for resources and not for kinds', async () => {
    for (const [bad, good] of [
      ['443', '80'],
      ['80', '443'],
    ]) {
      const harness = createHarness('plain');
      harness.trouble({ call: new RegExp(`^create group ${bad}`), is: 'QuotaExceeded', times: 9 });
      const result = await harness.reconcile('u1', desire('u1'));
      assert.equal(result.state, 'failed');
      const listeners = [...harness.cloud.things.values()].filter(({ kind }) => kind === 'listener');
      assert.deepEqual(
        listeners.map(({ key }) => key),
        [good],
      );
      assert.deepEqual(
        harness.calls().filter((call) => call.startsWith('update')),
        [],
        'no fresh listener is changed',
      );
    }
  });

  it('sends independent calls side by side, so that a first ensure lasts as long as its longest chain', async () => {
    const harness = createHarness('plain');
    const { cloud, clock } = harness;
    const moments = new Map<number, string[]>();
    cloud.setHook({
      before(call, isWrite) {
        const now = clock.monotonic();
        if (isWrite) moments.set(now, [...(moments.get(now) ?? []), call.split(' ', 2).join(' ')]);
        return undefined;
      },
      crash: () => assert.fail('no crash here'),
    });
    const ports = [80, 81, 82, 83].map((port) => ({ port, nodePort: 30_000 + port }));
    await harness.settle('u1', desire('u1', { ports }));
    const four = (call: string) => [call, call, call, call];
    assert.deepEqual(
      [...moments.values()].map((calls) => calls.sort()),
      [['create address', ...four('create group')], ['create balancer'], four('create listener')],
    );
  });

  it('updates a listener before its old group is deleted, and frees a slot as late as possible', async () => {
    const harness = createHarness('plain');
    await harness.settle('u1', desire('u1'));
    harness.calls();
    await harness.settle('u1', desire('u1', { ports: [{ port: 80, nodePort: 31000 }] }));
    const updated = harness.calls();
    assertBefore(updated, /^create group 80/, /^update listener/);
    assertBefore(updated, /^update listener/, /^delete group/);
    await harness.settle('u1', desire('u1', { zone: 'z2' }));
    const moved = harness.calls();
    assertBefore(moved, /^create group 443/, /^delete balancer/);
    assert.deepEqual(
      moved.filter((call) => /^delete listener/.test(call)),
      [],
      'parts go with their container',
    );
    assert.deepEqual(harness.cloud.violations, []);
  });

  it('keeps a group while a listener whose update failed still refers to it', async () => {
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

  it('members are added before others are removed, and none is removed when adding has failed', async () => {
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

  it('a removal makes the room that an addition was refused, and the addition follows in the same run', async () => {
    const harness = createHarness('plain');
    const ports = [{ port: 80, nodePort: 30080 }];
    await harness.settle('u1', desire('u1', { ports }));
    const group = [...harness.cloud.things.values()].find(
      (one) => one.kind === 'group' && one.owner?.service === 'u1',
    )!;
    const members = () => harness.cloud.things.get(group.id)!.body['members'] as readonly string[];
    const seen: (readonly string[])[] = [];
    harness.cloud.setHook({
      before(call) {
        if (!call.startsWith('update group')) return undefined;
        seen.push(members());
        if (seen.length === 1) throw harness.cloud.error('QuotaExceeded', 'two members at most');
        return undefined;
      },
      crash: () => assert.fail(),
    });
    const result = await harness.reconcile('u1', desire('u1', { ports, members: ['n2', 'n3'] }));
    assert.equal(result.state, 'settled');
    assert.deepEqual(seen, [['n1', 'n2'], ['n1', 'n2'], ['n2']]);
    assert.deepEqual(members(), ['n2', 'n3']);
  });

  it('no removal follows an addition that failed for anything but want of room', async () => {
    const harness = createHarness('plain');
    const ports = [{ port: 80, nodePort: 30080 }];
    await harness.settle('u1', desire('u1', { ports }));
    harness.calls();
    harness.trouble({ call: /^update group/, is: 'Invalid', times: 9 });
    await harness.reconcile('u1', desire('u1', { ports, members: ['n2', 'n3'] }));
    assert.equal(harness.calls().filter((call) => call.startsWith('update group')).length, 1);
  });
});

describe('fresh resources', () => {
  for (const answers of [true, false])
    it(`a create is completed in the same run, with answers that show the resource: ${answers}`, async () => {
      const environment = createEnvironment(
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
      const engine = environment.engine();
      const request = { owner: ownerOf('u1'), desired: desire('u1') };
      assert.equal((await drive(environment.clock, engine.reconcile(request))).state, 'settled');
      const { calls, things } = environment.cloud;
      assertBefore(calls, /^update group/, /^create listener/);
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

describe('running steps', () => {
  it('creates a locking resource with all its parts in one call, and sends one change at a time', async () => {
    const harness = createHarness('composite');
    await harness.settle('u1', desire('u1'));
    assert.deepEqual(writesOf(harness.calls()), ['create balancer main', 'create floating ip main']);
    await harness.settle('u1', desire('u1', { members: ['n1', 'n2', 'n3'], ports: [{ port: 80, nodePort: 31000 }] }));
    assert.deepEqual(harness.cloud.violations, []);
  });

  it('nothing is sent to a locked container while an operation lasts, even without a worker', async () => {
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

  it('a plan is abandoned once something else is desired', async () => {
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

  it('a long operation frees the worker, one poll covers all, and the next process resumes it', async () => {
    const harness = createHarness('composite', 0, { budgetMs: 500 });
    const startedAt = harness.clock.monotonic();
    const both = ['u1', 'u2'].map((service) => harness.reconcile(service, desire(service)));
    assert.deepEqual(
      (await Promise.all(both)).map(({ state }) => state),
      ['waiting', 'waiting'],
    );
    assert.ok(harness.clock.monotonic() - startedAt <= 600);
    // Another process resumes from the pending operations that the cloud shows.
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

  it('the next process waits in the same run for the operation that it finds, and sends nothing again', async () => {
    const harness = createHarness('composite', 0, { budgetMs: 500 });
    assert.equal((await harness.reconcile('u1', desire('u1'))).state, 'waiting');
    harness.restart({});
    const earlier = writesOf(harness.calls());
    assert.deepEqual(earlier, ['create balancer main']);
    assert.equal((await harness.reconcile('u1', desire('u1'))).state, 'settled');
    assert.deepEqual(writesOf(harness.calls()), ['create floating ip main']);
  });

  it('no create is preceded by a read: it fails, a read follows, and the next plan decides', async () => {
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
      [['ForeignLoadBalancer', 'balancer/main']],
    );
    const calls = harness.calls();
    assertBefore(calls, /^create balancer/, /^list/);
    assert.equal(calls.filter((call) => /^create balancer/.test(call)).length, 1);
    assert.deepEqual(harness.cloud.things.get(foreign.id), foreign);
    harness.cloud.set(foreign.id, undefined);
    assert.equal((await harness.settle('u1', desire('u1'))).state, 'settled');
  });

  it('tries a busy resource a few times, and then waits visibly', async () => {
    const harness = createHarness('plain');
    harness.trouble({ call: /^create balancer/, is: 'Busy', times: 9 });
    const result = await harness.reconcile('u1', desire('u1'));
    assert.equal(result.state, 'waiting');
    assert.equal(result.errors.length, 1);
    assert.equal(harness.calls().filter((call) => /^create balancer/.test(call)).length, 3);
  });

  it('a call without effect is named after three tries, and nothing else waits for it', async () => {
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

  it('nothing is sent without a permit, and the Service tries again later', async () => {
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
