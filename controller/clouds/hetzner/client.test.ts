import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { silentLog } from '../../../common/process/log.ts';
import { failureOf } from '../../../common/testing/cloud-failure.ts';
import { advanceDuring, type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import { createFakeHetzner, token } from '../../../test/clouds/hetzner/fake-hetzner.ts';
import type { FakeHetzner } from '../../../test/clouds/hetzner/fake-project.ts';
import type { CloudCall } from '../cloud.ts';
import { actionOf, type HetznerClient, openClient } from './client.ts';
import { refusalOf } from './fault.ts';

interface Parts {
  readonly clock: FakeClock;
  readonly fake: FakeHetzner;
  readonly client: HetznerClient;
  readonly calls: CloudCall[];
}

function open(): Parts {
  const clock = fakeClock();
  const fake = createFakeHetzner(clock);
  const calls: CloudCall[] = [];
  const onCall = (call: CloudCall) => void calls.push(call);
  const client = openClient(
    { clock, random: () => 0.5, log: silentLog, env: {}, mutationTimeoutMs: 5000, onCall },
    {
      endpoint: 'http://hetzner.test/v1',
      authorization: `Bearer ${token}`,
      limits: { perSecond: 1000, burst: 1000 },
      wrapHttp: () => fake.http,
    },
  );
  return { clock, fake, client, calls };
}

describe('calling the API of Hetzner Cloud', () => {
  it('reads a list by pages of fifty, and one page more to know that it is complete', async () => {
    for (const [servers, pages] of [
      [0, 1],
      [50, 1],
      [101, 4],
    ] as const) {
      const { fake, client, calls } = open();
      for (let each = 0; each < servers; each += 1) fake.addServer(`node-${each}`);
      assert.equal((await client.list({ path: '/servers' }, 'servers')).length, servers);
      assert.deepEqual(
        calls.map(({ operation, code }) => `${operation} ${code}`),
        Array(pages).fill('GET /servers ok'),
      );
    }
  });

  it('leaves out no resource that exists from the first page to the last', async () => {
    const step = fc.record({ before: fc.integer({ min: 1, max: 8 }), gone: fc.nat(140), come: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 4 }), async (steps) => {
        const { fake, client } = open();
        const ids = Array.from({ length: 140 }, (_, each) => fake.addServer(`node-${each}`).id);
        const gone = new Set<number>();
        fake.fault = () => {
          for (const { before, gone: at, come } of steps) {
            if (before !== fake.calls.length) continue;
            if (come) fake.addServer(`new-${before}-${at}`);
            const id = ids[at];
            if (id !== undefined) fake.deleteServer(id);
            if (id !== undefined) gone.add(id);
          }
          return undefined;
        };
        const listed = new Set((await client.list({ path: '/servers' }, 'servers')).map((one) => one.number('id')));
        for (const id of ids) assert.ok(listed.has(id) || gone.has(id), `server ${id} is left out`);
      }),
    );
  });

  it('fails rather than return an incomplete list when it changes all the time', async () => {
    const { fake, client } = open();
    for (let each = 0; each < 120; each += 1) fake.addServer(`node-${each}`);
    fake.fault = () => {
      fake.deleteServer(Math.min(...fake.servers.keys()));
      return undefined;
    };
    const { kind, message } = await failureOf(client.list({ path: '/servers' }, 'servers'));
    assert.equal(kind, 'Unavailable');
    assert.match(message, /the list changed while its pages were read/);
    assert.ok(fake.calls.length <= 12);
  });

  it('fails when the pages go in a circle', async () => {
    const { fake, client } = open();
    const meta = { pagination: { page: 1, next_page: 1, total_entries: null } };
    fake.fault = () => ({ status: 200, body: { servers: [], meta } });
    assert.match(
      (await failureOf(client.list({ path: '/servers' }, 'servers'))).message,
      /next_page: 1, expected more/,
    );
  });

  const kinds: readonly (readonly [number, string | undefined, string])[] = [
    [401, 'unauthorized', 'Unauthorized'],
    [403, 'forbidden', 'Forbidden'],
    [403, 'token_readonly', 'Forbidden'],
    [423, 'protected', 'Forbidden'],
    [404, 'not_found', 'NotFound'],
    [404, undefined, 'Unavailable'],
    [423, 'locked', 'Busy'],
    [409, 'conflict', 'Busy'],
    [409, 'uniqueness_error', 'Taken'],
    [409, 'source_port_already_used', 'Taken'],
    [422, 'invalid_input', 'Invalid'],
    [403, 'resource_limit_exceeded', 'QuotaExceeded'],
    [422, 'no_subnet_available', 'QuotaExceeded'],
    [503, 'maintenance', 'Unavailable'],
    [502, undefined, 'Unavailable'],
    [504, 'timeout', 'Timeout'],
    [400, 'json_error', 'Invalid'],
  ];
  for (const [status, code, kind] of kinds) {
    it(`${status} ${code ?? 'of a proxy'} is ${kind}`, async () => {
      const { fake, client, calls } = open();
      fake.fault = () => ({ status, body: code === undefined ? '<html>' : { error: { code, message: 'why' } } });
      const error = await failureOf(client.call({ path: '/servers/42' }));
      assert.equal(error.kind, kind);
      assert.deepEqual(refusalOf(error), { status, code: code ?? '', message: code === undefined ? '' : 'why' });
      assert.equal(error.retryAfterMs, undefined);
      assert.deepEqual(
        calls.map((call) => [call.operation, call.code]),
        [['GET /servers/{id}', String(status)]],
      );
    });
  }

  it('rests until the limit recovers, and a minute at the most', async () => {
    for (const [leftSeconds, expectedMs] of [
      [20, 20_000],
      [3000, 60_000],
      [-5, 1000],
    ] as const) {
      const { fake, client, clock } = open();
      const headers = { 'ratelimit-reset': String(clock.now() / 1000 + leftSeconds) };
      const body = { error: { code: 'rate_limit_exceeded', message: 'limit of 3600 requests per hour reached' } };
      fake.fault = () => ({ status: 429, headers, body });
      const error = await failureOf(client.call({ path: '/servers' }));
      assert.deepEqual([error.kind, error.retryAfterMs], ['Throttled', expectedMs]);
    }
  });

  it('requests the permit right before a change is sent, with the time that the change may take', async () => {
    const { fake, client } = open();
    const { id } = fake.addServer('node-1');
    const asked: (readonly [number, number])[] = [];
    const permit = (timeoutMs: number) => void asked.push([timeoutMs, fake.calls.length]);
    await client.call({ method: 'PUT', path: `/servers/${id}`, body: { labels: { team: 'a' } }, permit });
    assert.deepEqual(asked, [[5000, 0]]);
    assert.deepEqual(fake.servers.get(id)?.labels, { team: 'a' });
    const refuse = () => {
      throw new Error('not now');
    };
    await assert.rejects(client.call({ method: 'PUT', path: `/servers/${id}`, body: {}, permit: refuse }), /not now/);
    assert.equal(fake.calls.length, 1);
  });

  it('reads the states of many actions in one call', async () => {
    const { fake, client, clock, calls } = open();
    const started = ['one', 'two', 'three'].map((command, at) => {
      fake.actions.failNext = command === 'two' ? { code: 'action_failed', message: 'no luck' } : undefined;
      return fake.actions.start(command, [{ id: at, type: 'network' }]);
    });
    const ids = started.map(({ id }) => String(id));
    assert.deepEqual([...(await client.actions([...ids, '99'])).values()], Array(3).fill('running'));
    await clock.advance(1000);
    const [one, two, three] = (await client.actions(ids)).values();
    assert.deepEqual([one, three], ['done', 'done']);
    assert.ok(two instanceof Error && two.kind === 'Unavailable', String(two));
    assert.match(two.message, /hetzner two: action_failed no luck/);
    assert.equal(calls.length, 2);
  });

  it('waits for an action that a change has started', async () => {
    const { fake, client, clock } = open();
    const { id } = fake.addNetwork('k8s');
    const body = { destination: '10.2.0.0/24', gateway: '10.0.0.2' };
    const action = actionOf(await client.call({ method: 'POST', path: `/networks/${id}/actions/add_route`, body }));
    assert.ok(action);
    assert.deepEqual(fake.networks.get(id)?.routes, []);
    await advanceDuring(clock, client.finished(action));
    await client.call({ path: '/locations' });
    assert.deepEqual(fake.networks.get(id)?.routes, [body]);
  });

  it('ends the wait for an action when the caller gives up', async () => {
    const { fake, client, clock } = open();
    fake.actions.durationMs = 3_600_000;
    const { id } = fake.actions.start('hangs', [{ id: 1, type: 'network' }]);
    const abort = new AbortController();
    const waiting = failureOf(client.finished(String(id), abort.signal));
    await clock.advance(50_000);
    const polls = fake.calls.length;
    assert.ok(polls > 5 && polls < 30, `${polls} polls in a minute`);
    abort.abort();
    assert.equal((await waiting).kind, 'Unavailable');
    assert.equal(fake.calls.length, polls);
  });
});
