import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from '../../common/cloud-error.ts';
import { writesOf } from './testing/calls.ts';
import { createHarness, desire } from './testing/harness.ts';

const half = 1_800_000;

describe('a call that the cloud accepts three times without doing it', () => {
  it('names a create without effect after three tries, and tries it again after half an hour', async () => {
    const harness = createHarness('silent');
    const { cloud } = harness;
    const vanishing = () => {
      const made = [...cloud.things.values()].find((one) => one.kind === 'listener');
      if (made !== undefined) cloud.set(made.id, undefined);
    };
    cloud.setHook({
      before: (call) => (call.startsWith('create listener') ? undefined : void vanishing()),
      crash: () => assert.fail(),
    });
    const desired = desire('u1', { ports: [{ port: 80, nodePort: 30080 }] });
    const result = await harness.settle('u1', desired);
    assert.deepEqual(
      result.refusals.map(({ reason, name }) => [reason, name]),
      [['NoEffect', 'listener/80']],
    );
    const creates = () => harness.calls().filter((call) => call.startsWith('create listener')).length;
    assert.equal(creates(), 3);
    assert.equal((await harness.settle('u1', desired)).state, 'refused');
    assert.equal(creates(), 0);
    cloud.setHook(undefined);
    await harness.pass(half);
    assert.equal((await harness.settle('u1', desired)).state, 'settled');
    assert.equal(creates(), 1);
  });

  it('names a delete without effect, and the Service does not count as removed', async () => {
    const harness = createHarness('silent');
    await harness.settle('u1', desire('u1'));
    harness.cloud.ignoring.add('address');
    harness.calls();
    const result = await harness.settle('u1', undefined);
    assert.deepEqual(
      [result.state, result.refusals.map(({ reason, name }) => [reason, name])],
      ['refused', [['NoEffect', 'address/main']]],
    );
    const deletes = harness.calls().filter((call) => call.startsWith('delete address'));
    assert.equal(deletes.length, 3);
    assert.equal(harness.journals.get('u1')?.claimed, true);
  });

  it('names an edit of a document without effect, and still writes the other edits', async () => {
    const harness = createHarness('document');
    await harness.settle('u1', desire('u1'));
    harness.documents!.ignore('8080');
    harness.calls();
    const ports = [...desire('u1').ports, { port: 8080, nodePort: 30088 }];
    const result = await harness.settle('u1', desire('u1', { ports, members: ['n3'] }));
    assert.deepEqual(
      [result.state, result.refusals.map(({ reason, name }) => [reason, name])],
      ['refused', [['NoEffect', 'rule/8080']]],
    );
    assert.equal(harness.calls().filter((call) => call === 'write document').length, 3);
    assert.equal(harness.documents!.doc!.find(({ kind }) => kind === 'pool')?.body['members'], 'n3');
  });
});

it('ignores a change that was undone because the desired state changed', async () => {
  const harness = createHarness('plain');
  const [both, one] = [desire('u1'), desire('u1', { members: ['n1'] })];
  await harness.settle('u1', both);
  for (let leaves = 0; leaves < 5; leaves += 1) {
    assert.equal((await harness.settle('u1', one)).state, 'settled', `n2 leaves, time ${leaves + 1}`);
    assert.equal((await harness.settle('u1', both)).state, 'settled', `n2 is back, time ${leaves + 1}`);
    await harness.pass(120_000);
  }
});

it('ignores a create that was undone because its container was replaced', async () => {
  const harness = createHarness('plain');
  const states: string[] = [];
  for (const zone of ['z1', 'z2', 'z1', 'z2', 'z1']) {
    states.push((await harness.settle('u1', desire('u1', { zone }))).state);
    await harness.pass(120_000);
  }
  assert.deepEqual(states, Array(5).fill('settled'));
  assert.equal(harness.calls().filter((call) => call.startsWith('create listener 80')).length, 5);
});

it('ignores repairs that are days apart', async () => {
  const harness = createHarness('plain');
  const { cloud } = harness;
  await harness.settle('u1', desire('u1'));
  const day = 86_400_000;
  for (const gap of [day, day, day, 600_000]) {
    cloud.set([...cloud.things.values()].find((one) => one.kind === 'listener')!.id, undefined);
    await harness.pass(gap);
    await harness.audit();
    assert.equal((await harness.settle('u1', desire('u1'))).state, 'settled');
  }
});

it('gives up a change that another client reverts each time', async () => {
  const harness = createHarness('plain');
  const { cloud } = harness;
  await harness.settle('u1', desire('u1'));
  const revert = () => {
    const group = [...cloud.things.values()].find((one) => one.kind === 'group' && one.owner?.service === 'u1')!;
    cloud.set(group.id, { ...group, body: { ...group.body, members: ['n1'] } });
  };
  const states: string[] = [];
  for (let reverts = 0; reverts < 4; reverts += 1) {
    revert();
    await harness.pass(301_000);
    await harness.audit();
    states.push((await harness.settle('u1', desire('u1'))).state);
  }
  assert.deepEqual(states, ['settled', 'settled', 'settled', 'refused']);
});

describe('members that the cloud refuses', () => {
  it('reports members that the answer to a successful call names as refused', async () => {
    const harness = createHarness('plain', 0, {}, (driver) => ({
      ...driver,
      kinds: driver.kinds.map((kind) =>
        kind.kind !== 'group'
          ? kind
          : { ...kind, create: async (...all) => ({ ...(await kind.create!(...all)), refused: ['n2'] }) },
      ),
    }));
    const result = await harness.reconcile('u1', desire('u1'));
    assert.deepEqual([result.state, result.refused], ['settled', ['n2']]);
  });

  it('reports members that an error names as refused, and no other step of the Service waits for them', async () => {
    const harness = createHarness('plain');
    harness.cloud.setHook({
      before(call) {
        if (!/^create group 443/.test(call)) return undefined;
        const about = { cloud: 'fake', operation: call, message: 'no such member' };
        throw new CloudError({ ...about, kind: 'Invalid', subjects: ['n2'] });
      },
      crash: () => assert.fail(),
    });
    const result = await harness.reconcile('u1', desire('u1'));
    assert.deepEqual([result.state, result.refused], ['failed', ['n2']]);
    assert.ok(writesOf(harness.calls()).includes('create listener 80'));
  });
});
