import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { it } from 'node:test';
import { listenOn, parseListenAddress } from './listen-address.ts';

it('parses an address to listen on', () => {
  const cases: [string, string, number][] = [
    [':10270', '', 10270],
    ['127.0.0.1:0', '127.0.0.1', 0],
    ['[::]:10258', '::', 10258],
    ['[fe80::1%eth0]:1', 'fe80::1%eth0', 1],
    ['localhost:65535', 'localhost', 65_535],
  ];
  for (const [text, host, port] of cases) assert.deepEqual(parseListenAddress(text), { host, port });
});

const loopbacks = networkInterfaces()['lo']?.map(({ address }) => address) ?? [];
for (const host of ['0.0.0.0', ''])
  for (const address of ['127.0.0.1', '::1'])
    it(`answers at ${address} where the address is ${JSON.stringify(host)}`, async (context) => {
      if (!loopbacks.includes(address)) return context.skip('this machine does not have the address');
      const server = createServer();
      const port = await listenOn(server, { host, port: 0 });
      const socket = connect({ host: address, port });
      await once(socket, 'connect');
      socket.destroy();
      server.close();
    });

it('names what was expected of an invalid address', () => {
  for (const text of ['', '10270', 'a:', ':x', ':65536', '::1:10270', 'http://a:1', '[::1]', ':-1']) {
    assert.throws(() => parseListenAddress(text), /expected HOST:PORT/, text);
  }
});

it('refuses an invalid IP address as a host name', () => {
  for (const text of ['300.1.1.1:1', '1.2.3:1', '10:1', '[1.2.3.4]:1', '[::g]:1', '[12345::]:1']) {
    assert.throws(() => parseListenAddress(text), /no IP address/, text);
  }
  assert.equal(parseListenAddress('10.example:1').host, '10.example');
});
