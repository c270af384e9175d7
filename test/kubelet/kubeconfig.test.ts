import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openAccess } from '../../deploy/kubelet/reregister/access.ts';
import { parseKubeconfig } from '../../deploy/kubelet/reregister/kubeconfig.ts';
import { accessOf } from '../../deploy/kubelet/reregister/machine.ts';
import { folderOf } from './harness/packages.ts';

describe("the kubelet's kubeconfig", () => {
  const withUser = (user: unknown, cluster: object = {}) =>
    JSON.stringify({
      clusters: [
        { name: 'other', cluster: { server: 'https://other' } },
        { name: 'c', cluster: { server: 'https://api:6443/', 'certificate-authority': 'ca.crt', ...cluster } },
      ],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    });
  const files = { readFile: async (path: string) => `<${path}>`, execute: async () => '{}' };

  test('reads a kubeconfig of kubeadm, with the paths of the certificate that the kubelet renews', async () => {
    const pem = '/var/lib/kubelet/pki/kubelet-client-current.pem';
    const parsed = parseKubeconfig(
      withUser({ 'client-certificate': pem, 'client-key': pem }),
      '/etc/kubernetes/kubelet.conf',
    );
    assert.deepEqual(await openAccess(parsed, files), {
      server: 'https://api:6443',
      ca: '</etc/kubernetes/ca.crt>',
      serverName: undefined,
      cert: `<${pem}>`,
      key: `<${pem}>`,
    });
  });

  test('reads a kubeconfig with data, a token, a file with a token, or a plugin', async () => {
    const data = Buffer.from('PEM').toString('base64');
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'aws',
      args: ['get', 'token'],
      env: [{ name: 'A', value: 'b' }],
    };
    for (const [user, expected] of [
      [
        { 'client-certificate-data': data, 'client-key-data': data },
        { cert: 'PEM', key: 'PEM' },
      ],
      [{ token: 't' }, { token: 't' }],
      [{ tokenFile: 'token' }, { token: '</k/token>' }],
      [{ exec }, { token: 'from aws get token b' }],
    ] as const) {
      const opened = await openAccess(
        parseKubeconfig(
          withUser(user, { 'certificate-authority-data': data, 'tls-server-name': 'kubernetes' }),
          '/k/config',
        ),
        {
          ...files,
          async execute(command, args, env) {
            assert.equal(JSON.parse(env['KUBERNETES_EXEC_INFO'] ?? '').apiVersion, exec.apiVersion);
            return JSON.stringify({ status: { token: `from ${command} ${args.join(' ')} ${env['A']}` } });
          },
        },
      );
      assert.deepEqual(opened, { server: 'https://api:6443', ca: 'PEM', serverName: 'kubernetes', ...expected });
    }
  });

  test('refuses a kubeconfig that it cannot follow, with the name of the field', async () => {
    for (const [text, message] of [
      ['a: [', /^Error: line 1: not valid YAML$/],
      ['users:\n- name: u\n  user:\n    token: secret\n   bad\n', /^Error: line 5: not valid YAML$/],
      ['[]', /the file: expected a map/],
      ['{}', /current-context: missing/],
      [withUser({}), /user: expected a client certificate with its key, a token or exec/],
      [withUser({ 'client-certificate': '/x' }), /user: expected a client certificate with its key/],
      [withUser({ token: 't' }, { server: 'http://api' }), /server: "http:\/\/api", expected https/],
      [withUser({ token: 't' }, { 'insecure-skip-tls-verify': true }), /insecure-skip-tls-verify: true/],
      [withUser({ token: 't' }, { 'proxy-url': 'http://proxy' }), /proxy-url/],
      [withUser({ token: 't' }, { 'certificate-authority': '' }), /certificate-authority: missing/],
      [withUser({ token: 7 }), /token: expected a text/],
      [withUser({ exec: { args: 'x' } }), /command: missing/],
    ] as const)
      assert.throws(() => parseKubeconfig(text, '/k/config'), message, text);
    const plugin = parseKubeconfig(withUser({ exec: { command: '/bin/plugin', apiVersion: 'v1' } }), '/k/config');
    for (const printed of ['secret', '{}', '{"status":{}}', 'null']) {
      const failed = openAccess(plugin, { ...files, execute: async () => printed });
      await assert.rejects(failed, (error: Error) => /^exec: /.test(error.message) && !/secret/.test(error.message));
    }
  });

  test('names a plugin that fails without its output', async (context) => {
    const folder = await folderOf(context);
    const config = withUser({
      exec: { command: '/bin/sh', args: ['-c', 'echo secret >&2; exit 3'], apiVersion: 'v1' },
    });
    await writeFile(join(folder, 'config'), config);
    await writeFile(join(folder, 'ca.crt'), '');
    await assert.rejects(accessOf([join(folder, 'config')]), (error: Error) => {
      assert.match(error.message, /config: exec: \/bin\/sh failed \(3\)/);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
    assert.equal(await accessOf(['/nonexistent/a', '/nonexistent/b']), undefined);
  });
});
