import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CloudErrorKind, isCloudError } from '../../../common/cloud-error.ts';
import type { Log } from '../../../common/process/log.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import { desiredFor, newOwner } from '../../../test/clouds/suite/desired.ts';
import type { CloudCall, CloudContext, OpenedCloud } from '../../clouds/cloud.ts';
import type { DesireInput, LoadBalancerDriver } from '../../clouds/load-balancer-driver.ts';
import { WithheldError } from '../../clouds/permit.ts';
import type { Routes } from '../../clouds/routes.ts';
import type { DocumentType } from '../../engine/driver.ts';
import type { Found } from '../../engine/resource.ts';
import { createOutOfTreeModule } from './load-cloud-module.ts';
import { linesAMinute } from './module-context.ts';

const hanging = () => new Promise<never>(() => {});
const throwing = () => {
  throw new TypeError('x is not iterable');
};

/** What reaches the rest of the controller from one module. */
function surroundings() {
  const clock = fakeClock();
  const lines: string[] = [];
  const calls: CloudCall[] = [];
  const write = (message: string) => void lines.push(message);
  const log: Log = { debug: write, info: write, warn: write, error: write, with: () => log };
  const context: CloudContext = {
    clock,
    log,
    random: () => 0.5,
    env: { TOKEN: 'theirs' },
    onCall: (call) => void calls.push(call),
  };
  return { clock, lines, calls, context };
}

async function opened(parts: object, { context } = surroundings(), atOpen = (_: CloudContext) => {}) {
  const good = {
    identify: async () => ({ scope: 'api.test/1', account: '1' }),
    accepts: () => true,
    instances: { batchSize: 10, lookup: async () => new Map() },
    check: async () => [],
    close() {},
  };
  const module = createOutOfTreeModule('example', 'example.cjs', () => ({
    contractVersion: 1,
    createCloud: () => ({
      async open(_file, given) {
        atOpen(given);
        return { ...good, ...parts } as unknown as OpenedCloud;
      },
    }),
  }));
  return (await module.open(undefined, context)) as OpenedCloud;
}

const refusal = (kind: CloudErrorKind, message: RegExp) => (error: unknown) => {
  assert.ok(isCloudError(error), String(error));
  assert.equal(error.kind, kind);
  assert.match(error.message, message);
  return true;
};

describe('the routes of a module', () => {
  const route = { id: 'r1', destination: '10.0.1.0/24', providerID: 'example://a', blackhole: false, ours: true };
  const desired = {
    cluster: 'c',
    node: 'a',
    nodeUid: 'u',
    destination: '10.0.1.0/24',
    providerID: 'example://a',
    addresses: ['192.0.2.1'],
  };
  const around = surroundings();
  const during = <T>(work: Promise<T>) => advanceDuring(around.clock, work, 1000);
  async function routesOf(parts: object): Promise<Routes> {
    const good = {
      tagged: true,
      observe: async () => ({ routes: [route], quota: undefined }),
      create: async () => route,
      remove: async () => {},
    };
    return (await opened({ routes: { ...good, ...parts } }, around)).routes!;
  }
  const options = { permit: () => {}, onStep: () => {} };

  it('passes routes on where they are as the contract has it', async () => {
    const routes = await routesOf({});
    assert.deepEqual(await routes.observe('c'), { routes: [route], quota: undefined });
    assert.deepEqual(await routes.create(desired, options), route);
    await routes.remove(route, options);
  });

  it('refuses a route table of any other shape, so that no route counts as missing', async () => {
    for (const [table, message] of [
      [undefined, /no list of routes/],
      [{ routes: {} }, /no list of routes/],
      [{ routes: [null] }, /expected id to be a text/],
      [{ routes: [{ ...route, id: 7 }] }, /expected id to be a text/],
      [
        { routes: [{ ...route, destination: '10.0.1.7/24' }] },
        /expected destination to be a CIDR in its usual spelling/,
      ],
      [{ routes: [{ ...route, destination: 'default' }] }, /expected destination to be a CIDR/],
      [{ routes: [{ ...route, providerID: null }] }, /expected providerID/],
      [{ routes: [{ ...route, blackhole: undefined }] }, /expected blackhole/],
      [{ routes: [{ ...route, ours: undefined }] }, /expected ours/],
      [{ routes: [route, { ...route }] }, /two routes with one id/],
      [{ routes: [route], quota: { limit: Number.NaN, used: 1 } }, /expected limit and used/],
    ] as const) {
      const routes = await routesOf({ observe: async () => table });
      await assert.rejects(routes.observe('c'), refusal('Invalid', message));
    }
  });

  it('treats a call that throws, hangs or answers for another route as one of unknown effect', async () => {
    const hung = await routesOf({ observe: hanging, create: hanging, remove: throwing });
    await assert.rejects(during(hung.observe('c')), refusal('Timeout', /60 s/));
    await assert.rejects(during(hung.create(desired, options)), refusal('Timeout', /60 s/));
    await assert.rejects(hung.remove(route, options), refusal('Unavailable', /TypeError/));
    const other = await routesOf({ create: async () => ({ ...route, destination: '10.0.2.0/24' }) });
    await assert.rejects(other.create(desired, options), refusal('Unavailable', /expected the destination 10.0.1.0/));
    const nothing = await routesOf({ create: async () => undefined });
    await assert.rejects(nothing.create(desired, options), refusal('Unavailable', /expected id/));
  });

  it('passes on the loss of leadership, and keeps the desired route from changes by the module', async () => {
    const withheld = new WithheldError('Fenced', 'not the leader');
    const permit = () => {
      throw withheld;
    };
    const asking = await routesOf({ create: async (_: unknown, given: typeof options) => given.permit() });
    await assert.rejects(asking.create(desired, { ...options, permit }), (error) => error === withheld);
    const changing = await routesOf({
      async create(given: { destination: string; addresses: string[] }) {
        given.destination = '0.0.0.0/0';
        given.addresses.length = 0;
        return route;
      },
    });
    const before = structuredClone(desired);
    await changing.create(desired, options);
    assert.deepEqual(desired, before);
  });

  it('refuses to open routes that lack a function', async () => {
    await assert.rejects(opened({ routes: { tagged: true, observe: async () => ({}) } }), /routes.create: undefined/);
  });
});

describe('the load balancers of a module', () => {
  const around = surroundings();
  const during = <T>(work: Promise<T>) => advanceDuring(around.clock, work, 1000);
  const good = {
    main: 'lb',
    annotations: [],
    maxMembers: undefined,
    drains: false,
    kinds: [{ kind: 'lb', retryCreate: 'afterSearch', compare: () => ({ same: true }) }],
    readers: [{ kinds: ['lb'], all: async () => [], of: async () => ({ found: [] }) }],
    desire: () => ({ wants: [], refusals: [] }),
    poll: async () => new Map(),
    slots: () => [],
    members: () => [],
    show: () => ({ name: 'x', ingress: [] }),
  };
  const driverOf = async (parts: object): Promise<LoadBalancerDriver> =>
    (await opened({ loadBalancerDriver: { ...good, ...parts } }, around)).loadBalancerDriver!;
  const lb = { kind: 'lb', id: '1', key: 'main', status: 'ready', body: {} } as const;
  const input = (): DesireInput => {
    const all: readonly Found[] = [lb];
    const desired = desiredFor(newOwner('c'), [
      { name: 'a', providerID: 'example://a', addresses: ['192.0.2.1'], zone: '' },
    ]);
    return { desired, found: () => all, get: () => lb, holderOf: () => undefined, own: () => all };
  };

  it('keeps the module from changing what other Services and clouds get', async () => {
    const { desire } = await driverOf({
      desire({ desired, found, own }: DesireInput) {
        (desired.members as unknown[]).length = 0;
        Object.assign(desired.owner, { service: 'another' });
        for (const list of [found('lb'), own()]) (list as unknown[]).length = 0;
        return { wants: [], refusals: [] };
      },
    });
    const given = input();
    const before = structuredClone(given.desired);
    desire(given);
    assert.deepEqual(given.desired, before);
    assert.equal(given.own().length + given.found('lb').length, 2);
  });

  it('refuses wants, resources, addresses and members of another shape', async () => {
    const want = { kind: 'lb', key: 'main', spec: {}, summary: 'a load balancer' };
    for (const wants of [[{ ...want, kind: 'rule' }], [{ ...want, key: 7 }], [null], [{ ...want, needs: 'lb/main' }]]) {
      const { desire } = await driverOf({ desire: () => ({ wants, refusals: [] }) });
      assert.throws(() => desire(input()), refusal('Invalid', /each want of lb/));
    }
    for (const wrong of [
      { owner: { service: 's' } },
      { owner: { cluster: 'c', service: 's' }, key: undefined },
      { refs: [{ role: 'group' }] },
      { slots: 'port 80' },
    ]) {
      const of = async () => ({ found: [{ ...lb, ...wrong }] });
      const { readers } = await driverOf({ readers: [{ kinds: ['lb'], all: async () => [], of }] });
      await assert.rejects(readers[0]!.of({} as never, {}), refusal('Invalid', /a list of resources/));
    }
    for (const ingress of [[{}], [{ ip: 'localhost' }], ['192.0.2.1']]) {
      const { show } = await driverOf({ show: () => ({ name: 'x', ingress }) });
      assert.throws(() => show(lb, [], () => []), refusal('Invalid', /a list of addresses/));
    }
    const { members } = await driverOf({ members: () => [{ providerID: 'example://a' }] });
    assert.throws(() => members([]), refusal('Invalid', /draining/));
  });

  it('turns an error at the start of a term into one of the cloud', async () => {
    const { startTerm } = await driverOf({
      startTerm() {
        throw new TypeError('x is not iterable');
      },
    });
    assert.throws(() => startTerm?.(), refusal('Invalid', /x is not iterable/));
  });

  it('accepts operations that run, are done or have failed, and no others', async () => {
    const failed = new Error('no room');
    const states = new Map<string, unknown>([
      ...([['a', 'running'] as const, ['b', 'done'] as const] as const),
      ['c', failed],
    ]);
    const { poll } = await driverOf({ poll: async () => states });
    const read = await poll(['a', 'b', 'c'], {});
    assert.deepEqual([read.get('a'), read.get('b')], ['running', 'done']);
    assert.match(String(read.get('c')), /no room/);
    states.set('d', 'finished');
    await assert.rejects(poll([], {}), refusal('Invalid', /"finished" for d, expected running, done or an error/));
  });

  it('gives up calls about documents that do not end, and refuses documents without a version', async () => {
    const document = {
      document: 'rules',
      name: () => 'all',
      all: async () => [],
      read: async () => undefined,
      parse: () => [],
      fold: () => undefined,
      write: async () => ({ doc: {}, version: '2' }),
      remove: async () => ({}),
    };
    const documentOf = async (parts: object): Promise<DocumentType> =>
      (await driverOf({ documents: [{ ...document, ...parts }] })).documents![0]!;
    const whole = await documentOf({});
    assert.deepEqual(await whole.write('all', {}, '1', () => {}), { doc: {}, version: '2' });
    assert.deepEqual(await whole.remove('all', '2', () => {}), {});
    assert.equal(await whole.read('all', {}), undefined);
    const broken = await documentOf({ write: hanging, remove: throwing, all: async () => [{ name: 'all' }] });
    await assert.rejects(during(broken.write('all', {}, '1', () => {})), refusal('Timeout', /60 s/));
    await assert.rejects(
      broken.remove('all', '1', () => {}),
      refusal('Unavailable', /TypeError/),
    );
    await assert.rejects(broken.all('c', {}), refusal('Invalid', /documents with name and version/));
    const odd = await documentOf({ write: async () => ({ doc: {} }), read: async () => ({}), parse: () => [{}] });
    await assert.rejects(
      odd.write('all', {}, '1', () => {}),
      refusal('Unavailable', /an object with version/),
    );
    await assert.rejects(odd.read('all', {}), refusal('Invalid', /an object with version/));
    assert.throws(() => odd.parse('all', {}, 'c'), refusal('Invalid', /a list of resources/));
    const withheld = new WithheldError('Fenced', 'not the leader');
    const asking = await documentOf({
      write: async (...args: readonly [string, object, string, () => void]) => args[3](),
    });
    const permit = () => {
      throw withheld;
    };
    await assert.rejects(asking.write('all', {}, '1', permit), (error) => error === withheld);
  });
});

describe('a module', () => {
  it('limits the lines that a module logs, and keeps line breaks and values without text out', async () => {
    const around = surroundings();
    let log: Log | undefined;
    await opened({}, around, (given) => {
      log = given.log.with({ part: 'reader' });
    });
    for (let at = 0; at < 5 * linesAMinute; at += 1) log!.info(`line ${at}\n{"level":"error"}`);
    assert.equal(around.lines.length, linesAMinute);
    assert.ok(around.lines.every((line) => !line.includes('\n')));
    await around.clock.advance(60_000);
    const cycle: Record<string, unknown> = {};
    cycle['itself'] = cycle;
    log!.warn('again', { cycle, big: 1n });
    assert.deepEqual(around.lines.slice(linesAMinute), [
      'the module wrote too much: lines are left out',
      'the module wrote a line that has no text',
    ]);
  });

  it('counts its calls as its own, under a bounded number of names', async () => {
    const around = surroundings();
    await opened({}, around, ({ onCall }) => {
      for (let at = 0; at < 1000; at += 1)
        onCall({ cloud: 'aws', operation: `get server ${at}`, code: '200', seconds: Number.NaN });
    });
    assert.ok(around.calls.every(({ cloud, seconds }) => cloud === 'example' && seconds === 0));
    assert.ok(new Set(around.calls.map(({ operation }) => operation)).size < 300);
  });

  it('keeps the module from changing the environment or the question of a lookup', async () => {
    const around = surroundings();
    const lookup = async (refs: { providerID: string }[]) => {
      refs[0]!.providerID = 'aws:///z/i-1';
      refs.length = 0;
      return new Map();
    };
    const cloud = await opened({ instances: { batchSize: 10, lookup } }, around, ({ env }) => {
      Object.assign(env, { TOKEN: 'ours' });
    });
    assert.equal(around.context.env['TOKEN'], 'theirs');
    const ref = { by: 'providerID', providerID: 'example://a' } as const;
    const answers = await cloud.instances.lookup([ref]);
    assert.equal(answers.get('example://a')?.state, 'unknown');
  });
});
