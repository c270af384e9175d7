import assert from 'node:assert/strict';
import { createServer } from 'node:net';
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

it('listens on both families where the address is 0.0.0.0, as where there is none', async () => {
  const families: unknown[] = [];
  for (const host of ['0.0.0.0', '']) {
    const server = createServer();
    await listenOn(server, { host, port: 0 });
    families.push((server.address() as { readonly family: string }).family);
    server.close();
  }
  assert.equal(families[0], families[1]);
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
