import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testCa } from '../common/testing/certificates.ts';
import { deliveryHarness } from './testing/delivery-harness.ts';
import { acceptedAnswer, startFakeController } from './testing/fake-controller.ts';

const { ca, certificate, controller, serverName, start } = await deliveryHarness();

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

test('a change does not shorten the pause after a failure', async (context) => {
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

test('a report that is refused for its content waits for the heartbeat or a change', async (context) => {
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

test('an invalid answer counts as a failure', async (context) => {
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

test('waits for missing files without a request, and continues when they exist', async (context) => {
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
