import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, afterEach, before, describe, it } from 'node:test';
import { systemClock } from '../../../common/process/clock.ts';
import { createLog } from '../../../common/process/log.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { answerJson, answerNovaFault, answerText } from '../../../test/clouds/openstack/fake/answers.ts';
import { password, uuid } from '../../../test/clouds/openstack/fake/fake-openstack.ts';
import type { Fault } from '../../../test/clouds/openstack/fake/openstack-state.ts';
import {
  named,
  providerID,
  range,
  ref,
  startWorld,
  states,
  type World,
} from '../../../test/clouds/openstack/fake/world.ts';
import type { OpenedCloud } from '../cloud.ts';

function cutConnection(_: unknown, response: ServerResponse): 'answered' {
  response.destroy();
  return 'answered';
}

function cutBody(_: unknown, response: ServerResponse): 'answered' {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
  response.write('{"servers": [', () => response.destroy());
  return 'answered';
}

describe('an OpenStack that fails', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.end());
  afterEach(() => world.reset());

  const proxies: [string, Fault][] = [
    ['404 with a page', (_, r) => answerText(r, 404, '404 page not found')],
    ['404 with JSON of its own', (_, r) => answerJson(r, 404, { message: 'no Route matched with those values' })],
    ['404 with another fault', (_, r) => answerJson(r, 404, { error: { code: 404, message: 'no such service' } })],
    ['410', (_, r) => answerText(r, 410, '410 gone')],
  ];
  for (const [name, answer] of proxies) {
    it(`a proxy's ${name} is no proof of absence`, async () => {
      world.fake.fault = (call, response) => (call.path.startsWith('/servers/') ? answer(call, response) : undefined);
      assert.deepEqual(states(await (await world.open()).instances.lookup([ref(1)])), ['unknown Unavailable']);
    });
  }

  it('a Keystone that is not where it should be is no proof of absence', async () => {
    world.fake.fault = (call, response) =>
      call.service === 'identity' ? answerNovaFault(response, 404, 'itemNotFound', 'x') : undefined;
    assert.deepEqual(states(await (await world.open()).instances.lookup([ref(1)])), ['unknown Unavailable']);
    world.fake.fault = (call, response) =>
      call.service === 'identity' ? answerText(response, 410, '410 gone') : undefined;
    assert.deepEqual(states(await (await world.open()).instances.lookup([ref(1)])), ['unknown Unavailable']);
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
        world.fake.fault = (call, response) => (call.service === 'compute' ? fault(call, response) : undefined);
        const lookups = await (await world.open()).instances.lookup([...refs, named('n')], { canaries: [ref(3)] });
        assert.deepEqual(states(lookups), Array(refs.length + 1).fill(`unknown ${kind}`));
      });
    }
    it(`${name} of Neutron: what Nova found is unknown (${kind}), what it denies is absent`, async () => {
      world.add(1);
      world.fake.fault = (call, response) => (call.service === 'network' ? fault(call, response) : undefined);
      assert.deepEqual(states(await (await world.open()).instances.lookup([ref(1), ref(7)])), [
        `unknown ${kind}`,
        'absent',
      ]);
    });
  }

  it('an answer without the list is no empty list', async () => {
    world.fake.fault = ({ path }, response) => (path === '/servers/detail' ? answerJson(response, 200, {}) : undefined);
    assert.deepEqual(
      states(await (await world.open()).instances.lookup(range(9).map(ref))),
      Array(9).fill('unknown Invalid'),
    );
  });

  it('wrong credentials make everything unknown, and Keystone is asked once in ten seconds', async () => {
    const clock = fakeClock(undefined, 50);
    const cloud = await world.open({ clock }, '', 'wrong');
    for (let round = 0; round < 3; round += 1) {
      assert.deepEqual(states(await cloud.instances.lookup(range(9).map(ref))), Array(9).fill('unknown Unauthorized'));
    }
    assert.equal(world.fake.calls.length, 1);
    await clock.advance(10_000);
    await cloud.instances.lookup([ref(1)]);
    assert.equal(world.fake.calls.length, 2);
  });

  it('an application credential that Keystone does not know is a refused credential', async () => {
    const message = 'Could not find Application Credential: ac1.';
    world.fake.fault = (call, response) =>
      call.service === 'identity'
        ? answerJson(response, 404, { error: { code: 404, title: 'Not Found', message } })
        : undefined;
    const cloud = await world.open();
    for (let round = 0; round < 2; round += 1) {
      assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['unknown Unauthorized']);
    }
    assert.equal(world.fake.calls.length, 1);
  });

  it('renews a token that was revoked once for all that wait, and repeats', async () => {
    const clock = fakeClock(undefined, 50);
    world.add(...range(5));
    const cloud = await world.open({ clock });
    await cloud.instances.lookup([ref(1)]);
    await clock.advance(10_001);
    world.fake.revoked.add(String(world.fake.calls[1]?.headers['x-auth-token']));
    assert.deepEqual(states(await cloud.instances.lookup(range(5).map(ref))), Array(5).fill('found running by id'));
    assert.equal(world.count('/v3/auth/tokens'), 2);
  });

  it('a service that refuses a fresh token leaves everything unknown, and Keystone alone', async () => {
    world.fake.fault = ({ service }, response) =>
      service === 'compute' ? answerJson(response, 401, { error: { code: 401 } }) : undefined;
    assert.deepEqual(states(await (await world.open()).instances.lookup([ref(1)])), ['unknown Unauthorized']);
    assert.equal(world.count('/v3/auth/tokens'), 1);
  });

  it('renews the token before it ends, and keeps the old one while Keystone is away', async () => {
    const clock = fakeClock(undefined, 50);
    world.add(1);
    const cloud = await world.open({ clock });
    await cloud.instances.lookup([ref(1)]);
    await clock.advance(3_600_000 - 300_000 - 1);
    await cloud.instances.lookup([ref(1)]);
    assert.equal(world.count('/v3/auth/tokens'), 1);
    await clock.advance(1);
    world.fake.fault = ({ service }, response) =>
      service === 'identity' ? answerText(response, 503, 'away') : undefined;
    assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['found running by id']);
    assert.equal(world.count('/v3/auth/tokens'), 2);
    await clock.advance(300_000);
    assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['unknown Unavailable']);
    world.fake.fault = undefined;
    assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['found running by id']);
  });

  it('a page that fails leaves what came before it found and the rest unknown', async () => {
    world.add(...range(9));
    world.fake.pageSize = 4;
    world.fake.fault = ({ query, service }, response) =>
      service === 'compute' && query.has('marker') ? answerText(response, 500, 'oops') : undefined;
    const lookups = await (await world.open()).instances.lookup(range(9).map(ref));
    assert.deepEqual(states(lookups), [
      ...Array(4).fill('found running by list'),
      ...Array(5).fill('unknown Unavailable'),
    ]);
    assert.equal(world.paths('compute').filter((path) => path !== '/servers/detail').length, 0);
  });

  for (const [name, href] of [
    ['go in a circle', `http://x/servers/detail?marker=${uuid(1)}`],
    ['lack their marker', 'http://x/servers/detail'],
  ] as const) {
    it(`pages that ${name} end, and prove nothing`, async () => {
      world.fake.fault = ({ path }, response) =>
        path === '/servers/detail'
          ? answerJson(response, 200, { servers: [], servers_links: [{ rel: 'next', href }] })
          : undefined;
      assert.deepEqual(
        states(await (await world.open()).instances.lookup(range(9).map(ref))),
        Array(9).fill('unknown Unavailable'),
      );
    });
  }

  it('gives up after the configured time without an answer', async () => {
    const clock = fakeClock(undefined, 50);
    const cloud = await world.open({ clock }, '[Metadata]\nrequest-timeout = 5s\n');
    await cloud.instances.lookup([ref(1)]);
    const asked = Promise.withResolvers<void>();
    world.fake.fault = () => {
      asked.resolve();
      return 'answered';
    };
    const lookup = cloud.instances.lookup([ref(1)]);
    await asked.promise;
    await clock.advance(5_000);
    assert.deepEqual(states(await lookup), ['unknown Timeout']);
    assert.equal(world.calls.at(-1)?.code, 'timeout');
  });

  it('a signal ends the lookup, everything unknown, even while Keystone is awaited', async () => {
    const cancel = new AbortController();
    world.fake.fault = () => {
      cancel.abort();
      return 'answered';
    };
    const lookups = await (await world.open()).instances.lookup([ref(1)], { signal: cancel.signal });
    assert.deepEqual(states(lookups), ['unknown Unavailable']);
  });

  it('leaves the cloud alone for as long as it asked', async () => {
    const clock = fakeClock(undefined, 50);
    world.add(1);
    const cloud = await world.open({ clock });
    world.fake.fault = ({ service }, response) =>
      service === 'compute' ? answerNovaFault(response, 429, 'overLimit', 'slow', { 'retry-after': '7' }) : undefined;
    const first = (await cloud.instances.lookup([ref(1)])).get(providerID(1));
    assert.ok(first?.state === 'unknown');
    assert.equal(first.error.retryAfterMs, 7000);
    world.fake.fault = undefined;
    const before = world.fake.calls.length;
    assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['unknown Throttled']);
    assert.equal(world.fake.calls.length, before);
    await clock.advance(7000);
    assert.deepEqual(states(await cloud.instances.lookup([ref(1)])), ['found running by id']);
  });

  it('no log line, error or metric carries the password or a token', async () => {
    const lines: string[] = [];
    const log = createLog({ clock: systemClock(), level: 'debug', format: 'json', write: (line) => lines.push(line) });
    const everything = async (cloud: OpenedCloud) => {
      const lookups = await cloud.instances.lookup([ref(1), ...range(9).map(ref)]);
      for (const lookup of lookups.values())
        if (lookup.state === 'unknown') lines.push(JSON.stringify([lookup.error.message, lookup.error]));
      lines.push(JSON.stringify(await cloud.check()), JSON.stringify(world.calls));
      lines.push(JSON.stringify(await cloud.identify().catch(String)));
    };
    world.fake.fault = ({ service }, response) =>
      service === 'compute' ? answerText(response, 500, 'oops') : undefined;
    await everything(await world.open({ log }));
    await everything(await world.open({ log }, '', 'wr0ng-but-secret'));
    for (const secret of [password, 'wr0ng-but-secret', 'token-']) assert.ok(!lines.join('').includes(secret), secret);
  });
});
