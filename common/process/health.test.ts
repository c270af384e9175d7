import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { systemClock } from './clock.ts';
import { answerHealth, type HealthOptions, healthHandler } from './health.ts';
import { createHttp } from './http.ts';
import { createMetricRegistry } from './metrics.ts';

function options(problem?: string): HealthOptions {
  return {
    live: [{ name: 'loops', check: () => undefined }],
    ready: [
      { name: 'synced', check: () => undefined },
      { name: 'report', check: () => problem },
    ],
    metrics: createMetricRegistry(),
  };
}

test('answers only ok unless the request is verbose', async () => {
  assert.deepEqual(await answerHealth(options(), '/readyz'), {
    status: 200,
    contentType: 'text/plain; charset=utf-8',
    body: 'ok',
  });
  assert.equal(
    (await answerHealth(options(), '/readyz?verbose'))?.body,
    '[+]synced ok\n[+]report ok\nreadyz check passed\n',
  );
});

test('a check that passes may have a note', async () => {
  const ready = [{ name: 'clouds', check: () => undefined, note: () => 'one is idle' }];
  const { body } = (await answerHealth({ ...options(), ready }, '/readyz?verbose'))!;
  assert.equal(body, '[+]clouds ok: one is idle\nreadyz check passed\n');
});

test('a failed check is a 500 that names it, and does not affect the other endpoint', async () => {
  const answer = await answerHealth(options('never accepted'), '/readyz');
  assert.equal(answer?.status, 500);
  assert.equal(answer?.body, '[+]synced ok\n[-]report: never accepted\nreadyz check failed\n');
  assert.equal((await answerHealth(options('never accepted'), '/livez'))?.status, 200);
});

test('answers one check by its name, whatever the others say', async () => {
  assert.equal((await answerHealth(options('no'), '/readyz/synced'))?.body, 'ok');
  assert.equal((await answerHealth(options('no'), '/readyz/report'))?.status, 500);
  assert.equal(
    (await answerHealth(options('no'), '/healthz/loops?verbose'))?.body,
    '[+]loops ok\nhealthz check passed\n',
  );
  for (const path of ['/livez/synced', '/livez/', '/livez/loops/x', '/constructor', '/livezz'])
    assert.equal(await answerHealth(options(), path), undefined, path);
});

test('serves over plain HTTP, refuses other methods and paths', async (context) => {
  const server = createServer(healthHandler(options()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { http, close } = createHttp({ clock: systemClock() });
  context.after(() => {
    close();
    server.close();
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const get = (path: string, method = 'GET') => http({ url: base + path, method, timeoutMs: 5000 });
  assert.equal((await get('/livez')).text, 'ok');
  assert.equal((await get('/healthz')).status, 200);
  assert.match((await get('/metrics')).header('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  assert.equal((await get('/secrets')).status, 404);
  assert.equal((await get('/livez', 'POST')).status, 405);
  assert.equal((await get('/livez', 'HEAD')).text, '');
});
