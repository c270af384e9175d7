import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../common/process/log.ts';
import { createMetricRegistry } from '../common/process/metrics.ts';
import { testCa } from '../common/testing/certificates.ts';
import { fakeClock } from '../common/testing/fake-clock.ts';
import { type ControllerAccess, createControllerAccess } from './controller-access.ts';
import { deliver } from './deliver.ts';
import { agentMetrics } from './metrics.ts';
import {
  acceptedAnswer,
  type ControllerReply,
  type SeenReport,
  startFakeController,
} from './testing/fake-controller.ts';

const serverName = 'mooring-controller.kube-system.svc';
const ca = await testCa();
const certificate = await ca.issue({ dnsNames: [serverName] });

type Reply = (report: SeenReport) => ControllerReply | 'hang';

async function controller(context: TestContext, reply?: Reply, host?: string) {
  const started = await startFakeController(certificate, reply, host);
  context.after(() => started.close());
  return started;
}

/** A deliverer on a fake clock and real sockets, with half-way randomness, so that jitter is none. */
async function start(context: TestContext, urls: readonly string[], files: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'deliver-'));
  const write = (name: string, text: string) => writeFile(join(folder, name), text);
  for (const [name, text] of Object.entries({ 'ca.crt': ca.caPem, token: 'token-1', ...files }))
    await write(name, text);
  const clock = fakeClock(undefined, 2);
  const registry = createMetricRegistry();
  const stop = new AbortController();
  let busy = 0;
  async function counted<T>(run: () => Promise<T>): Promise<T> {
    busy += 1;
    try {
      return await run();
    } finally {
      busy -= 1;
    }
  }
  const inner = createControllerAccess({
    clock,
    log: silentLog,
    urls,
    urlFile: join(folder, 'urls'),
    tokenFile: join(folder, 'token'),
    caFile: join(folder, 'ca.crt'),
    serverName,
  });
  const access: ControllerAccess = {
    async current() {
      const found = await counted(inner.current);
      return found.ok ? { ...found, http: (request) => counted(() => found.http(request)) } : found;
    },
    close: inner.close,
  };
  const state = { content: 'a' };
  let sequence = 0;
  const deliverer = deliver(
    {
      access,
      clock,
      random: () => 0.5,
      log: silentLog,
      metrics: registry.define(agentMetrics),
      heartbeatMs: 60_000,
      compose(leaving) {
        sequence += 1;
        return JSON.stringify({ sequence, content: state.content, ...(leaving ? { leaving } : {}) });
      },
    },
    stop.signal,
  );
  context.after(async () => {
    stop.abort();
    access.close();
    await rm(folder, { recursive: true });
  });

  /** Lets time pass second by second until the condition holds; what is under way on sockets gets its turn before. */
  async function until(condition: () => boolean, message: string, limitSeconds = 600): Promise<number> {
    const from = clock.monotonic();
    while (true) {
      for (let turn = 0; turn < (busy > 0 ? 100 : 3) && !condition(); turn += 1) {
        await new Promise((resolve) => (busy > 0 ? setTimeout(resolve, 1) : setImmediate(resolve)));
      }
      if (condition()) return (clock.monotonic() - from) / 1000;
      if (clock.monotonic() - from > limitSeconds * 1000) assert.fail(`never: ${message}`);
      await clock.advance(1000);
    }
  }
  const pass = (seconds: number) => {
    const end = clock.monotonic() + seconds * 1000;
    return until(() => clock.monotonic() >= end, 'time passes', seconds + 1);
  };
  const arrived = (at: { readonly reports: readonly SeenReport[] }, count: number) =>
    until(() => at.reports.length >= count, `${count} reports`);
  const ready = () => until(() => deliverer.unready() === undefined, 'ready');
  return { clock, pass, deliverer, state, stop, write, until, arrived, ready, registry };
}

test('says nothing before there is news, then reports at once with the token', async (context) => {
  const server = await controller(context);
  const { pass, deliverer, ready } = await start(context, [server.url]);
  await pass(300);
  assert.equal(server.reports.length, 0);
  assert.match(deliverer.unready() ?? '', /no report was accepted yet/);
  deliverer.wake();
  await ready();
  const [report] = server.reports;
  assert.equal(report?.path, '/v1/report');
  assert.equal(report?.headers.authorization, 'Bearer token-1');
  assert.equal(report?.serverName, serverName);
});

test('reports again on the heartbeat and on news, each over a connection of its own', async (context) => {
  const server = await controller(context);
  const { pass, deliverer, arrived, ready, state, until } = await start(context, [server.url]);
  deliverer.wake();
  await ready();
  const seconds = await arrived(server, 2);
  assert.ok(seconds > 50 && seconds <= 60, `heartbeat after ${seconds} s`);
  await pass(5);
  state.content = 'b';
  deliverer.wake();
  assert.ok((await arrived(server, 3)) <= 1);
  assert.deepEqual(
    server.reports.map(({ body }) => (body as unknown as { content: string }).content),
    ['a', 'a', 'b'],
  );
  assert.ok(server.reports.every(({ headers }) => headers.connection === 'close'));
  let open = 1;
  await until(() => {
    void server.openConnections().then((count) => {
      open = count;
    });
    return open === 0;
  }, 'all connections closed');
});

test('a flood of news is one report a second', async (context) => {
  const server = await controller(context);
  const { pass, deliverer, ready } = await start(context, [server.url]);
  deliverer.wake();
  await ready();
  for (let index = 0; index < 5; index += 1) {
    for (let piece = 0; piece < 10; piece += 1) deliverer.wake();
    await pass(1);
  }
  assert.ok(server.reports.length <= 7, `${server.reports.length} reports in five seconds`);
});

test('the controller stretches the heartbeat and does not shorten it', async (context) => {
  let nextReportSeconds = 300;
  const server = await controller(context, () => ({ status: 200, body: { ...acceptedAnswer, nextReportSeconds } }));
  const { deliverer, arrived, ready } = await start(context, [server.url]);
  deliverer.wake();
  await ready();
  nextReportSeconds = 1;
  const stretched = await arrived(server, 2);
  assert.ok(stretched > 250 && stretched <= 300, `after ${stretched} s`);
  const own = await arrived(server, 3);
  assert.ok(own > 50 && own <= 61, `after ${own} s`);
});

test('keeps only the newest report while nobody takes it', async (context) => {
  let up = false;
  const server = await controller(context, () => (up ? { status: 200, body: acceptedAnswer } : { status: 500 }));
  const { deliverer, state, arrived, ready } = await start(context, [server.url]);
  deliverer.wake();
  await arrived(server, 2);
  for (const content of ['b', 'c', 'd']) {
    state.content = content;
    deliverer.wake();
  }
  up = true;
  await ready();
  const contents = server.reports.map(({ body }) => (body as unknown as { content: string }).content);
  assert.deepEqual([...new Set(contents)], ['a', 'd']);
});

test('backs off with growing pauses and never gives up', async (context) => {
  const server = await controller(context, () => ({ status: 500 }));
  const { clock, deliverer, arrived } = await start(context, [server.url]);
  deliverer.wake();
  await arrived(server, 1);
  const times: number[] = [];
  for (let count = 2; count <= 9; count += 1) {
    await arrived(server, count);
    times.push(clock.monotonic());
  }
  const pauses = times.slice(1).map((time, index) => time - times[index]!);
  assert.ok(
    pauses.every((pause, index) => index === 0 || pause >= pauses[index - 1]!),
    `${pauses}`,
  );
  assert.ok(pauses.at(-1)! >= 50_000 && pauses.at(-1)! <= 62_000, `${pauses}`);
});

test('news does not cut a pause short that a failure asked for', async (context) => {
  const server = await controller(context, () => ({ status: 503, headers: { 'retry-after': '30' } }));
  const { pass, deliverer, arrived } = await start(context, [server.url]);
  deliverer.wake();
  await arrived(server, 1);
  deliverer.wake();
  await pass(25);
  assert.equal(server.reports.length, 1);
  const seconds = await arrived(server, 2);
  assert.ok(seconds <= 15, `${seconds}`);
});

test("follows a standby's redirect to another host with the token, and stays with that leader", async (context) => {
  const leader = await controller(context, undefined, '127.0.0.2');
  const standby = await controller(context, () => ({ status: 307, headers: { location: `${leader.url}/v1/report` } }));
  const { deliverer, arrived, ready } = await start(context, [standby.url]);
  deliverer.wake();
  await ready();
  assert.equal(leader.reports[0]?.headers.authorization, 'Bearer token-1');
  assert.equal(leader.reports[0]?.serverName, serverName);
  await arrived(leader, 3);
  assert.equal(standby.reports.length, 1);
});

test('leaves a leader that fails and asks the others again', async (context) => {
  const second = await controller(context);
  let first: ControllerReply = { status: 200, body: acceptedAnswer };
  const leader = await controller(context, () => first, '127.0.0.2');
  let target = leader.url;
  const standby = await controller(context, () => ({ status: 307, headers: { location: target } }));
  const { deliverer, arrived, ready } = await start(context, [standby.url]);
  deliverer.wake();
  await ready();
  first = { status: 503 };
  target = second.url;
  await arrived(second, 1);
  assert.equal(standby.reports.length, 2);
  assert.equal(second.reports[0]?.path, '/v1/report', 'a location without path gets ours');
});

test('a redirect is followed once', async (context) => {
  const leader = await controller(context);
  const middle = await controller(context, () => ({ status: 307, headers: { location: leader.url } }));
  const standby = await controller(context, () => ({ status: 307, headers: { location: middle.url } }));
  const { deliverer, arrived } = await start(context, [standby.url]);
  deliverer.wake();
  await arrived(standby, 2);
  assert.equal(leader.reports.length, 0);
});

const badLocations: readonly (readonly [string, string | undefined])[] = [
  ['plain http', 'http://127.0.0.2:1/v1/report'],
  ['another scheme', 'file:///etc/passwd'],
  ['a user in it', 'https://user:secret@127.0.0.2:1/'],
  ['no location', undefined],
];

for (const [name, location] of badLocations) {
  test(`a redirect with ${name} is refused`, async (context) => {
    const headers: Record<string, string> = location === undefined ? {} : { location };
    const standby = await controller(context, () => ({ status: 307, headers }));
    const { deliverer, arrived, registry } = await start(context, [standby.url]);
    deliverer.wake();
    await arrived(standby, 2);
    assert.match(await registry.text(), /mooring_agent_reports_total\{outcome="bad_redirect"\} [12]/);
  });
}

test('the token never leaves for a server that our CA does not vouch for', async (context) => {
  const stranger = await testCa();
  const impostor = await startFakeController(await stranger.issue({ dnsNames: [serverName] }), undefined, '127.0.0.2');
  const misnamed = await startFakeController(
    await ca.issue({ dnsNames: ['other.example'], ips: ['127.0.0.2'] }),
    undefined,
    '127.0.0.2',
  );
  context.after(() => Promise.all([impostor.close(), misnamed.close()]));
  const standby = await controller(context, () => ({ status: 307, headers: { location: impostor.url } }));
  const honest = await controller(context);
  const { deliverer, ready } = await start(context, [standby.url, impostor.url, misnamed.url, honest.url]);
  deliverer.wake();
  await ready();
  assert.equal(impostor.reports.length, 0);
  assert.equal(misnamed.reports.length, 0);
  assert.equal(honest.reports.length, 1);
});

test('tries its controllers in turn: dead, without leader, silent, good', async (context) => {
  const dead = await startFakeController(certificate);
  await dead.close();
  const leaderless = await controller(context, () => ({ status: 503, headers: { 'retry-after': '2' } }));
  const silent = await controller(context, () => 'hang');
  const good = await controller(context);
  const { deliverer, ready, registry } = await start(context, [dead.url, leaderless.url, silent.url, good.url]);
  deliverer.wake();
  await ready();
  const text = await registry.text();
  for (const outcome of ['unreachable', 'unavailable', 'timeout', 'accepted']) {
    assert.match(text, new RegExp(`mooring_agent_reports_total\\{outcome="${outcome}"\\} 1`));
  }
});

test('a refused token or sender is not carried to the next replica, and a renewed token is read', async (context) => {
  const server = await controller(context, ({ headers }) =>
    headers.authorization === 'Bearer token-2' ? { status: 200, body: acceptedAnswer } : { status: 401 },
  );
  const other = await controller(context);
  const { deliverer, arrived, ready, write } = await start(context, [server.url, other.url]);
  deliverer.wake();
  await arrived(server, 1);
  assert.match(deliverer.unready() ?? '', /accepted yet/);
  await write('token', 'token-2');
  await ready();
  assert.equal(other.reports.length, 0);
});

test('a report that is refused for its content waits for the heartbeat or for news', async (context) => {
  for (const status of [413, 422, 400]) {
    const server = await controller(context, ({ body }) =>
      (body as unknown as { content: string }).content === 'a'
        ? { status, body: 'zone: too long' }
        : { status: 200, body: acceptedAnswer },
    );
    const { pass, deliverer, state, arrived, ready } = await start(context, [server.url]);
    deliverer.wake();
    await arrived(server, 1);
    await pass(40);
    assert.equal(server.reports.length, 1);
    state.content = 'b';
    deliverer.wake();
    await ready();
    assert.equal(server.reports.length, 2);
  }
});

test('an answer that is none counts as a failure', async (context) => {
  const answers = ['', 'ok', '[]', '{"accepted":"yes"}', '{"accepted":true,"initialized":true,"reasons":[]}'];
  const server = await controller(context, () => ({
    status: 200,
    body: answers.shift() ?? JSON.stringify(acceptedAnswer),
  }));
  const { deliverer, ready, registry } = await start(context, [server.url]);
  deliverer.wake();
  await ready();
  assert.match(await registry.text(), /outcome="bad_answer"\} 5/);
});

test('a report that the controller does not accept is delivered, but does not make the agent ready', async (context) => {
  const reasons = [{ code: 'IdentityConflict', message: 'another Node holds this instance' }];
  const server = await controller(context, () => ({
    status: 200,
    body: { accepted: false, initialized: false, reasons, nextReportSeconds: 60 },
  }));
  const { deliverer, arrived, until } = await start(context, [server.url]);
  deliverer.wake();
  await until(() => /IdentityConflict/.test(deliverer.unready() ?? ''), 'the reason is told');
  assert.ok((await arrived(server, 2)) > 50);
});

test('waits for the files that it needs, with no request, and goes on when they are there', async (context) => {
  const server = await controller(context);
  const { pass, deliverer, write, until, ready } = await start(context, [], { 'ca.crt': '' });
  deliverer.wake();
  await until(() => /waiting for a CA/.test(deliverer.unready() ?? ''), 'waits for the CA');
  await write('ca.crt', ca.caPem);
  await until(() => /waiting for a controller URL/.test(deliverer.unready() ?? ''), 'waits for a URL');
  await pass(60);
  assert.equal(server.reports.length, 0);
  await write('urls', `${server.url}\n`);
  await ready();
});

test('a CA that was replaced is used for the next report', async (context) => {
  const next = await testCa();
  const server = await startFakeController(await next.issue({ dnsNames: [serverName] }));
  context.after(() => server.close());
  const { pass, deliverer, write, ready } = await start(context, [server.url]);
  deliverer.wake();
  await pass(1);
  assert.notEqual(deliverer.unready(), undefined);
  await write('ca.crt', ca.caPem + next.caPem);
  await ready();
  assert.equal(server.reports.length, 1);
});

test('ready means a report was accepted within three heartbeats', async (context) => {
  let up = true;
  const server = await controller(context, () => (up ? { status: 200, body: acceptedAnswer } : { status: 503 }));
  const { pass, deliverer, ready } = await start(context, [server.url]);
  deliverer.wake();
  await ready();
  up = false;
  await pass(170);
  assert.equal(deliverer.unready(), undefined);
  await pass(20);
  assert.match(deliverer.unready() ?? '', /no report was accepted for 1[89]\d s/);
  assert.equal(deliverer.stuck(), undefined, 'failing is not being stuck');
});

test('says goodbye to the leader after it was stopped, within the time it is given', async (context) => {
  let answer: ControllerReply | 'hang' = { status: 200, body: acceptedAnswer };
  const server = await controller(context, () => answer);
  const { clock, deliverer, ready, stop, until } = await start(context, [server.url]);
  deliverer.wake();
  await ready();
  stop.abort();
  assert.equal(await deliverer.leave(600), true);
  assert.equal(server.reports.at(-1)?.body.leaving, true);
  answer = 'hang';
  let left: boolean | undefined;
  const from = clock.monotonic();
  void deliverer.leave(600).then((accepted) => {
    left = accepted;
  });
  await until(() => left !== undefined, 'gave up');
  assert.equal(left, false);
  assert.ok(clock.monotonic() - from <= 1000);
});

test('a stop ends a report that is under way', async (context) => {
  const server = await controller(context, () => 'hang');
  const { clock, deliverer, arrived, stop, until } = await start(context, [server.url]);
  deliverer.wake();
  await arrived(server, 1);
  stop.abort();
  await until(() => clock.pending === 0, 'no timer is left', 5);
});
