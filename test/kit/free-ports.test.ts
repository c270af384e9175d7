import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { freePorts } from './free-ports.ts';

test('free ports differ, and can be listened on', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `port ${index}`);
  const ports = Object.values(await freePorts(...names));
  assert.equal(new Set(ports).size, 40);
  const servers = ports.map((port) => createServer().listen(port, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const others = Object.values(await freePorts(...names));
  assert.deepEqual(
    others.filter((port) => ports.includes(port)),
    [],
    'what is in use is not free',
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
});
