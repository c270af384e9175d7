import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WithheldError } from '../clouds/permit.ts';
import { assertBefore } from './testing/calls.ts';
import { drive, ownerOf } from './testing/environment.ts';
import { createHarness, desire } from './testing/harness.ts';

describe('what Services share', () => {
  it('each owner edits its own parts, and no union shrinks before all Services are declared', async () => {
    const harness = createHarness('document');
    await harness.settle('u1', desire('u1', { members: ['n1'] }));
    await harness.settle('u2', desire('u2', { members: ['n2'] }));
    harness.restart({ allServicesDeclared: () => false });
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

  it('shows changes of others to a document after the next read, and simultaneous reads share one list', async () => {
    const harness = createHarness('document');
    await harness.settle('u1', desire('u1'));
    const engine = harness.engine();
    const query = { ids: [], slots: [], removing: false };
    await drive(harness.clock, engine.read(ownerOf('u1'), query));
    assert.equal(engine.found.ofKind('rule').length, 3);
    harness.documents!.doc = harness.documents!.doc!.filter(({ kind }) => kind !== 'rule');
    harness.calls();
    await drive(harness.clock, Promise.all([1, 2, 3].map(() => engine.read(ownerOf('u1'), query))));
    assert.deepEqual(engine.found.ofKind('rule'), []);
    assert.equal(harness.calls().filter((call) => call === 'list documents').length, 1);
  });

  it('reads the documents for a removal after a first read has failed', async () => {
    const harness = createHarness('document');
    await harness.settle('u1', desire('u1'));
    harness.restart();
    harness.trouble({ call: /^list documents/, is: 'Unavailable' });
    await assert.rejects(harness.reconcile('u1', undefined), { kind: 'Unavailable' });
    // The other reads have ended by then.
    await harness.pass(1000);
    await harness.settle('u1', undefined);
    assert.deepEqual(
      harness.documents!.doc?.map(({ owner }) => owner),
      [undefined],
    );
  });

  it('removes all parts of a Service from a document, although its address is retained', async () => {
    const harness = createHarness('document');
    await harness.settle('u1', desire('u1'));
    await harness.settle('u1', undefined, { retain: true });
    assert.deepEqual(
      harness.documents!.doc?.map(({ owner }) => owner),
      [undefined],
    );
  });

  it('merges the desired state of the latest read', async () => {
    let isRead = false;
    const harness = createHarness('document', 0, {}, (driver) => ({
      ...driver,
      documents: driver.documents!.map((type) => ({
        ...type,
        all(cluster, io) {
          isRead = true;
          return type.all(cluster, io);
        },
      })),
      desire: (asked) => driver.desire({ ...asked, members: isRead ? asked.members : ['not read'] }),
    }));
    await harness.settle('u1', desire('u1', { members: ['n1'] }));
    const pool = harness.documents!.doc!.find(({ kind }) => kind === 'pool')!;
    assert.equal(pool.body['members'], 'n1');
    assert.equal(harness.calls().filter((call) => call === 'write document').length, 1);
  });

  it('writes the edits of other Services in spite of a refused one, whose owner then writes alone', async () => {
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
    // The edits of the refused Service are sent alone from now on.
    await Promise.all([
      harness.reconcile('bad', bad),
      ...services.map((one) => harness.settle(one, desire(one, { members: ['n5'] }))),
    ]);
    const writes = harness.calls().filter((call) => call === 'write document');
    assert.ok(writes.length <= 3, `${writes.length} writes`);
  });

  it('a refused write is halved by owner, so that few writes find the refused edit', async () => {
    const harness = createHarness('document');
    const services = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const ports = (service: string) => [{ port: 80, nodePort: service === 'f' ? 30666 : 30080 }];
    for (const one of services) await harness.settle(one, desire(one, { ports: [] }));
    harness.documents!.refuse('30666');
    harness.calls();
    const engine = harness.engine();
    await drive(harness.clock, engine.audit());
    const requests = services.map((one) => ({ owner: ownerOf(one), desired: desire(one, { ports: ports(one) }) }));
    for (const request of requests) engine.declare(request);
    const all = await drive(harness.clock, Promise.all(requests.map((request) => engine.reconcile(request))));
    assert.deepEqual(
      all.map(({ state }) => state),
      services.map((one) => (one === 'f' ? 'failed' : 'settled')),
    );
    // Of eight: all, then two halves each time.
    const writes = harness.calls().filter((call) => call === 'write document');
    assert.ok(writes.length <= 1 + 2 * 3 + 1, `${writes.length} writes`);
  });

  it('a union is merged when it is written, not when it is planned', async () => {
    const harness = createHarness('document');
    for (const one of ['u1', 'u4']) await harness.settle(one, desire(one, { members: ['n1'] }));
    harness.calls();
    const ask = (service: string, members: string[]) => ({
      owner: ownerOf(service),
      desired: desire(service, { members }),
    });
    // The permits of all are asked between the plans and the write.
    const engine = harness.engine({ permit: () => () => engine.declare(ask('u2', ['n3'])) });
    await drive(harness.clock, engine.audit());
    const both = [ask('u1', ['n1', 'n2']), ask('u4', ['n4'])].map((request) => engine.reconcile(request));
    await drive(harness.clock, Promise.all(both));
    const [first] = harness.documents!.doc!.filter(({ kind }) => kind === 'pool');
    assert.equal(first?.body['members'], 'n1,n2,n3,n4');
    assert.equal(harness.calls().filter((call) => call === 'write document').length, 1);
  });

  it('a lane sends one call at a time with everything that waits, and asks the permit of each owner', async () => {
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
    assertBefore(harness.calls(), /^authorize/, /^revoke/);
    assert.deepEqual(
      rules()
        .filter((key) => key.startsWith('30009'))
        .sort(),
      ['30009 from a2', '30009 from b2', '30009 from c2'],
    );
  });

  it('keeps a rule that is desired again right before its removal', async () => {
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

  it('a lane adds before it removes, in whatever order the requests came', async () => {
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

  it('removes nothing that an undeclared Service may desire, and the removal waits', async () => {
    const harness = createHarness('rules');
    await harness.settle('u1', desire('u1'));
    await harness.settle('u2', desire('u2', { members: ['n7'] }));
    harness.restart({ allServicesDeclared: () => false });
    const result = await harness.reconcile('u1', undefined);
    assert.equal(result.state, 'waiting');
    assert.match(result.waits[0]!.why, /not every Service has been read/);
    assert.deepEqual(
      harness.calls().filter((call) => call.startsWith('revoke')),
      [],
    );
  });

  it('a refused batch is halved, and an identical foreign rule serves unmarked', async () => {
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
});
