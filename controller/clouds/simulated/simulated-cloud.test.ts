import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byId, byName, inProcess, overSockets, shortOf, states } from '../../../test/clouds/simulated/lookup-world.ts';
import { refKey } from '../cloud.ts';

test('a batch of nodes is looked up in one call', async (t) => {
  const { sandbox, cloud, made } = await overSockets(t);
  const refs = sandbox.model.createMany(cloud.instances.batchSize).map(({ id }) => byId(id));
  const answers = await cloud.instances.lookup(refs);
  assert.ok([...answers.values()].every((answer) => answer.state === 'found' && answer.request === 'list'));
  assert.deepEqual(sandbox.calls.snapshot(), { 'instances.lookup': { 200: 1 } });
  assert.deepEqual(
    made.map(({ cloud: name, operation, code }) => [name, operation, code]),
    [['simulated', 'instances.lookup', 'ok']],
  );
});

test('a found instance has every fact that is written on a node', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const vm = sandbox.model.create({ external: true, dualStack: true, tags: { 'label:pool': 'blue' } });
  const answer = (await cloud.instances.lookup([byId(vm.id)])).get(refKey(byId(vm.id)));
  assert.ok(answer?.state === 'found');
  const { providerID, incarnation, zone, region, type, labels, smbiosUuid } = answer.instance;
  assert.deepEqual(
    { providerID, incarnation, zone, region, type, labels, smbiosUuid },
    {
      providerID: `simulated://sim-1/${vm.id}`,
      incarnation: vm.incarnation,
      zone: vm.zone,
      region: 'sim-1',
      type: 'sim.small',
      labels: { pool: 'blue' },
      smbiosUuid: vm.smbiosUuid ?? 'told by default',
    },
  );
  assert.deepEqual(
    answer.instance.addresses.map(({ type: kind }) => kind),
    ['InternalIP', 'InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'],
  );
});

test('stopped, terminated and vanished instances are distinguished', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const [runs, stopped, terminated, vanished] = sandbox.model.createMany(4).map(({ id }) => id);
  sandbox.model.stop(stopped!);
  const incarnation = sandbox.model.terminate(terminated!).incarnation;
  sandbox.model.forget(vanished!);
  const refs = [runs!, stopped!, terminated!, vanished!].map(byId);
  const answers = await cloud.instances.lookup(refs);
  assert.deepEqual(
    refs.map((ref) => shortOf(answers.get(refKey(ref))!)),
    ['found', 'found', 'gone', 'absent'],
  );
  const still = answers.get(refKey(refs[1]!));
  assert.equal(still?.state === 'found' && still.power, 'stopped');
  assert.deepEqual(answers.get(refKey(refs[2]!)), { state: 'gone', terminalState: 'terminated', incarnation });
  assert.deepEqual(sandbox.calls.snapshot(), { 'instances.lookup': { 200: 1 }, 'instances.get': { 404: 1 } });
});

test('an id of another region or another form is unknown without a call', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  for (const providerID of [
    'simulated://sim-2/i-1',
    'aws:///a/i-1',
    'i-1',
    'simulated://sim-1/..',
    'simulated://sim-1/a?b',
  ]) {
    assert.equal(cloud.accepts(providerID), false);
    assert.deepEqual(await states(cloud, [{ by: 'providerID', providerID }]), ['unknown Invalid']);
  }
  assert.equal(cloud.accepts('simulated://sim-1/i-1'), true);
  assert.equal(sandbox.calls.total(), 0);
});

test('a name is found when exactly one live instance has it, and is never absent', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  sandbox.model.create({ name: 'one' });
  sandbox.model.createMany(2).forEach(({ id }) => {
    sandbox.model.rename(id, 'two');
  });
  sandbox.model.terminate(sandbox.model.create({ name: 'ended' }).id);
  sandbox.model.terminate(sandbox.model.create({ name: 'reused' }).id);
  sandbox.model.create({ name: 'reused' });
  const names = ['one', 'two', 'ended', 'reused', 'none'].map(byName);
  const expected = ['found', 'unknown Conflict', 'unknown NotFound', 'found', 'unknown NotFound'];
  assert.deepEqual(await states(cloud, names), expected);
  assert.deepEqual(sandbox.calls.snapshot(), { 'instances.list': { 200: 1 } });
  assert.deepEqual(await states(cloud, names.slice(0, 2)), expected.slice(0, 2));
  assert.equal(sandbox.calls.total('instances.find'), 2);
});

test('a thousand names take one list of the region', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const refs = sandbox.model.createMany(1500).map(({ name }) => byName(name));
  assert.ok((await states(cloud, refs.slice(0, 1000))).every((state) => state === 'found'));
  assert.equal(sandbox.calls.total(), 2);
});

test('a stale list shows an earlier power state, and a new instance is found by its id', async () => {
  const { clock, sandbox, cloud } = inProcess();
  const early = sandbox.model.create().id;
  await clock.advance(60_000);
  const late = sandbox.model.create().id;
  sandbox.faults.add({ operation: 'instances.lookup', effect: { kind: 'stale', ageMs: 30_000 } });
  assert.deepEqual(await states(cloud, [early, late].map(byId)), ['found', 'found']);
});

test('check proves the region and the right to read, and says what is wrong', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  sandbox.model.create();
  assert.deepEqual(
    (await cloud.check()).map(({ name, ok }) => [name, ok]),
    [
      ['region', true],
      ['instances', true],
      ['load balancers', true],
      ['routes', true],
    ],
  );
  sandbox.network.quotas.set('routes', 100);
  assert.equal((await cloud.check())[3]?.message, '0 routes, 0 of 100 in use');
  sandbox.faults.add({ operation: 'addresses.*', effect: { kind: 'error', status: 403 } });
  assert.match((await cloud.check())[2]?.message ?? '', /addresses.list: HTTP 403.*; the credential needs the right/);
  sandbox.faults.clear();
  sandbox.credentials.setMode(sandbox.credential, 'sees-nothing');
  assert.match((await cloud.check())[1]?.message ?? '', /no instance is visible/);
  sandbox.credentials.setMode(sandbox.credential, 'unauthorized');
  const refused = await cloud.check();
  assert.deepEqual(
    refused.map(({ ok }) => ok),
    [false, false, false, false],
  );
  assert.match(refused[0]?.message ?? '', /401 unauthorized.*; see .*credential/);
  assert.ok(!JSON.stringify(refused).includes(sandbox.credential));
});

test('the scope names endpoint, project and region and no credential', () => {
  const { sandbox, cloud } = inProcess();
  assert.equal(cloud.scope, 'http://cloud/demo/sim-1');
  assert.ok(!cloud.scope.includes(sandbox.credential));
});

test('check advises by whether the endpoint answered', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  sandbox.faults.add({ operation: 'regions.get', effect: { kind: 'error', status: 503 } });
  const answered = (await cloud.check()).find(({ ok }) => !ok)?.message ?? '';
  assert.match(answered, /see the cloud's status, and try again later$/);
  assert.doesNotMatch(answered, /reachable/);
});
