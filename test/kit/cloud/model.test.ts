import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../common/process/random.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { ModelError } from './instance.ts';
import { type CloudModel, createCloudModel, type ModelOptions } from './model.ts';

function newModel(options: Partial<ModelOptions> = {}) {
  const clock = fakeClock();
  return { clock, model: createCloudModel({ clock, random: seededRandom(7), ...options }) };
}

test('an instance gets its own id, incarnation, addresses and a zone of its region', () => {
  const { model } = newModel();
  const [a, b] = model.createMany(2, { region: 'sim-1', dualStack: true, external: true, interfaceCount: 2 });
  assert.ok(a && b);
  assert.notEqual(a.id, b.id);
  assert.notEqual(a.incarnation, b.incarnation);
  assert.match(a.smbiosUuid ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(a.interfaces.length, 2);
  assert.equal(a.interfaces[0]?.internal.length, 2);
  assert.equal(a.interfaces[0]?.external.length, 1);
  assert.equal(a.interfaces[1]?.external.length, 0);
  assert.ok(['sim-1a', 'sim-1b', 'sim-1c'].includes(a.zone));
  assert.equal(a.power, 'running');
});

test('fifteen thousand instances share no id, MAC or address', () => {
  const { model } = newModel();
  model.createMany(15_000, { external: true, dualStack: true });
  const seen = new Set<string>();
  let count = 0;
  for (const instance of model.list('demo', 'sim-1')) {
    for (const nic of instance.interfaces) {
      for (const word of [instance.id, nic.mac, ...nic.internal, ...nic.external]) {
        seen.add(word);
        count += 1;
      }
    }
  }
  assert.equal(count, 15_000 * 5);
  assert.equal(seen.size, count);
});

test('a terminated instance is shown without addresses until it is forgotten', async () => {
  const { clock, model } = newModel({ timings: { shuttingDownMs: 2000, forgetAfterMs: 10_000 } });
  const { id } = model.create();
  assert.equal(model.terminate(id).power, 'shutting-down');
  await clock.advance(1999);
  assert.equal(model.get(id)?.power, 'shutting-down');
  await clock.advance(1);
  assert.equal(model.get(id)?.power, 'terminated');
  assert.deepEqual(model.get(id)?.interfaces[0]?.internal, []);
  await clock.advance(10_000);
  assert.equal(model.get(id), undefined);
  assert.deepEqual(model.list('demo', 'sim-1'), []);
});

test('stop and start pass through the states between and can be repeated', async () => {
  const { clock, model } = newModel({ timings: { pendingMs: 100, stoppingMs: 100 } });
  const { id, power } = model.create();
  assert.equal(power, 'pending');
  await clock.advance(100);
  assert.equal(model.stop(id).power, 'stopping');
  assert.equal(model.stop(id).power, 'stopping');
  await clock.advance(100);
  assert.equal(model.stop(id).power, 'stopped');
  assert.equal(model.start(id).power, 'pending');
  await clock.advance(100);
  assert.equal(model.start(id).power, 'running');
});

test('a start overtakes a stop that is under way', async () => {
  const { clock, model } = newModel({ timings: { pendingMs: 50, stoppingMs: 100 } });
  const { id } = model.create({ power: 'running' });
  model.stop(id);
  await clock.advance(10);
  model.start(id);
  await clock.advance(1000);
  assert.equal(model.get(id)?.power, 'running');
});

test('forgetting a VM leaves no terminal state behind', () => {
  const { model } = newModel();
  const { id, name } = model.create();
  model.forget(id);
  assert.equal(model.get(id), undefined);
  assert.deepEqual(model.named('demo', 'sim-1', name), []);
  assert.throws(() => model.stop(id), { kind: 'not-found' });
});

test('a rebuild under the same id changes the incarnation and nothing else that names it', () => {
  const { model } = newModel();
  const before = model.create();
  const after = model.rebuild(before.id, 'same-id');
  assert.equal(after.id, before.id);
  assert.equal(after.name, before.name);
  assert.deepEqual(after.interfaces, before.interfaces);
  assert.notEqual(after.incarnation, before.incarnation);
  assert.notEqual(after.smbiosUuid, before.smbiosUuid);
});

test('a rebuild under the same name forgets the old id', () => {
  const { model } = newModel();
  const before = model.create({ name: 'worker' });
  const after = model.rebuild(before.id, 'same-name');
  assert.notEqual(after.id, before.id);
  assert.equal(model.get(before.id), undefined);
  assert.deepEqual(
    model.named('demo', 'sim-1', 'worker').map(({ id }) => id),
    [after.id],
  );
});

test('a cloud that does not tell the SMBIOS UUID does not tell it after a rebuild either', () => {
  const { model } = newModel();
  const told = (id: string) => 'smbiosUuid' in (model.get(id) ?? {});
  const { id } = model.create({ smbiosUuid: null });
  assert.equal(told(id), false);
  assert.equal(told(model.rebuild(id, 'same-id').id), false);
  assert.equal(told(model.rebuild(id, 'same-name').id), false);
});

test('a rename moves the instance in the name search', () => {
  const { model } = newModel();
  const { id } = model.create({ name: 'old' });
  model.rename(id, 'newer');
  model.rename(id, 'new');
  assert.deepEqual(model.named('demo', 'sim-1', 'newer'), []);
  assert.deepEqual(model.named('demo', 'sim-1', 'old'), []);
  assert.equal(model.named('demo', 'sim-1', 'new')[0]?.id, id);
});

test('an address change keeps what it does not name', () => {
  const { model } = newModel();
  const before = model.create({ external: true });
  const after = model.setAddresses(before.id, { interfaces: [{ mac: '02:AA:00:00:00:01', internal: ['10.9.9.9'] }] });
  assert.equal(after.hostname, before.hostname);
  assert.deepEqual(after.interfaces, [{ index: 0, mac: '02:aa:00:00:00:01', internal: ['10.9.9.9'], external: [] }]);
});

test('an impossible request is refused by kind', () => {
  const { model } = newModel();
  const { id } = model.create({ id: 'i-1' });
  assert.throws(() => model.create({ id: 'i-1' }), { kind: 'conflict' });
  assert.throws(() => model.create({ region: 'nowhere' }), { kind: 'invalid' });
  assert.throws(() => model.create({ zone: 'sim-2a' }), { kind: 'invalid' });
  assert.throws(() => model.create({ id: 'a/b' }), { kind: 'invalid' });
  model.terminate(id);
  assert.throws(() => model.start(id), { kind: 'conflict' });
  assert.throws(() => model.setType(id, 'big'), ModelError);
  assert.equal(model.terminate(id).power, 'terminated');
});

test('an old list shows the instances of then, with those that are gone now', async () => {
  const { clock, model } = newModel();
  const early = model.create({ name: 'early' });
  await clock.advance(10_000);
  const late = model.create({ name: 'late' });
  model.forget(early.id);
  model.stop(late.id);
  await clock.advance(5000);
  assert.deepEqual(
    model.list('demo', 'sim-1').map(({ name, power }) => [name, power]),
    [['late', 'stopped']],
  );
  assert.deepEqual(
    model.listAsOf('demo', 'sim-1', 8000).map(({ name, power }) => [name, power]),
    [['early', 'running']],
  );
  assert.deepEqual(model.listAsOf('demo', 'sim-1', 20_000), []);
});

async function life(seed: number): Promise<string> {
  const clock = fakeClock();
  const random = seededRandom(seed);
  const model: CloudModel = createCloudModel({
    clock,
    random,
    timings: { pendingMs: 30, stoppingMs: 20, shuttingDownMs: 40, forgetAfterMs: 200 },
  });
  const trace: string[] = [];
  model.onChange((event) => trace.push(JSON.stringify(event)));
  model.createMany(20);
  for (let step = 0; step < 200; step += 1) {
    await clock.advance(Math.floor(random() * 20));
    const all = model.all();
    const chosen = all[Math.floor(random() * all.length)];
    if (!chosen || random() < 0.2) model.create();
    else if (chosen.power === 'terminated' || chosen.power === 'shutting-down') model.forget(chosen.id);
    else [model.stop, model.start, model.terminate, model.rebuild][Math.floor(random() * 4)]!(chosen.id);
  }
  model.close();
  assert.equal(clock.pending, 0);
  return trace.join('\n');
}

test('one seed gives one trace, another seed another', async () => {
  const first = await life(1);
  assert.ok(first.length > 10_000);
  assert.equal(await life(1), first);
  assert.notEqual(await life(2), first);
});
