import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFlags } from '../common/process/flags.ts';
import { parseHostPort, runFlags } from './options.ts';
import { providerIdFlags } from './provider-id.ts';

test('the defaults are those of the documentation', () => {
  const parsed = parseFlags(runFlags, []);
  assert.ok(parsed.ok);
  const { cloud, pollInterval, heartbeat, healthAddress, serverName, controllerUrl } = parsed.values;
  assert.deepEqual(
    { cloud, pollInterval, heartbeat, healthAddress, serverName, controllerUrl },
    {
      cloud: 'auto',
      pollInterval: 60_000,
      heartbeat: 60_000,
      healthAddress: '127.0.0.1:10271',
      serverName: 'mooring-controller.kube-system.svc',
      controllerUrl: [],
    },
  );
});

test('controllers are reached by https alone', () => {
  const parsed = parseFlags(runFlags, ['--controller-url=https://10.0.0.4:10270,https://[2001:db8::1]:10270']);
  assert.ok(parsed.ok);
  assert.equal(parsed.values.controllerUrl.length, 2);
  for (const url of [
    'http://10.0.0.4:10270',
    'https://user:secret@10.0.0.4',
    '10.0.0.4:10270',
    'https://a,http://b',
    'https://a/b',
    'https://a?b',
    'https://a#b',
    ',',
  ]) {
    const rejected = parseFlags(runFlags, [`--controller-url=${url}`]);
    assert.ok(!rejected.ok);
    assert.match(rejected.message, /^--controller-url: .* expected https:\/\/host:port$/);
  }
});

test('the metadata URL may be a link-local one with its interface', () => {
  for (const url of ['http://169.254.169.254', 'http://127.0.0.1:8000/prefix', 'http://[fe80::a9fe:a9fe%25eth0]:80']) {
    assert.ok(parseFlags(runFlags, [`--metadata-url=${url}`]).ok, url);
  }
  for (const url of ['169.254.169.254', 'file:///etc/passwd', 'http://', 'http://a/?b']) {
    assert.ok(!parseFlags(runFlags, [`--metadata-url=${url}`]).ok, url);
  }
});

test('reads addresses to listen on', () => {
  assert.deepEqual(parseHostPort('127.0.0.1:10271'), { host: '127.0.0.1', port: 10_271 });
  assert.deepEqual(parseHostPort('[::1]:0'), { host: '::1', port: 0 });
  assert.deepEqual(parseHostPort(':10271'), { host: undefined, port: 10_271 });
  for (const bad of [
    '300.1.1.1:10271',
    '1.2.3:1',
    '[1.2.3.4]:1',
    '10271',
    '::1:10271',
    'host:port',
    'host:99999',
    'host:',
  ])
    assert.equal(parseHostPort(bad), undefined);
});

for (const [flag, value, expected] of [
  ['--controller-url-file', '', 'a path'],
  ['--token-file', '', 'a path'],
  ['--ca-file', '', 'a path'],
  ['--config-drive', '', 'a path'],
  ['--system-root', '', 'a path'],
  ['--server-name', '', 'a host name'],
  ['--server-name', 'https://a', 'a host name'],
  ['--region', '', 'the name of a region'],
  ['--region', 'a/b', 'the name of a region'],
  ['--region', 'a b', 'the name of a region'],
  ['--heartbeat', '1000000h', 'at most 1h'],
  ['--poll-interval', '25h', 'at most 24h'],
  ['--timeout', '0', 'at least 1ms'],
  ['--timeout', '-1s', 'at least 1ms'],
] as const) {
  test(`${flag} says what it expects instead of ${JSON.stringify(value)}`, () => {
    const rejected = parseFlags({ ...runFlags, ...providerIdFlags }, [`${flag}=${value}`]);
    assert.ok(!rejected.ok);
    assert.ok(rejected.message.startsWith(`${flag}: ${JSON.stringify(value)}, expected ${expected}`), rejected.message);
  });
}
