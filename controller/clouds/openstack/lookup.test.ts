import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, afterEach, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '../../../common/process/clock.ts';
import { createLog, silentLog } from '../../../common/process/log.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import {
  type Cloud,
  type CloudCall,
  type CloudContext,
  type InstanceRef,
  type Lookup,
  maxAbsenceProofs,
} from '../cloud.ts';
import { cloudModule } from './index.ts';
import {
  active,
  answerJson,
  answerNovaFault,
  answerText,
  type FakeOpenStack,
  type Fault,
  password,
  startFakeOpenStack,
  uuid,
} from './testing/fake-openstack.ts';

const providerID = (n: number) => `openstack:///${uuid(n)}`;
const ref = (n: number): InstanceRef => ({ by: 'providerID', providerID: providerID(n) });
const named = (name: string): InstanceRef => ({ by: 'name', name });
const range = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

let fake: FakeOpenStack;
let calls: CloudCall[] = [];
const opened: Cloud[] = [];

async function openCloud(more: Partial<CloudContext> = {}, extra = '', secret = password): Promise<Cloud> {
  const text = `[Global]
auth-url = ${fake.authUrl}
username = k8s
password = ${secret}
domain-name = Default
tenant-name = k8s
region = RegionOne
${extra}`;
  const context: CloudContext = {
    clock: systemClock(),
    random: () => 0.5,
    log: silentLog,
    env: {},
    onCall: (call) => calls.push(call),
    ...more,
  };
  const cloud = await cloudModule.open({ path: 'cloud.conf', text }, context);
  assert.ok('scope' in cloud);
  opened.push(cloud);
  return cloud;
}

const states = (lookups: ReadonlyMap<string, Lookup>) => [...lookups.values()].map(summary);
function summary(lookup: Lookup): string {
  if (lookup.state === 'unknown') return `unknown ${lookup.error.kind}`;
  return lookup.state === 'found' ? `found ${lookup.power} by ${lookup.request}` : lookup.state;
}

function cutConnection(_: unknown, response: ServerResponse): 'answered' {
  response.destroy();
  return 'answered';
}

function cutBody(_: unknown, response: ServerResponse): 'answered' {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
  response.write('{"servers": [', () => response.destroy());
  return 'answered';
}

describe('looking up servers on OpenStack', () => {
  before(async () => {
    fake = await startFakeOpenStack();
  });
  after(() => fake.close());
  afterEach(() => {
    for (const cloud of opened.splice(0)) cloud.close();
    for (const map of [fake.servers, fake.networks, fake.flavors]) map.clear();
    fake.ports.length = 0;
    fake.calls.length = 0;
    fake.revoked.clear();
    fake.fault = undefined;
    fake.pageSize = 1000;
    fake.maxMicroversion = 93;
    calls = [];
  });
  const add = (...numbers: number[]) => {
    for (const n of numbers) {
      fake.servers.set(uuid(n), active(n));
      fake.ports.push({ id: `port-${n}`, deviceId: uuid(n), networkId: 'net-1', ips: [`10.20.0.${n % 250}`] });
    }
  };
  const paths = (service: string) => fake.calls.filter((call) => call.service === service).map(({ path }) => path);
  const count = (path: string) => fake.calls.filter((call) => call.path === path).length;

  it('finds many servers by the pages of two lists and one token', async () => {
    add(...range(250));
    fake.pageSize = 100;
    const lookups = await (await openCloud()).instances.lookup(range(250).map(ref));
    assert.equal(lookups.size, 250);
    assert.ok([...lookups.values()].every((lookup) => summary(lookup) === 'found running by list'));
    assert.deepEqual(
      [count('/servers/detail'), count('/ports'), count('/v3/auth/tokens'), fake.calls.length],
      [3, 3, 1, 7],
    );
    assert.ok(calls.every(({ cloud, code }) => cloud === 'openstack' && code === 'ok'));
  });

  it('asks for a few servers one by one, with one list of their ports', async () => {
    add(1, 2, 3);
    const lookups = await (await openCloud()).instances.lookup([ref(1), ref(2)]);
    assert.deepEqual(states(lookups), ['found running by id', 'found running by id']);
    assert.deepEqual(paths('compute').toSorted(), [`/servers/${uuid(1)}`, `/servers/${uuid(2)}`]);
    assert.deepEqual(paths('network'), ['/ports']);
  });

  it('describes a server as its Node shall show it', async () => {
    fake.servers.set(uuid(1), active(1, { zone: 'az 1/rack' }));
    fake.ports.push({ id: 'port-1', deviceId: uuid(1), networkId: 'n', ips: ['10.20.0.9', '2001:db8::9'] });
    fake.ports.push({ id: 'port-2', deviceId: uuid(1), networkId: 'n', ips: ['10.20.0.8'], status: 'DOWN' });
    const lookup = (await (await openCloud()).instances.lookup([ref(1)])).get(providerID(1));
    assert.ok(lookup?.state === 'found');
    assert.deepEqual(lookup.instance, {
      cloud: 'openstack',
      id: uuid(1),
      providerID: providerID(1),
      incarnation: uuid(1),
      name: 'node-1',
      zone: 'az-1-rack',
      region: 'RegionOne',
      type: 'm1.small',
      addresses: [
        { type: 'InternalIP', address: '10.20.0.9' },
        { type: 'InternalIP', address: '2001:db8::9' },
        { type: 'InternalIP', address: '10.20.0.1' },
      ],
      labels: { 'topology.openstack.org/host-id': '2091634baaccdc4c5a1d57069c833e402921df696b7f970791b12ec6' },
    });
  });

  it('prints regional providerIDs when OS_CCM_REGIONAL says so', async () => {
    add(1);
    const cloud = await openCloud({ env: { OS_CCM_REGIONAL: 'true' } });
    const lookup = (await cloud.instances.lookup([ref(1)])).get(providerID(1));
    assert.ok(lookup?.state === 'found');
    assert.equal(lookup.instance.providerID, `openstack://RegionOne/${uuid(1)}`);
  });

  it('adds the addresses of trunk subports under their network', async () => {
    fake.networks.set('net-7', 'storage');
    fake.servers.set(uuid(1), active(1, { addresses: {} }));
    fake.ports.push({ id: 'parent', deviceId: uuid(1), networkId: 'net-1', ips: ['10.20.0.1'], subports: ['sub'] });
    fake.ports.push({ id: 'sub', deviceId: '', networkId: 'net-7', ips: ['10.7.0.1'] });
    const cloud = await openCloud({}, '[Networking]\npublic-network-name = storage\n');
    const lookup = (await cloud.instances.lookup([ref(1)])).get(providerID(1));
    assert.ok(lookup?.state === 'found');
    assert.deepEqual(lookup.instance.addresses, [
      { type: 'InternalIP', address: '10.20.0.1' },
      { type: 'ExternalIP', address: '10.7.0.1' },
    ]);
    assert.deepEqual(paths('network'), ['/ports', '/ports', '/networks']);
  });

  it('a subport that cannot be read leaves the server unknown rather than short of an address', async () => {
    fake.servers.set(uuid(1), active(1));
    fake.ports.push({ id: 'parent', deviceId: uuid(1), networkId: 'net-1', ips: ['10.20.0.1'], subports: ['sub'] });
    fake.fault = ({ query }, response) => (query.has('id') ? answerText(response, 503, 'no') : undefined);
    assert.deepEqual(states(await (await openCloud()).instances.lookup([ref(1)])), ['unknown Unavailable']);
  });

  it('tells power and end: SHUTOFF is off unless it is being started, a deleted server is gone', async () => {
    const table: [string, string | null, string][] = [
      ['ACTIVE', null, 'found running by list'],
      ['SHUTOFF', null, 'found stopped by list'],
      ['SHUTOFF', 'powering-on', 'found changing by list'],
      ['SHUTOFF', 'image_snapshot', 'found stopped by list'],
      ['BUILD', 'spawning', 'found changing by list'],
      ['PAUSED', null, 'found changing by list'],
      ['SHELVED_OFFLOADED', null, 'found changing by list'],
      ['ERROR', null, 'found changing by list'],
      ['SOFT_DELETED', null, 'gone'],
      ['DELETED', null, 'gone'],
    ];
    for (const [n, [status, taskState]] of table.entries()) fake.servers.set(uuid(n), active(n, { status, taskState }));
    fake.servers.set(uuid(99), active(99, { status: undefined }));
    const lookups = await (await openCloud()).instances.lookup([...table.keys(), 99].map(ref));
    assert.deepEqual(states(lookups), [...table.map(([, , expected]) => expected), 'unknown Invalid']);
  });

  it('proves absence by a GET of each server that the list leaves out', async () => {
    add(...range(8));
    const lookups = await (await openCloud()).instances.lookup([...range(8), 77, 78].map(ref));
    assert.deepEqual(states(lookups), [...Array(8).fill('found running by list'), 'absent', 'absent']);
    assert.deepEqual(
      paths('compute').toSorted(),
      ['/servers/detail', `/servers/${uuid(77)}`, `/servers/${uuid(78)}`].toSorted(),
    );
  });

  it('keeps a server that the list left out but its id finds', async () => {
    add(...range(8));
    fake.fault = ({ path }, response) =>
      path === '/servers/detail' ? answerJson(response, 200, { servers: [] }) : undefined;
    const lookups = await (await openCloud()).instances.lookup(range(8).map(ref));
    assert.deepEqual(states(lookups), Array(8).fill('found running by id'));
  });

  it(`proves at most ${maxAbsenceProofs} a pass; the rest waits`, async () => {
    const lookups = await (await openCloud()).instances.lookup(range(maxAbsenceProofs + 5).map(ref));
    assert.equal(states(lookups).filter((state) => state === 'absent').length, maxAbsenceProofs);
    assert.equal(states(lookups).filter((state) => state === 'unknown NotFound').length, 5);
  });

  it('asks for canaries one by one, and only when something is absent', async () => {
    add(1, 2);
    const cloud = await openCloud();
    assert.deepEqual([...(await cloud.instances.lookup([ref(1)], { canaries: [ref(2)] })).keys()], [providerID(1)]);
    const loud = await cloud.instances.lookup([ref(7)], { canaries: [ref(2)] });
    assert.deepEqual(states(loud), ['absent', 'found running by id']);
  });

  it('credentials of another project leave the canary absent too', async () => {
    assert.deepEqual(states(await (await openCloud()).instances.lookup([ref(1)], { canaries: [ref(2)] })), [
      'absent',
      'absent',
    ]);
  });

  const proxies: [string, Fault][] = [
    ['a page', (_, r) => answerText(r, 404, '404 page not found')],
    ['JSON of its own', (_, r) => answerJson(r, 404, { message: 'no Route matched with those values' })],
    ['another fault', (_, r) => answerJson(r, 404, { error: { code: 404, message: 'no such service' } })],
  ];
  for (const [name, answer] of proxies) {
    it(`a proxy's 404 with ${name} is no proof of absence`, async () => {
      fake.fault = (call, response) => (call.path.startsWith('/servers/') ? answer(call, response) : undefined);
      assert.deepEqual(states(await (await openCloud()).instances.lookup([ref(1)])), ['unknown NotFound']);
    });
  }

  it('a Keystone that is not where it should be is no proof of absence', async () => {
    fake.fault = (call, response) =>
      call.service === 'identity' ? answerNovaFault(response, 404, 'itemNotFound', 'x') : undefined;
    assert.deepEqual(states(await (await openCloud()).instances.lookup([ref(1)])), ['unknown Unavailable']);
  });

  it('finds nodes by exact name, one by one or in the list; a name never proves absence', async () => {
    fake.servers.set(uuid(1), active(1, { name: 'node.one' }));
    fake.servers.set(uuid(2), active(2, { name: 'twin' }));
    fake.servers.set(uuid(3), active(3, { name: 'twin' }));
    fake.servers.set(uuid(4), active(4, { name: 'nodexone' }));
    fake.servers.set(uuid(5), active(5, { name: 'UPPER' }));
    const cloud = await openCloud();
    const few = await cloud.instances.lookup(['node.one', 'twin', 'upper', 'nobody'].map(named));
    const expected = ['found running by list', 'unknown Conflict', 'unknown NotFound', 'unknown NotFound'];
    assert.deepEqual(states(few), expected);
    assert.ok(fake.calls.some(({ query }) => query.get('name') === '^node\\.one$'));
    fake.calls.length = 0;
    const many = await cloud.instances.lookup(['node.one', 'twin', 'upper', 'nobody', 'a', 'b'].map(named));
    assert.deepEqual(states(many), [...expected, 'unknown NotFound', 'unknown NotFound']);
    assert.equal(count('/servers/detail'), 1);
  });

  it('reads the list once for ids and names together', async () => {
    add(...range(12));
    const refs = [
      ...range(6).map(ref),
      ...range(12)
        .slice(6)
        .map((n) => named(`node-${n}`)),
    ];
    const lookups = await (await openCloud()).instances.lookup(refs);
    assert.deepEqual(states(lookups), Array(12).fill('found running by list'));
    assert.equal(count('/servers/detail'), 1);
  });

  it('never asks for what this scope cannot hold', async () => {
    const foreign = ['aws:///a/i-1', `openstack://RegionTwo/${uuid(1)}`, 'openstack:///node-1', uuid(1)];
    const cloud = await openCloud();
    const lookups = await cloud.instances.lookup(foreign.map((text) => ({ by: 'providerID', providerID: text })));
    assert.deepEqual(states(lookups), Array(4).fill('unknown Invalid'));
    assert.deepEqual(foreign.map(cloud.accepts), Array(4).fill(false));
    assert.ok(cloud.accepts(`openstack://RegionOne/${uuid(1)}`) && cloud.accepts(`/${uuid(1)}`));
    assert.deepEqual(fake.calls, []);
  });

  const failures: [string, Fault, string][] = [
    ['403', (_, r) => answerNovaFault(r, 403, 'forbidden', "Policy doesn't allow it"), 'Forbidden'],
    ['429', (_, r) => answerNovaFault(r, 429, 'overLimit', 'slow', { 'retry-after': '7' }), 'Throttled'],
    [
      '413 with Retry-After',
      (_, r) => answerNovaFault(r, 413, 'overLimit', 'slow', { 'retry-after': '7' }),
      'Throttled',
    ],
    ['500', (_, r) => answerNovaFault(r, 500, 'computeFault', 'Unexpected API Error.'), 'Unavailable'],
    ['a 502 of a proxy', (_, r) => answerText(r, 502, '<html>Bad Gateway</html>'), 'Unavailable'],
    ['a redirect', (_, r) => answerText(r, 302, '', { location: 'http://login.example/' }), 'Invalid'],
    ['a cut connection', cutConnection, 'Unavailable'],
    ['a cut body', cutBody, 'Unavailable'],
    ['half a document', (_, r) => answerText(r, 200, '{"servers": [{"id"'), 'Unavailable'],
    ['a login page', (_, r) => answerText(r, 200, '<html>log in</html>'), 'Unavailable'],
  ];
  for (const [name, fault, kind] of failures) {
    for (const [how, refs] of [
      ['one by one', range(2).map(ref)],
      ['in the list', range(9).map(ref)],
    ] as const) {
      it(`${name} of Nova, ${how}: everything is unknown (${kind}), nothing absent`, async () => {
        fake.fault = (call, response) => (call.service === 'compute' ? fault(call, response) : undefined);
        const lookups = await (await openCloud()).instances.lookup([...refs, named('n')], { canaries: [ref(3)] });
        assert.deepEqual(states(lookups), Array(refs.length + 1).fill(`unknown ${kind}`));
      });
    }
    it(`${name} of Neutron: what Nova found is unknown (${kind}), what it denies is absent`, async () => {
      add(1);
      fake.fault = (call, response) => (call.service === 'network' ? fault(call, response) : undefined);
      assert.deepEqual(states(await (await openCloud()).instances.lookup([ref(1), ref(7)])), [
        `unknown ${kind}`,
        'absent',
      ]);
    });
  }

  it('an answer without the list is no empty list', async () => {
    fake.fault = ({ path }, response) => (path === '/servers/detail' ? answerJson(response, 200, {}) : undefined);
    assert.deepEqual(
      states(await (await openCloud()).instances.lookup(range(9).map(ref))),
      Array(9).fill('unknown Unavailable'),
    );
  });

  it('wrong credentials make everything unknown, and Keystone is asked once in ten seconds', async () => {
    const clock = fakeClock(undefined, 50);
    const cloud = await openCloud({ clock }, '', 'wrong');
    for (let round = 0; round < 3; round += 1) {
      assert.deepEqual(states(await cloud.instances.lookup(range(9).map(ref))), Array(9).fill('unknown Unauthorized'));
    }
    assert.equal(fake.calls.length, 1);
    await clock.advance(10_000);
    await cloud.instances.lookup([ref(1)]);
    assert.equal(fake.calls.length, 2);
  });

  it('an application credential that Keystone does not know is a refused credential', async () => {
    const message = 'Could not find Application Credential: ac1.';
    fake.fault = (call, response) =>
      call.service === 'identity'
        ? answerJson(response, 404, { error: { code: 404, title: 'Not Found', message } })
        : undefined;
    const cloud = await openCloud();
    for (let round = 0; round < 2; round += 1) {
      assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['unknown Unauthorized']);
    }
    assert.equal(fake.calls.length, 1);
  });

  it('renews a token that was revoked once for all that wait, and repeats', async () => {
    add(...range(5));
    const cloud = await openCloud();
    await cloud.instances.lookup([ref(1)]);
    fake.revoked.add(String(fake.calls[1]?.headers['x-auth-token']));
    assert.deepEqual(states(await cloud.instances.lookup(range(5).map(ref))), Array(5).fill('found running by id'));
    assert.equal(count('/v3/auth/tokens'), 2);
  });

  it('a service that refuses every token leaves everything unknown', async () => {
    fake.fault = ({ service }, response) =>
      service === 'compute' ? answerJson(response, 401, { error: { code: 401 } }) : undefined;
    assert.deepEqual(states(await (await openCloud()).instances.lookup([ref(1)])), ['unknown Unauthorized']);
    assert.equal(count('/v3/auth/tokens'), 2);
  });

  it('renews the token before it ends, and keeps the old one while Keystone is away', async () => {
    const clock = fakeClock(undefined, 50);
    add(1);
    const cloud = await openCloud({ clock });
    await cloud.instances.lookup([ref(1)]);
    await clock.advance(3_600_000 - 120_000 - 1);
    await cloud.instances.lookup([ref(1)]);
    assert.equal(count('/v3/auth/tokens'), 1);
    await clock.advance(1);
    fake.fault = ({ service }, response) => (service === 'identity' ? answerText(response, 503, 'away') : undefined);
    assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['found running by id']);
    assert.equal(count('/v3/auth/tokens'), 2);
    await clock.advance(120_000);
    assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['unknown Unavailable']);
    fake.fault = undefined;
    assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['found running by id']);
  });

  it('a page that fails leaves what came before it found and the rest unknown', async () => {
    add(...range(9));
    fake.pageSize = 4;
    fake.fault = ({ query, service }, response) =>
      service === 'compute' && query.has('marker') ? answerText(response, 500, 'oops') : undefined;
    const lookups = await (await openCloud()).instances.lookup(range(9).map(ref));
    assert.deepEqual(states(lookups), [
      ...Array(4).fill('found running by list'),
      ...Array(5).fill('unknown Unavailable'),
    ]);
    assert.equal(paths('compute').filter((path) => path !== '/servers/detail').length, 0);
  });

  for (const [name, href] of [
    ['go in a circle', `http://x/servers/detail?marker=${uuid(1)}`],
    ['lack their marker', 'http://x/servers/detail'],
  ] as const) {
    it(`pages that ${name} end, and prove nothing`, async () => {
      fake.fault = ({ path }, response) =>
        path === '/servers/detail'
          ? answerJson(response, 200, { servers: [], servers_links: [{ rel: 'next', href }] })
          : undefined;
      assert.deepEqual(
        states(await (await openCloud()).instances.lookup(range(9).map(ref))),
        Array(9).fill('unknown Unavailable'),
      );
    });
  }

  it('gives up after the configured time without an answer', async () => {
    const clock = fakeClock(undefined, 50);
    const cloud = await openCloud({ clock }, '[Metadata]\nrequest-timeout = 5s\n');
    await cloud.instances.lookup([ref(1)]);
    const asked = Promise.withResolvers<void>();
    fake.fault = () => {
      asked.resolve();
      return 'answered';
    };
    const lookup = cloud.instances.lookup([ref(1)]);
    await asked.promise;
    await clock.advance(5_000);
    assert.deepEqual(states(await lookup), ['unknown Timeout']);
    assert.equal(calls.at(-1)?.code, 'timeout');
  });

  it('a signal ends the lookup, everything unknown, even while Keystone is awaited', async () => {
    const cancel = new AbortController();
    fake.fault = () => {
      cancel.abort();
      return 'answered';
    };
    const lookups = await (await openCloud()).instances.lookup([ref(1)], { signal: cancel.signal });
    assert.deepEqual(states(lookups), ['unknown Unavailable']);
  });

  it('leaves the cloud alone for as long as it asked', async () => {
    const clock = fakeClock(undefined, 50);
    add(1);
    const cloud = await openCloud({ clock });
    fake.fault = ({ service }, response) =>
      service === 'compute' ? answerNovaFault(response, 429, 'overLimit', 'slow', { 'retry-after': '7' }) : undefined;
    const first = (await cloud.instances.lookup([ref(1)])).get(providerID(1));
    assert.ok(first?.state === 'unknown');
    assert.equal(first.error.retryAfterMs, 7000);
    fake.fault = undefined;
    const before = fake.calls.length;
    assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['unknown Throttled']);
    assert.equal(fake.calls.length, before);
    await clock.advance(7000);
    assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['found running by id']);
  });

  it('an old Nova without the microversion is asked for each flavour once', async () => {
    fake.maxMicroversion = 40;
    fake.flavors.set('f1', 'm1.small');
    add(...range(8));
    const cloud = await openCloud();
    for (let round = 0; round < 2; round += 1) {
      for (const lookup of (await cloud.instances.lookup(range(8).map(ref))).values()) {
        assert.ok(lookup.state === 'found');
        assert.equal(lookup.instance.type, 'm1.small');
      }
    }
    assert.equal(count('/flavors/f1'), 1);
    assert.equal(count('/servers/detail'), 3);
  });

  it('a flavour whose name is no label gives its id, one that is deleted no type; one that cannot be read, no answer', async () => {
    fake.flavors.set('f2', 'm1 small (old)');
    fake.servers.set(uuid(1), active(1, { flavor: { id: 'f2', name: 'm1 small (old)' } }));
    fake.servers.set(uuid(2), active(2, { flavor: { id: 'f3', name: 'gone (old)' } }));
    const types = async (cloud: Cloud) =>
      [...(await cloud.instances.lookup([ref(1), ref(2)])).values()].map((lookup) =>
        lookup.state === 'found' ? lookup.instance.type : summary(lookup),
      );
    assert.deepEqual(await types(await openCloud()), ['f2', undefined]);
    fake.fault = ({ path }, response) => (path === '/flavors' ? answerText(response, 500, 'oops') : undefined);
    assert.deepEqual(await types(await openCloud()), ['unknown Unavailable', 'unknown Unavailable']);
  });

  it('no log line, error or metric carries the password or a token', async () => {
    const lines: string[] = [];
    const log = createLog({ clock: systemClock(), level: 'debug', format: 'json', write: (line) => lines.push(line) });
    const everything = async (cloud: Cloud) => {
      const lookups = await cloud.instances.lookup([ref(1), ...range(9).map(ref)]);
      for (const lookup of lookups.values())
        if (lookup.state === 'unknown') lines.push(JSON.stringify([lookup.error.message, lookup.error]));
      lines.push(JSON.stringify(await cloud.check()), JSON.stringify(calls), cloud.scope);
    };
    fake.fault = ({ service }, response) => (service === 'compute' ? answerText(response, 500, 'oops') : undefined);
    await everything(await openCloud({ log }));
    await everything(await openCloud({ log }, '', 'wr0ng-but-secret'));
    for (const secret of [password, 'wr0ng-but-secret', 'token-']) assert.ok(!lines.join('').includes(secret), secret);
  });

  it('answers every ref once, and absent only for an id it asked for', async () => {
    const cloud = await openCloud();
    const world = fc.record({
      existing: fc.uniqueArray(fc.integer({ min: 1, max: 40 })),
      asked: fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 45 }),
      pageSize: fc.integer({ min: 1, max: 50 }),
      failing: fc.constantFrom('nothing', 'lists', 'gets', 'second pages', 'ports'),
    });
    await fc.assert(
      fc.asyncProperty(world, async ({ existing, asked, pageSize, failing }) => {
        fake.servers.clear();
        fake.ports.length = 0;
        add(...existing);
        fake.calls.length = 0;
        fake.pageSize = pageSize;
        fake.fault = ({ path, query }, response) => {
          const hit =
            (failing === 'lists' && path === '/servers/detail') ||
            (failing === 'gets' && /^\/servers\/0/.test(path)) ||
            (failing === 'second pages' && query.has('marker')) ||
            (failing === 'ports' && path === '/ports');
          return hit ? answerText(response, 500, 'oops') : undefined;
        };
        const lookups = await cloud.instances.lookup(asked.map(ref));
        assert.deepEqual(new Set(lookups.keys()), new Set(asked.map(providerID)));
        for (const n of asked) {
          const lookup = lookups.get(providerID(n))!;
          if (existing.includes(n)) assert.notEqual(lookup.state, 'absent');
          if (lookup.state === 'absent') assert.ok(paths('compute').includes(`/servers/${uuid(n)}`));
          if (failing === 'nothing' && existing.includes(n)) assert.equal(lookup.state, 'found');
        }
      }),
      { numRuns: 60 },
    );
  });
});
