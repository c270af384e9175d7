import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudConfigError } from '../cloud.ts';
import { type OpenStackConfig, readConfig } from './config.ts';
import { authRequest, reachOf } from './credential.ts';

type Files = Readonly<Record<string, string>>;
const readText = (files: Files) => async (path: string) => files[path];

async function read(
  text: string | undefined,
  files: Files = {},
  env: Record<string, string> = {},
  path = 'cloud.conf',
) {
  return readConfig(text === undefined ? undefined : { path, text }, env, readText(files));
}
async function config(...args: Parameters<typeof read>): Promise<OpenStackConfig> {
  const result = await read(...args);
  assert.ok(!('reportOnly' in result), JSON.stringify(result));
  return result;
}
const global = (lines: string) => `[Global]\nauth-url = https://keystone.example:5000\n${lines}`;
const withPassword = 'username=k8s\npassword=pw\ndomain-name=Default\ntenant-name=my project\n';

describe('the OpenStack configuration from cloud.conf', () => {
  it('reads a password credential, and names its project without a secret', async () => {
    const { credential, authUrl, interface: kind, timeoutMs, tls } = await config(global(withPassword));
    assert.equal(authUrl, 'https://keystone.example:5000/v3');
    assert.deepEqual([kind, timeoutMs, tls], ['public', 60_000, { ca: undefined, cert: undefined, key: undefined }]);
    assert.deepEqual(authRequest(credential), {
      auth: {
        identity: {
          methods: ['password'],
          password: { user: { name: 'k8s', domain: { name: 'Default' }, password: 'pw' } },
        },
        scope: { project: { name: 'my project', domain: { name: 'Default' } } },
      },
    });
    assert.equal(reachOf(credential), 'Default:my%20project');
  });

  it('prefers ids, and the specific domain over the common one', async () => {
    const lines = 'user-id=u1\npassword=pw\ntenant-name=p\ntenant-domain-id=d2\ndomain-id=d1\n';
    const { credential } = await config(global(lines));
    assert.ok(credential.method === 'password');
    assert.deepEqual(
      [credential.user, credential.scope],
      [{ id: 'u1' }, { project: { name: 'p', domain: { id: 'd2' } } }],
    );
  });

  it('sends no scope with an application credential, by id or by name and user', async () => {
    const byId = await config(global('application-credential-id=ac1\napplication-credential-secret=s\n'));
    assert.deepEqual(authRequest(byId.credential), {
      auth: { identity: { methods: ['application_credential'], application_credential: { id: 'ac1', secret: 's' } } },
    });
    const byName = await config(
      global('application-credential-name=ac\napplication-credential-secret=s\nusername=k8s\nuser-domain-name=D\n'),
    );
    assert.deepEqual(authRequest(byName.credential), {
      auth: {
        identity: {
          methods: ['application_credential'],
          application_credential: { name: 'ac', user: { name: 'k8s', domain: { name: 'D' } }, secret: 's' },
        },
      },
    });
  });

  it('knows a credential by the project that is named beside it', async () => {
    const lines = (id: string) => global(`application-credential-id=${id}\napplication-credential-secret=s\n`);
    const bare = await config(lines('ac1'));
    assert.equal(reachOf(bare.credential), 'application-credential:ac1');
    assert.deepEqual(bare.warnings, []);
    for (const id of ['ac1', 'ac2']) {
      const { credential, warnings } = await config(`${lines(id)}tenant-id=p1\n`);
      assert.equal(reachOf(credential), 'p1');
      assert.deepEqual(warnings, []);
      assert.ok(!JSON.stringify(authRequest(credential)).includes('p1'));
    }
    for (const lines of ['user-id=u\npassword=pw\n', 'trust-id=t1\ntrustee-id=u\ntrustee-password=pw\n'])
      assert.equal(reachOf((await config(global(`${lines}tenant-id=p1\n`))).credential), 'p1');
    const named = await config(`${lines('ac1')}tenant-name=my project\ntenant-domain-name=D\n`);
    assert.equal(reachOf(named.credential), 'D:my%20project');
    const half = await config(`${lines('ac1')}tenant-name=my project\n`);
    assert.equal(reachOf(half.credential), 'application-credential:ac1');
  });

  it('authenticates by token into a project, and as trustee into a trust', async () => {
    const token = await config(global('token=t0k\ntenant-id=p1\n'));
    assert.deepEqual(authRequest(token.credential), {
      auth: { identity: { methods: ['token'], token: { id: 't0k' } }, scope: { project: { id: 'p1' } } },
    });
    const trust = await config(global('trust-id=tr1\ntrustee-id=u9\ntrustee-password=pw\n'));
    assert.deepEqual(authRequest(trust.credential), {
      auth: {
        identity: { methods: ['password'], password: { user: { id: 'u9', password: 'pw' } } },
        scope: { 'OS-TRUST:trust': { id: 'tr1' } },
      },
    });
    assert.equal(reachOf(trust.credential), 'trust:tr1');
  });

  it('reads networking, endpoint type, TLS files and time-out, and says what it ignored', async () => {
    const text = `${global(withPassword)}os-endpoint-type = internal
ca-file = /ca.pem
cert-file = /c.pem
key-file = /k.pem
tls-insecure = true
regoin = x
[Networking]
public-network-name = a
public-network-name = b
internal-network-name = c
ipv6-support-disabled = true
address-sort-order = 10.0.0.0/8, nonsense, fd00::/8
[Metadata]
search-order = configDrive
request-timeout = 1m30s
[BlockStorage]
whatever = 1
[LoadBalancer]
lb-provider = ovn
`;
    const result = await config(text, { '/ca.pem': 'ca', '/c.pem': 'cert', '/k.pem': 'key' });
    assert.equal(result.interface, 'internal');
    assert.deepEqual(result.tls, { ca: 'ca', cert: 'cert', key: 'key', rejectUnauthorized: false });
    assert.equal(result.timeoutMs, 90_000);
    assert.deepEqual(result.networking.publicNetworkNames, ['a', 'b']);
    assert.deepEqual(result.networking.internalNetworkNames, ['c']);
    assert.ok(result.networking.ipv6SupportDisabled);
    assert.deepEqual(
      result.networking.addressSortOrder.map(([range, bits]) => `${range}/${bits}`),
      ['10.0.0.0/8', 'fd00::/8'],
    );
    assert.equal(result.warnings.length, 2);
    assert.match(result.warnings[0]!, /\[global\] regoin$/);
    assert.match(result.warnings[1]!, /"nonsense" is ignored/);
  });

  it('keeps a v3 URL and turns v2.0 into it', async () => {
    for (const url of ['https://k/identity/v3/', 'https://k/identity/v2.0', 'https://k/identity']) {
      assert.equal((await config(`[Global]\nauth-url=${url}\n${withPassword}`)).authUrl, 'https://k/identity/v3');
    }
  });

  it('hides a password that stands in auth-url', async () => {
    for (const url of [
      'http://u:s3cr3t@host/v3',
      'http://s3cr3t@host',
      'https://host/v3?token=s3cr3t',
      'https://host/v3#s3cr3t',
      'u:s3cr3t@host',
    ]) {
      await assert.rejects(read(`[Global]\nauth-url="${url}"\n${withPassword}`), (error) => {
        return (
          error instanceof CloudConfigError &&
          /\[Global\] auth-url: (a wrong value|it has a)/.test(error.message) &&
          !error.message.includes('s3cr3t')
        );
      });
    }
  });

  const bad: [string, string, RegExp][] = [
    [
      'no user',
      global('password=pw\ntenant-id=p\n'),
      /^openstack: cloud\.conf: \[Global\]: username or user-id is missing$/,
    ],
    [
      'no user domain',
      global('username=k\npassword=pw\ntenant-id=p\n'),
      /username needs user-domain-name, user-domain-id, domain-name or domain-id$/,
    ],
    ['no project', global('user-id=u\npassword=pw\n'), /tenant-id or tenant-name is missing/],
    ['no project domain', global('user-id=u\npassword=pw\ntenant-name=p\n'), /tenant-name needs tenant-domain-name/],
    ['no secret', global('application-credential-id=a\n'), /application-credential-secret is missing/],
    ['no password', global('user-id=u\ntenant-id=p\n'), /password, application-credential-secret or token is missing/],
    ['no URL', `[Global]\n${withPassword}`, /auth-url is missing/],
    [
      'a bad URL',
      `[Global]\nauth-url=keystone\n${withPassword}`,
      /cloud\.conf line 2: \[Global\] auth-url: "keystone", expected an http or https URL/,
    ],
    [
      'an endpoint type of old',
      global(`${withPassword}os-endpoint-type=publicURL\n`),
      /\[Global\] os-endpoint-type: "publicURL", expected public, internal/,
    ],
    [
      'half a client certificate',
      global(`${withPassword}cert-file=/c\n`),
      /cert-file is set and key-file is not, expected both or neither/,
    ],
    [
      'a bare number as time-out',
      `${global(withPassword)}[Metadata]\nrequest-timeout=60\n`,
      /"60", expected a duration/,
    ],
  ];
  for (const [name, text, message] of bad) {
    it(`refuses ${name}`, async () => {
      await assert.rejects(read(text), (error) => error instanceof CloudConfigError && message.test(error.message));
    });
  }

  it('opens report-only when the file says nothing of a credential', async () => {
    const result = await read('[Networking]\npublic-network-name=a\n');
    assert.ok('reportOnly' in result);
    assert.match(result.reportOnly, /tried cloud.conf/);
  });
});

const cloudsYaml = `clouds:
  lab:
    profile: vendor
    auth:
      username: k8s
      project_id: 1234567890
      user_domain_name: Default
    region_name: RegionOne
    interface: internalURL
    cacert: /lab-ca.pem
    verify: False
`;
const publicYaml =
  'public-clouds:\n  vendor:\n    auth:\n      auth_url: https://vendor.example/identity\n      username: nobody\n';
const secureYaml = 'clouds:\n  lab:\n    auth:\n      password: 0123\n';

describe('the OpenStack configuration from clouds.yaml', () => {
  it('merges the vendor profile below and secure.yaml above, and keeps numbers as they are written', async () => {
    const beside = { '/c/clouds-public.yaml': publicYaml, '/c/secure.yaml': secureYaml, '/lab-ca.pem': 'ca' };
    const files = { '/c/clouds.yaml': cloudsYaml, ...beside };
    const result = await config(undefined, files, { OS_CLIENT_CONFIG_FILE: '/c/clouds.yaml' });
    assert.equal(result.authUrl, 'https://vendor.example/identity/v3');
    assert.deepEqual(result.credential, {
      method: 'password',
      user: { name: 'k8s', domain: { name: 'Default' } },
      password: '0123',
      scope: { project: { id: '1234567890' } },
    });
    assert.deepEqual([result.region, result.interface], ['RegionOne', 'internal']);
    assert.deepEqual(result.tls, { ca: 'ca', cert: undefined, key: undefined, rejectUnauthorized: false });
  });

  const twoClouds = `clouds:
  a:
    auth: {auth_url: "https://a", application_credential_id: x, application_credential_secret: y}
    auth_type: v3applicationcredential
  b: {auth: {auth_url: "https://b", application_credential_id: x, application_credential_secret: y}}
`;

  it('finds clouds.yaml in the search path, and takes the cloud of OS_CLOUD', async () => {
    for (const path of ['clouds.yaml', '/home/k/.config/openstack/clouds.yml', '/etc/openstack/clouds.yaml']) {
      const result = await config(undefined, { [path]: twoClouds }, { HOME: '/home/k', OS_CLOUD: 'b' });
      assert.equal(result.authUrl, 'https://b/v3');
    }
  });

  it('takes settings that are null or empty as not set', async () => {
    const settings = 'auth_url: https://k, username: u, password: p, project_name: P, domain_name: D';
    const empty =
      'clouds:\n  a:\n    auth:\n    cacert: ~\n    region_name:\n    project_id: null\n    ' +
      `${settings.replaceAll(', ', '\n    ')}\n`;
    const nulls = `clouds: {a: {auth: {${settings}, project_id: null, token: Null}, cacert: null, interface: ~}}\n`;
    for (const text of [empty, nulls]) {
      const { credential, tls, region, interface: face } = await config(text, {}, {}, '/x/clouds.yaml');
      assert.deepEqual([tls, region, face], [{ ca: undefined, cert: undefined, key: undefined }, undefined, 'public']);
      assert.equal(credential.method, 'password');
      assert.deepEqual('scope' in credential && credential.scope, { project: { name: 'P', domain: { name: 'D' } } });
    }
    const quoted = nulls.replace('password: p', "password: 'null'");
    const { credential } = await config(quoted, {}, {}, '/x/clouds.yaml');
    assert.equal('password' in credential && credential.password, 'null');
  });

  it('reads clouds.yaml as the cloud config itself', async () => {
    const result = await config(twoClouds, {}, { OS_CLOUD: 'a' }, '/x/clouds.yaml');
    assert.equal(result.authUrl, 'https://a/v3');
  });

  it('lies below cloud.conf where use-clouds asks for it', async () => {
    const text =
      '[Global]\nuse-clouds=true\nclouds-file=/f.yaml\ncloud=a\nregion=R2\napplication-credential-secret=z\n';
    const result = await config(text, { '/f.yaml': twoClouds }, { OS_CLOUD: 'b' });
    assert.equal(result.authUrl, 'https://a/v3');
    assert.equal(result.region, 'R2');
    assert.ok(result.credential.method === 'application_credential' && result.credential.secret === 'z');
  });

  it('errors call a setting as the file does in which it stands', async () => {
    const auth = 'auth_url: "https://a", username: k, password: p, project_id: p';
    const files = {
      '/f.yaml': `clouds:\n  a: {auth: {${auth}, user_domain_name: D}, interface: inner}\n`,
      '/g.yaml': `clouds:\n  a: {auth: {${auth}}}\n`,
    };
    await assert.rejects(
      read('[Global]\nuse-clouds=true\nclouds-file=/f.yaml\n', files),
      /openstack: \/f\.yaml, cloud a: interface: "inner", expected public/,
    );
    await assert.rejects(
      read('[Global]\nuse-clouds=true\nclouds-file=/f.yaml\nos-endpoint-type=outer\n', files),
      /openstack: cloud\.conf line 4: \[Global\] os-endpoint-type: "outer", expected public/,
    );
    await assert.rejects(
      read('[Global]\nuse-clouds=true\nclouds-file=/g.yaml\nos-endpoint-type=public\n', files),
      /\/g\.yaml, cloud a: username needs user_domain_name, user_domain_id, domain_name or domain_id$/,
    );
  });

  const bad: [string, Files, Record<string, string>, RegExp][] = [
    ['a file that is not there', {}, { OS_CLIENT_CONFIG_FILE: '/no' }, /\/no: no such file/],
    ['OS_CLOUD without a file', {}, { OS_CLOUD: 'a' }, /cloud "a": no clouds.yaml found/],
    ['several clouds and no choice', { 'clouds.yaml': twoClouds }, {}, /2 clouds \(a, b\): name one by OS_CLOUD/],
    ['a cloud it has not', { 'clouds.yaml': twoClouds }, { OS_CLOUD: 'c' }, /no cloud "c", it has: a, b/],
    ['no clouds', { 'clouds.yaml': 'cloud: {}' }, {}, /clouds: expected a mapping/],
    [
      'another way to authenticate',
      { 'clouds.yaml': 'clouds:\n  a:\n    auth_type: v3oidcpassword\n' },
      {},
      /auth_type: "v3oidcpassword", expected one of password/,
    ],
    [
      'an auth that is a text',
      { 'clouds.yaml': 'clouds:\n  a:\n    auth: x\n' },
      {},
      /cloud "a": auth: expected a mapping/,
    ],
    [
      'a password that is a list',
      { 'clouds.yaml': 'clouds:\n  a:\n    auth: {password: [secret]}\n' },
      {},
      /cloud "a": password: expected a text$/,
    ],
  ];
  for (const [name, files, env, message] of bad) {
    it(`refuses ${name}`, async () => {
      await assert.rejects(
        read(undefined, files, env),
        (error) => error instanceof CloudConfigError && message.test(error.message),
      );
    });
  }

  it('names the line of broken YAML, never its text', async () => {
    const text = 'clouds:\n  a:\n    auth: {password: "secret\n';
    await assert.rejects(read(undefined, { 'clouds.yaml': text }), (error) => {
      assert.ok(error instanceof CloudConfigError);
      assert.match(error.message, /clouds.yaml line \d+: not valid YAML/);
      return !error.message.includes('secret');
    });
  });

  it('opens report-only where it finds nothing, and says where it looked', async () => {
    const result = await read(undefined);
    assert.ok('reportOnly' in result);
    assert.match(result.reportOnly, /OS_CLIENT_CONFIG_FILE and the search path/);
  });
});
