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
