import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricValue } from '../common/testing/metric-value.ts';
import { deliveryHarness } from './testing/delivery-harness.ts';
import { acceptedAnswer, type ControllerReply } from './testing/fake-controller.ts';

const { controller, serverName, start } = await deliveryHarness();

test('sends nothing before the first observation, then reports at once with the token', async (context) => {
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

test('counts the time without an accepted report from its start, whatever the wall clock says', async (context) => {
  const server = await controller(context);
  const { clock, pass, deliverer, ready, registry } = await start(context, [server.url]);
  const age = () => metricValue(registry, 'mooring_agent_last_report_age_seconds');
  await pass(300);
  assert.equal(await age(), 300);
  deliverer.wake();
  await ready();
  assert.ok((await age()) < 10);
  clock.stepWall(-7_200_000);
  assert.ok((await age()) < 10);
});

test('reports again at the heartbeat and after changes, each over its own connection', async (context) => {
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

test('many changes cause one report a second', async (context) => {
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

test('keeps only the newest report while no controller accepts it', async (context) => {
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

test('a report that the controller does not accept does not make the agent ready', async (context) => {
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

test('sends the last report to the leader after the stop, within the time limit', async (context) => {
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

test('a stop ends a report in progress', async (context) => {
  const server = await controller(context, () => 'hang');
  const { clock, deliverer, arrived, stop, until } = await start(context, [server.url]);
  deliverer.wake();
  await arrived(server, 1);
  stop.abort();
  await until(() => clock.pending === 0, 'no timer is left', 5);
  assert.equal(server.reports.length, 1, 'no report follows');
});
