import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:https';
import { type AddressInfo, connect as connectPlain, type Socket } from 'node:net';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { connect } from 'node:tls';
import { testCa } from '../../../common/testing/certificates.ts';
import { type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import { type ConnectionLimits, limitConnections, peerGroup } from './connection-limits.ts';

describe('a peer group', () => {
  for (const [address, group] of [
    ['10.0.0.7', '10.0.0.7'],
    ['::ffff:10.0.0.7', '10.0.0.7'],
    ['2001:db8:1:2:a:b:c:d', '2001:db8:1:2::'],
    ['2001:db8:1:2::1', '2001:db8:1:2::'],
    ['2001:db8:1:3::1', '2001:db8:1:3::'],
    ['::1', '::'],
    ['fe80::1%eth0', 'fe80::'],
    ['', ''],
  ] as const) {
    it(`groups ${address || 'a socket that is gone'} as ${group || 'one of its own'}`, () =>
      assert.equal(peerGroup(address), group));
  }
});

describe('limits of connections', () => {
  let server: Server;
  let clock: FakeClock;
  let credentials: { readonly key: string; readonly cert: string };
  let ca: string;
  let slowAnswers: Promise<void>;
  let cutAll: () => void;
  const clients: Socket[] = [];

  before(async () => {
    const authority = await testCa();
    const { certPem: cert, keyPem: key } = await authority.issue({ dnsNames: ['localhost'] });
    credentials = { cert, key };
    ca = authority.caPem;
  });
  beforeEach(() => {
    clock = fakeClock();
    slowAnswers = Promise.resolve();
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.destroy();
    cutAll();
    server.close();
  });
  after(() => assert.equal(clients.length, 0));

  async function start(limits: Partial<ConnectionLimits>): Promise<number> {
    server = createServer(credentials, (_request, response) => {
      void slowAnswers.then(() => response.end('served'));
    });
    cutAll = limitConnections(
      server,
      { maxConnections: 8, maxConnectionsPerAddress: 4, patienceMs: 1_000, ...limits },
      clock,
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  /**
   * Holds a connection without a word, after the TLS handshake or before it; resolves when the server has taken or cut
   * it.
   */
  async function hold(port: number, localAddress: string, tls: boolean): Promise<Socket> {
    const options = { host: '127.0.0.1', port, localAddress };
    const socket = tls ? connect({ ...options, ca, servername: 'localhost' }) : connectPlain(options);
    clients.push(socket);
    socket.on('error', () => {});
    socket.resume();
    const taken = once(server, 'connection');
    const over = new Promise((resolve) => {
      socket.once('close', resolve).once(tls ? 'secureConnect' : 'connect', resolve);
    });
    await Promise.all([taken, over]);
    return socket;
  }

  function ask(port: number, localAddress: string, path = '/'): Promise<string> {
    return new Promise((resolve) => {
      const options = { host: '127.0.0.1', port, localAddress, ca, servername: 'localhost', path, agent: false };
      const asked = request(options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve(text));
      });
      asked.on('error', () => resolve('cut'));
      asked.end();
    });
  }

  for (const tls of [false, true]) {
    const when = tls ? 'after the handshake' : 'before the handshake';

    it(`lets a client in at an address whose other connections are silent ${when}`, async () => {
      const port = await start({ patienceMs: 0 });
      for (let n = 0; n < 30; n += 1) await hold(port, '127.0.0.2', tls);
      for (let n = 0; n < 5; n += 1) assert.equal(await ask(port, '127.0.0.2'), 'served');
      assert.equal(await ask(port, '127.0.0.3'), 'served');
    });

    it(`lets a client in while each of many addresses holds one connection silent ${when}`, async () => {
      const port = await start({});
      for (let n = 10; n < 30; n += 1) await hold(port, `127.0.0.${n}`, tls);
      assert.equal(await ask(port, '127.0.0.3'), 'cut', 'a moment of silence is no reason to cut anyone');
      await clock.advance(1_000);
      assert.equal(await ask(port, '127.0.0.3'), 'served');
    });
  }

  it('cuts the connection first that has been silent longest', async () => {
    const port = await start({ maxConnectionsPerAddress: 2, patienceMs: 100 });
    const first = await hold(port, '127.0.0.2', false);
    const firstCut = once(first, 'close');
    await clock.advance(60);
    const second = await hold(port, '127.0.0.2', false);
    await clock.advance(60);
    await hold(port, '127.0.0.2', false);
    await firstCut;
    assert.equal(second.destroyed, false);
  });

  it('never cuts a connection for another of its address while its request is being answered', async () => {
    const port = await start({ maxConnectionsPerAddress: 2, patienceMs: 0 });
    let answer = () => {};
    slowAnswers = new Promise((resolve) => {
      answer = resolve;
    });
    const served = [ask(port, '127.0.0.2'), ask(port, '127.0.0.2')];
    for (let n = 0; n < 2; n += 1) await once(server, 'request');
    assert.equal(await ask(port, '127.0.0.2'), 'cut');
    answer();
    assert.deepEqual(await Promise.all(served), ['served', 'served']);
  });

  it('cuts a connection whose handshake is not over when the server ends', async () => {
    const port = await start({});
    const silent = await hold(port, '127.0.0.2', false);
    const over = once(silent, 'close');
    assert.equal(silent.destroyed, false, 'it was open until then');
    cutAll();
    await over;
    assert.equal(silent.destroyed, true);
  });

  it('counts a request whose body is awaited as silence', async () => {
    const port = await start({ maxConnectionsPerAddress: 1, patienceMs: 0 });
    const slow = await hold(port, '127.0.0.2', true);
    let answer = () => {};
    slowAnswers = new Promise((resolve) => {
      answer = resolve;
    });
    slow.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{');
    await once(server, 'request');
    const cut = once(slow, 'close');
    const asked = ask(port, '127.0.0.2');
    await once(server, 'request');
    answer();
    await cut;
    assert.equal(await asked, 'served');
  });
});
