import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import { testCa } from '../testing/certificates.ts';
import { startTestProxy } from '../testing/test-proxy.ts';
import { systemClock } from './clock.ts';
import { createHttp } from './http.ts';
import { agentEnvironment, proxyUrl, readProxies } from './proxy-environment.ts';

const [tls, plain] = ['http://tls-proxy:3128/', 'http://plain-proxy:3128/'];
const chosen = (url: string, noProxy = '') =>
  readProxies({ HTTPS_PROXY: tls, http_proxy: plain, NO_PROXY: noProxy })(new URL(url));

describe('the proxies of the environment', () => {
  it('chooses the proxy by the scheme of the target', () => {
    assert.equal(chosen('https://api.example.com/v1'), tls);
    assert.equal(chosen('http://api.example.com/v1'), plain);
    assert.equal(readProxies({})(new URL('https://api.example.com')), undefined);
    assert.equal(readProxies({ HTTPS_PROXY: 'proxy:3128' })(new URL('https://a.test')), 'http://proxy:3128/');
  });

  it('uses no proxy for this machine and its metadata services', () => {
    for (const host of [
      'localhost',
      '127.0.0.1',
      '127.8.9.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '169.254.169.254',
      '[fe80::a9fe:a9fe]',
      'metadata.google.internal',
      '100.100.100.200',
      '[fd00:ec2::254]',
    ])
      assert.equal(chosen(`http://${host}/latest`), undefined, host);
  });

  for (const [entry, outside, inside] of [
    ['*', ['https://a.test', 'https://192.0.2.1'], []],
    ['example.com', ['https://example.com', 'https://api.example.com'], ['https://notexample.com']],
    ['.example.com', ['https://api.example.com'], ['https://example.com']],
    ['*.example.com', ['https://api.example.com'], ['https://example.com']],
    ['example.com:8443', ['https://example.com:8443'], ['https://example.com']],
    ['example.com:443', ['https://example.com'], ['https://example.com:8443']],
    ['192.0.2.1', ['https://192.0.2.1', 'https://192.0.2.1:6443'], ['https://192.0.2.2']],
    ['192.0.2.1:6443', ['https://192.0.2.1:6443'], ['https://192.0.2.1']],
    ['10.0.0.0/8', ['https://10.96.0.1'], ['https://11.0.0.1', 'https://[2001:db8::1]', 'https://ten.test']],
    ['2001:db8::/32', ['https://[2001:db8::7]'], ['https://[2001:db9::7]', 'https://10.0.0.1']],
    ['2001:db8::1', ['https://[2001:db8:0::1]:6443'], ['https://[2001:db8::2]']],
    [' a.test , ,b.test', ['https://a.test', 'https://b.test'], ['https://c.test']],
    ['A.Test', ['https://a.TEST'], []],
  ] as const)
    it(`leaves out a proxy for what NO_PROXY=${entry} names`, () => {
      for (const url of outside) assert.equal(chosen(url, entry), undefined, url);
      for (const url of inside) assert.equal(chosen(url, entry), tls, url);
    });

  it('passes the proxies to an agent that chooses by itself, with the subdomains that NO_PROXY means', () => {
    assert.equal(agentEnvironment({ NO_PROXY: 'a.test' }), undefined);
    const { NO_PROXY = '', ...proxies } = agentEnvironment({ HTTPS_PROXY: tls, NO_PROXY: 'a.test,10.0.0.1' }) ?? {};
    assert.deepEqual(proxies, { HTTPS_PROXY: tls });
    for (const entry of ['a.test', '.a.test', '10.0.0.1', 'localhost', '169.254.169.254'])
      assert.ok(NO_PROXY.split(',').includes(entry), entry);
  });

  it('refuses a proxy URL by the name of its variable, and hides the password', () => {
    for (const value of ['socks5://user:secret@proxy:1080', 'http://user:secret@', 'http://a b', 'ftp://proxy'])
      assert.throws(
        () => readProxies({ HTTPS_PROXY: value }),
        ({ message }: Error) => message.startsWith('HTTPS_PROXY: expected the http://') && !message.includes('secret'),
      );
    assert.equal(proxyUrl('proxy-url', 'https://user:pass@proxy:3129'), 'https://user:pass@proxy:3129/');
  });
});

describe('requests through a proxy', () => {
  const closing: (() => void)[] = [];
  after(() => {
    for (const close of closing) close();
  });

  it('reaches a server whose name only the proxy knows, and checks its certificate', async () => {
    const ca = await testCa();
    const { certPem: cert, keyPem: key } = await ca.issue({ dnsNames: ['api.test'] });
    const answer: RequestListener = (request, response) => void response.end(`good ${request.url}`);
    const servers = [createTlsServer({ cert, key }, answer), createServer(answer)];
    for (const server of servers) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      closing.push(
        () => void server.close(),
        () => server.closeAllConnections(),
      );
    }
    const [tlsPort, plainPort] = servers.map((server) => (server.address() as AddressInfo).port);
    const { url: proxy, seen, close } = await startTestProxy((host) => (host.endsWith(':443') ? tlsPort! : plainPort!));
    closing.push(close);
    const proxyFor = readProxies({ HTTPS_PROXY: proxy, HTTP_PROXY: proxy });
    const trusting = createHttp({ clock: systemClock(), tls: { ca: ca.caPem }, proxyFor });
    closing.push(trusting.close);
    for (const url of ['http://api.test/v1', 'https://api.test/v1']) {
      const { status, text } = await trusting.http({ url, timeoutMs: 5000 });
      assert.deepEqual([status, text], [200, 'good /v1']);
    }
    assert.deepEqual(seen, ['GET http://api.test/v1 user:pass', 'CONNECT api.test:443 user:pass']);
    const doubting = createHttp({ clock: systemClock(), proxyFor });
    closing.push(doubting.close);
    await assert.rejects(doubting.http({ url: 'https://api.test', timeoutMs: 5000 }), /certificate/);
  });

  it('fails without the password in the message where the proxy does not answer', async () => {
    const proxyFor = readProxies({ HTTPS_PROXY: 'http://user:secret@127.0.0.1:1' });
    const { http, close } = createHttp({ clock: systemClock(), proxyFor });
    closing.push(close);
    await assert.rejects(http({ url: 'https://api.test', timeoutMs: 5000 }), ({ message }: Error) => {
      assert.match(message, /127\.0\.0\.1:1|ECONNREFUSED/);
      return !message.includes('secret');
    });
  });
});
