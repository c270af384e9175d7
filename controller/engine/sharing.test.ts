import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from '../../common/cloud-error.ts';
import { advanceDuring, fakeClock } from '../../common/testing/fake-clock.ts';
import type { Driver } from './driver.ts';
import { createEngine } from './engine.ts';
import { everyService, type Found, type Kind, type Owner, type Want } from './resource.ts';

const cluster = 'c1';
const ownerOf = (service: string): Owner => ({ cluster, service });
const allServices = ownerOf(everyService);

interface CloudState {
  /** Ids of the resources: `balancer a`, `group`, `rule 1`. */
  readonly things: Set<string>;
  readonly calls: string[];
}

/** A load balancer for each Service, a group that all of them carry, and rules in a lane for each Service. */
function setUp() {
  const clock = fakeClock();
  const cloud: CloudState = { things: new Set(), calls: [] };
  /** Called before each mutating call. */
  const hooks = { before: (_: string): Promise<void> | void => undefined, hidesUsers: false };
  const found = (id: string): Found => {
    const [kind = '', name = ''] = id.split(' ');
    const owner = kind === 'balancer' ? ownerOf(name) : kind === 'group' ? allServices : ownerOf(name.slice(0, 1));
    const refs = kind === 'balancer' && cloud.things.has('group') ? [{ role: 'g', kind: 'group', id: 'group' }] : [];
    const key = kind === 'rule' ? name : 'main';
    return { kind, id, owner, key, status: 'ready', refs, body: undefined };
  };
  async function send(call: string, permit: (ms: number) => void, work: () => void): Promise<void> {
    permit(1000);
    cloud.calls.push(call);
    await hooks.before(call);
    work();
  }
  const kindOf = (kind: string): Kind => ({
    kind,
    retryCreate: 'atOnce',
    compare: () => ({ same: true }),
    async create({ key }, _, { owner, permit }) {
      const id = kind === 'group' ? 'group' : `${kind} ${key === 'main' ? owner.service : key}`;
      await send(`create ${id}`, permit, () => cloud.things.add(id));
      return { id, found: [found(id)] };
    },
    async remove({ id }, { permit }) {
      await send(`delete ${id}`, permit, () => cloud.things.delete(id));
      return {};
    },
  });
  const group: Kind = {
    ...kindOf('group'),
    merge: ([spec]) => spec,
    usedBy: () =>
      hooks.hidesUsers ? undefined : [...cloud.things].flatMap((id) => (id.startsWith('balancer ') ? id.slice(9) : [])),
  };
  const rule: Kind = {
    ...kindOf('rule'),
    lane: () => 'rules',
    async createMany(wants, { permit }) {
      const ids = wants.map(({ want }) => `rule ${want.key}`);
      await send(`create ${ids.join()}`, permit, () => ids.forEach((id) => void cloud.things.add(id)));
      return { found: ids.map(found) };
    },
    async removeMany(removed, { permit }) {
      const ids = removed.map(({ id }) => id);
      await send(`delete ${ids.join()}`, permit, () => ids.forEach((id) => void cloud.things.delete(id)));
      return {};
    },
  };
  const driver: Driver<readonly string[]> = {
    kinds: [kindOf('balancer'), group, rule],
    readers: [
      {
        kinds: ['balancer', 'group', 'rule'],
        all: async () => [...cloud.things].map(found),
        of: async () => ({ found: [...cloud.things].map(found), complete: ['balancer', 'group', 'rule'] }),
      },
    ],
    desire(rules) {
      if (rules.includes('nothing')) return { wants: [], refusals: [] };
      const wants: Want[] = [
        { kind: 'group', key: 'main', spec: undefined, summary: 'group' },
        { kind: 'balancer', key: 'main', needs: ['group/main'], spec: undefined, summary: 'balancer' },
        ...rules.map((key): Want => ({ kind: 'rule', key, spec: undefined, summary: key })),
      ];
      return { wants, refusals: [] };
    },
    poll: async () => new Map(),
  };
  let permits: string[] = [];
  const open = (allServicesDeclared = true) =>
    createEngine({
      driver,
      cluster,
      clock,
      allServicesDeclared: () => allServicesDeclared,
      permit: (owner) => () => void permits.push(owner.service),
      saveJournal: async () => undefined,
    });
  return {
    cloud,
    hooks,
    clock,
    open,
    during: <T>(work: Promise<T>) => advanceDuring(clock, work),
    permits: () => permits.splice(0),
    clear: () => {
      permits = [];
    },
  };
}

describe('a shared resource', () => {
  it('deletes a shared resource with its last user in the cloud, even before every Service is declared', async () => {
    const { cloud, open, during } = setUp();
    for (const service of ['a', 'b']) await during(open().reconcile({ owner: ownerOf(service), desired: [] }));
    const engine = open(false);
    await during(engine.reconcile({ owner: ownerOf('a'), desired: undefined }));
    assert.deepEqual([...cloud.things], ['group', 'balancer b']);
    await during(engine.reconcile({ owner: ownerOf('b'), desired: undefined }));
    assert.deepEqual([...cloud.things], []);
    assert.deepEqual(cloud.calls.slice(-2), ['delete balancer b', 'delete group'], 'in one go, and last');
  });

  it('deletes a shared resource without known users once every Service is declared and none desires it', async () => {
    const { cloud, hooks, open, during } = setUp();
    hooks.hidesUsers = true;
    cloud.things.add('group');
    const request = { owner: ownerOf('a'), desired: ['nothing'] };
    await during(open(false).reconcile(request));
    assert.deepEqual([...cloud.things], ['group']);
    const engine = open();
    engine.declare({ owner: ownerOf('b'), desired: [] });
    await during(engine.reconcile(request));
    assert.deepEqual([...cloud.things], ['group']);
    engine.declare({ owner: ownerOf('b'), desired: ['nothing'] });
    await during(engine.reconcile(request));
    assert.deepEqual([...cloud.things], []);
  });

  it('keeps a shared resource that another Service desires before its removal is sent', async () => {
    const { cloud, hooks, open, during } = setUp();
    const engine = open();
    await during(engine.reconcile({ owner: ownerOf('a'), desired: [] }));
    hooks.before = (call) => {
      if (call === 'delete balancer a') engine.declare({ owner: ownerOf('b'), desired: [] });
    };
    await during(engine.reconcile({ owner: ownerOf('a'), desired: undefined }));
    assert.deepEqual([...cloud.things], ['group']);
  });

  it('creates a shared resource again for a Service that desires it while its removal is in progress', async () => {
    const { cloud, hooks, open, during, clock } = setUp();
    const engine = open();
    await during(engine.reconcile({ owner: ownerOf('a'), desired: [] }));
    const { promise, resolve } = Promise.withResolvers<void>();
    hooks.before = (call) => (call === 'delete group' ? promise : undefined);
    const removing = engine.reconcile({ owner: ownerOf('a'), desired: undefined });
    await clock.advance(10);
    const creating = engine.reconcile({ owner: ownerOf('b'), desired: [] });
    await clock.advance(10);
    assert.ok(!cloud.calls.includes('create balancer b'), cloud.calls.join());
    resolve();
    await during(Promise.all([removing, creating]));
    await during(engine.reconcile({ owner: ownerOf('b'), desired: [] }));
    assert.deepEqual([...cloud.things].toSorted(), ['balancer b', 'group']);
  });
});

it('a call of a lane asks the permit of each owner once', async () => {
  const { open, during, permits, clear, cloud } = setUp();
  const engine = open();
  await during(engine.reconcile({ owner: ownerOf('a'), desired: [] }));
  clear();
  await during(engine.reconcile({ owner: ownerOf('a'), desired: ['a1', 'a2', 'a3'] }));
  assert.equal(cloud.calls.at(-1), 'create rule a1,rule a2,rule a3');
  assert.deepEqual(permits(), ['a']);
});

it('what a lane is removing counts as being deleted, and the Service that desires it again waits', async () => {
  const { cloud, hooks, open, during, clock } = setUp();
  const engine = open();
  const owner = ownerOf('a');
  await during(engine.reconcile({ owner, desired: ['a1'] }));
  const { promise, resolve } = Promise.withResolvers<void>();
  hooks.before = (call) => (call === 'delete rule a1' ? promise : undefined);
  const removing = engine.reconcile({ owner, desired: [] });
  await clock.advance(10);
  assert.equal(cloud.calls.at(-1), 'delete rule a1');
  const { steps, waits } = engine.planNow({ owner, desired: ['a1'] });
  assert.deepEqual([steps, waits.map(({ name, why }) => [name, why])], [[], [['rule/a1', 'it is being deleted']]]);
  resolve();
  await during(removing);
  await during(engine.reconcile({ owner, desired: ['a1'] }));
  assert.ok(cloud.things.has('rule a1'));
});

it('frees the worker when a resource is busy for long, and tries again after the retry delay', async () => {
  const { cloud, hooks, open, clock } = setUp();
  const engine = open();
  const owner = ownerOf('a');
  const first = engine.reconcile({ owner, desired: [] });
  await clock.advance(10);
  await first;
  hooks.before = (call) => {
    if (call !== 'delete group') return;
    const about = { kind: 'Busy', cloud: 'x', operation: 'delete', message: 'in use' } as const;
    throw new CloudError({ ...about, retryAfterMs: 60_000 });
  };
  const removal = engine.reconcile({ owner, desired: undefined });
  await clock.advance(10);
  const result = await removal;
  assert.deepEqual([result.state, result.againInMs], ['waiting', 60_000]);
  assert.equal(cloud.calls.filter((call) => call === 'delete group').length, 1);
});
