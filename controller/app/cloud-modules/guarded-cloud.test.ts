import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import { silentLog } from '../../../common/process/log.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import type { InstanceRef, Lookup, OpenedCloud } from '../../clouds/cloud.ts';
import type { LoadBalancerDriver } from '../../clouds/load-balancer-driver.ts';
import { WithheldError } from '../../clouds/permit.ts';
import type { Kind, WriteIo } from '../../engine/resource.ts';
import { guardCloud } from './guarded-cloud.ts';

const byId: InstanceRef = { by: 'providerID', providerID: 'example://a' };
const byName: InstanceRef = { by: 'name', name: 'node-a' };
const instance = { cloud: 'example', id: 'a', providerID: 'example://a', addresses: [] };
const found = { state: 'found', power: 'running', request: 'id', instance };
const clock = fakeClock();

/** A cloud with these parts behind the guard. */
function guarded(parts: object): OpenedCloud {
  const good = {
    name: 'another name',
    identify: async () => ({ scope: 'api.test/1', account: '1' }),
    accepts: () => true,
    instances: { batchSize: 10, lookup: async () => new Map() },
    check: async () => [],
    close() {},
  };
  const context = { clock, random: () => 0.5, log: silentLog, env: {}, onCall: () => {} };
  return guardCloud({ ...good, ...parts } as unknown as OpenedCloud, 'example', context);
}
const hanging = () => new Promise<never>(() => {});
const during = <T>(work: Promise<T>) => advanceDuring(clock, work, 1000);

async function lookUp(ref: InstanceRef, lookup: () => unknown): Promise<Lookup> {
  const answers = await during(guarded({ instances: { batchSize: 10, lookup } }).instances.lookup([ref]));
  assert.equal(answers.size, 1);
  return [...answers.values()][0]!;
}
const answering = (ref: InstanceRef, answer: unknown) => async () =>
  new Map([[ref.by === 'name' ? 'name:node-a' : ref.providerID, answer]]);
const kindOf = (lookup: Lookup) => (lookup.state === 'unknown' ? lookup.error.kind : lookup.state);
const textOf = (lookup: Lookup) => (lookup.state === 'unknown' ? lookup.error.message : '');

describe('the guard around a cloud of a module', () => {
  it('lets through what is as the contract has it', async () => {
    assert.deepEqual(await lookUp(byId, answering(byId, found)), found);
    assert.deepEqual(await lookUp(byName, answering(byName, found)), found);
    assert.deepEqual(await lookUp(byId, answering(byId, { state: 'absent' })), { state: 'absent' });
    const gone = { state: 'gone', terminalState: 'deleted', incarnation: '1' };
    assert.deepEqual(await lookUp(byId, answering(byId, gone)), gone);
    const error = new CloudError({ kind: 'Throttled', cloud: 'example', operation: 'list', message: '' });
    assert.deepEqual(await lookUp(byId, answering(byId, { state: 'unknown', error })), { state: 'unknown', error });
  });

  it('answers unknown where a lookup throws, hangs or answers something else', async () => {
    const foreign = Object.assign(new Error('slow down'), { kind: 'Throttled', retryAfterMs: 7000 });
    for (const [kind, message, lookup] of [
      [
        'Unavailable',
        /the module threw TypeError: x is not a function/,
        () => {
          throw new TypeError('x is not a function');
        },
      ],
      ['Unavailable', /the module threw no/, () => Promise.reject('no')],
      ['Throttled', /slow down/, () => Promise.reject(foreign)],
      ['Timeout', /did not answer within 60 s/, hanging],
      ['Invalid', /expected a Map/, async () => undefined],
      ['Invalid', /expected a Map/, async () => [found]],
      ['Invalid', /no answer for/, async () => new Map()],
    ] as const) {
      const answer = await lookUp(byId, lookup);
      assert.equal(kindOf(answer), kind);
      assert.match(textOf(answer), message);
    }
  });

  it('answers unknown, and names the field, where an answer has another shape', async () => {
    const other = (fields: object) => ({ ...found, instance: { ...instance, ...fields } });
    for (const [answer, message] of [
      [null, /no answer for/],
      ['absent', /no answer for/],
      [{}, /state: nothing, expected found, gone, absent or unknown/],
      [{ state: 'deleted' }, /state: "deleted", expected/],
      [{ state: 'gone' }, /terminalState: nothing, expected a text/],
      [{ state: 'found' }, /instance/],
      [{ ...found, instance: [] }, /instance/],
      [{ ...found, power: 'on' }, /power: "on", expected one of running, stopped, suspended, changing/],
      [{ ...found, request: 'name' }, /request: "name", expected list or id/],
      [other({ id: 7 }), /instance\.id: 7, expected string/],
      [other({ zone: 'a\nb' }), /instance\.zone: /],
      [other({ colour: 'red' }), /instance\.colour: a text of 3 characters, expected no such field/],
      [other({ addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] }), /addresses: "127.0.0.1", expected/],
      [other({ cloud: 'aws' }), /instance\.cloud: "aws", expected example/],
      [other({ providerID: 'aws:///z/i-1' }), /instance\.providerID: "aws:\/\/\/z\/i-1", expected that of instance a/],
      [other({ id: 'b', providerID: 'example://b' }), /providerID: "example:\/\/b", expected example:\/\/a/],
      [
        {
          get state() {
            throw new Error('caught');
          },
        },
        /caught/,
      ],
    ] as const) {
      const read = await lookUp(byId, answering(byId, answer));
      assert.equal(read.state, 'unknown', JSON.stringify(read));
      assert.match(textOf(read), message);
    }
  });

  it('takes no absence from a search by name', async () => {
    for (const answer of [{ state: 'absent' }, { state: 'gone', terminalState: 'deleted' }])
      assert.match(textOf(await lookUp(byName, answering(byName, answer))), /a name proves no absence/);
  });

  it('accepts providerIDs of its own name alone, and keeps those that the module fails to judge', () => {
    const throwing = () => {
      throw new Error('no');
    };
    for (const accepts of [() => true, throwing, () => undefined]) {
      const cloud = guarded({ accepts });
      assert.equal(cloud.accepts('example://a'), true);
      for (const id of ['aws:///z/i-1', 'i-1', 'example2://a', '']) assert.equal(cloud.accepts(id), false, id);
    }
    assert.equal(guarded({ accepts: () => false }).accepts('example://a'), false);
  });

  it('names the cloud as the flag does, whatever the module says', () => assert.equal(guarded({}).name, 'example'));

  it('fails with a CloudError where the account is not told, or cannot be kept', async () => {
    assert.deepEqual(await guarded({}).identify(), { scope: 'api.test/1', account: '1', formerScopes: undefined });
    for (const [identify, message] of [
      [hanging, /Timeout|60 s/],
      [async () => undefined, /scope: nothing, expected/],
      [async () => ({ scope: 'a b', account: 'a' }), /scope: "a b", expected a text without blanks/],
      [async () => ({ scope: 'report:aws', account: 'report:aws' }), /scope: "report:aws", expected/],
      [async () => ({ scope: 'a/b', account: 'c' }), /account: "c", expected a segment of the scope/],
      [async () => ({ scope: 'a/b', account: 'b', formerScopes: [''] }), /formerScopes: \[""\], expected/],
    ] as const)
      await assert.rejects(during(guarded({ identify }).identify()), (error) => {
        assert.ok(isCloudError(error));
        assert.match(error.message, message);
        return true;
      });
  });

  it('refuses results of check that are none', async () => {
    assert.deepEqual(await guarded({}).check(), []);
    const unproved = [{ of: 'example', name: 'writes', ok: null, message: 'cannot be proved' }];
    assert.deepEqual(await guarded({ check: async () => unproved }).check(), unproved);
    await assert.rejects(guarded({ check: async () => [{ ok: 'yes' }] }).check(), isCloudError);
  });

  it('ignores an error of the module on close', () => {
    const close = () => {
      throw new Error('no');
    };
    guarded({ close }).close();
  });
});

describe('the guard around the load balancers of a module', () => {
  const io = {
    permit: () => {},
    idOf: () => 'id',
    owner: { cluster: 'c', service: 's' },
    within: undefined,
  } as WriteIo;
  const want = { kind: 'lb', key: 'main', spec: {}, summary: '' };
  const resource = { kind: 'lb', id: '1', status: 'ready', body: {} } as const;

  function driver(parts: object, kind: object = {}): LoadBalancerDriver {
    const good = {
      main: 'lb',
      annotations: [],
      maxMembers: undefined,
      drains: false,
      kinds: [{ kind: 'lb', retryCreate: 'afterSearch', compare: () => ({ same: true }), ...kind }],
      readers: [{ kinds: ['lb'], all: async () => [resource], of: async () => ({ found: [resource] }) }],
      desire: () => ({ wants: [], refusals: [] }),
      poll: async () => new Map(),
      slots: () => [],
      members: () => [],
      show: () => ({ name: 'x', ingress: [] }),
    };
    return guarded({ loadBalancerDriver: { ...good, ...parts } }).loadBalancerDriver!;
  }
  const kind = (parts: object): Kind => driver({}, parts).kinds[0]!;
  const refusal = (expected: string, message: RegExp) => (error: unknown) => {
    assert.ok(isCloudError(error), String(error));
    assert.equal(error.kind, expected);
    assert.match(error.message, message);
    return true;
  };

  it('lets through what is as the contract has it', async () => {
    const [reader] = driver({}).readers;
    assert.deepEqual(await reader!.all('c', {}), [resource]);
    assert.deepEqual(
      kind({}).compare(resource, {}, () => []),
      { same: true },
    );
    const answer = { id: '1', found: [resource] };
    assert.deepEqual(await kind({ create: async () => answer }).create!(want, [], io), answer);
  });

  it('takes a call that throws or hangs for one that may have had its effect', async () => {
    const throwing = async () => {
      throw new TypeError('x');
    };
    await assert.rejects(kind({ create: throwing }).create!(want, [], io), refusal('Unavailable', /TypeError: x/));
    await assert.rejects(during(kind({ remove: hanging }).remove!(resource, io)), refusal('Timeout', /60 s/));
  });

  it('ends the signal of a call that hangs, and of one that the caller gives up', async () => {
    const signals: AbortSignal[] = [];
    const remove = (_found: unknown, { signal }: WriteIo) => {
      signals.push(signal!);
      return hanging();
    };
    const removing = kind({ remove });
    await assert.rejects(during(removing.remove!(resource, io)), isCloudError);
    const leaving = new AbortController();
    const given = removing.remove!(resource, { ...io, signal: leaving.signal });
    leaving.abort();
    await assert.rejects(given, refusal('Unavailable', /interrupted/));
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [true, true],
    );
  });

  it('passes on unchanged what the permit throws', async () => {
    const withheld = new WithheldError('Fenced', 'not the leader');
    const create = async (_want: unknown, _inside: unknown, { permit }: WriteIo) => permit(1000);
    const permit = () => {
      throw withheld;
    };
    await assert.rejects(kind({ create }).create!(want, [], { ...io, permit }), (error) => error === withheld);
  });

  it('turns answers of another shape into errors', async () => {
    for (const all of [
      async () => undefined,
      async () => [{ kind: 'lb' }],
      async () => [{ ...resource, status: 'up' }],
    ])
      await assert.rejects(
        driver({ readers: [{ kinds: ['lb'], all, of: all }] }).readers[0]!.all('c', {}),
        refusal('Invalid', /expected a list of resources with kind, id and status/),
      );
    await assert.rejects(
      kind({ create: async () => undefined }).create!(want, [], io),
      refusal('Unavailable', /an answer/),
    );
    await assert.rejects(driver({ poll: async () => ({}) }).poll([], {}), refusal('Invalid', /expected a Map/));
    const show = () => driver({ show: () => ({ name: 'x' }) }).show(resource, [], () => []);
    assert.throws(show, refusal('Invalid', /expected an object with name and ingress/));
    const compare = () => kind({ compare: () => undefined }).compare(resource, {}, () => []);
    assert.throws(compare, refusal('Invalid', /answered nothing, expected same, changes/));
    const desire = (parts: object) => () => driver(parts).desire({ desired: {} } as never);
    assert.throws(desire({ desire: () => ({}) }), refusal('Invalid', /expected an object with wants and refusals/));
    const faulty = () => {
      throw new RangeError('y');
    };
    assert.throws(desire({ desire: faulty }), refusal('Invalid', /the module threw RangeError: y/));
  });
});

describe('the tags of instances of a module', () => {
  const given: unknown[] = [];
  const good = {
    batchSize: 5,
    expected: (key: string) => (key === 'bad' ? 'another key' : undefined),
    set: async (instances: string[], tags: object) => {
      given.push([...instances], { ...tags });
      instances.length = 0;
      Object.assign(tags, { own: 'x' });
    },
    remove: async () => {},
  };
  const nodeTagsOf = (parts: object) => guarded({ nodeTags: { ...good, ...parts } }).nodeTags!;

  it('passes instances and tags to the module as copies', async () => {
    const [instances, tags] = [['example://a'], { team: 'a' }];
    await during(nodeTagsOf({}).set(instances, tags, { permit: () => {} }));
    assert.deepEqual(given, [['example://a'], { team: 'a' }]);
    assert.deepEqual([instances, tags], [['example://a'], { team: 'a' }]);
    assert.deepEqual(
      ['bad', 'good'].map((key) => nodeTagsOf({}).expected(key, '')),
      ['another key', undefined],
    );
  });

  it('fails as a cloud does where the module throws or hangs, and not by a permit of ours', async () => {
    const calls = (parts: object, permit = () => {}) =>
      during(nodeTagsOf(parts).remove(['example://a'], {}, { permit }));
    const thrown = Object.assign(new Error('no'), { kind: 'NotFound', subjects: ['example://a'] });
    await assert.rejects(calls({ remove: async () => Promise.reject(thrown) }), {
      kind: 'NotFound',
      subjects: ['example://a'],
    });
    await assert.rejects(calls({ remove: hanging }), { kind: 'Timeout' });
    const withheld = new WithheldError('Paused', 'not sent');
    const asking = async (_: unknown, __: unknown, { permit }: { permit(ms: number): void }) => permit(1);
    const permit = () => {
      throw withheld;
    };
    await assert.rejects(calls({ remove: asking }, permit), withheld);
  });

  it('refuses node tags of another shape, with the name of the part', () => {
    assert.throws(() => nodeTagsOf({ set: 1 }), /nodeTags\.set: number, expected a function/);
    assert.throws(() => nodeTagsOf({ batchSize: 0 }), /nodeTags\.batchSize: 0, expected a whole number/);
  });
});
