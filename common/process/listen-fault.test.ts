import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { listenFault } from './listen-fault.ts';

async function faultOf(host: string, port: number): Promise<unknown> {
  const server = createServer().listen(port, host);
  const [error] = await once(server, 'error');
  return error;
}

test('a port that is taken is told with the flag, the address, and what to do', async (context) => {
  const other = createServer().listen(0, '127.0.0.1');
  context.after(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const text = listenFault('--report-address', `port ${port} of 127.0.0.1`, await faultOf('127.0.0.1', port));
  assert.match(text, new RegExp(`^--report-address: cannot listen on port ${port} of 127\\.0\\.0\\.1: .*EADDRINUSE`));
  assert.match(text, /another process has the port: stop it, or give another with --report-address$/);
});

test('an address that the machine does not have is not told as a taken port', async () => {
  // 192.0.2.0/24 is for documentation alone (RFC 5737).
  const text = listenFault('--secure-port', 'port 1 of 192.0.2.1', await faultOf('192.0.2.1', 0));
  assert.match(text, /^--secure-port: cannot listen on port 1 of 192\.0\.2\.1: .*EADDRNOTAVAIL/);
  assert.doesNotMatch(text, /another process/);
});
