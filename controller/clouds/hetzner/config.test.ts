import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configRefusal } from '../testing/config-refusal.ts';
import { type HetznerConfig, readConfig } from './config.ts';

const token = 't0k3n'.repeat(13).slice(0, 64);
type Texts = Readonly<Record<string, string>>;

const read = (env: Texts, text?: string, files: Texts = {}) =>
  readConfig(text === undefined ? undefined : { path: 'hetzner.yaml', text }, env, async (path) => files[path]);

async function config(...args: Parameters<typeof read>): Promise<HetznerConfig> {
  const result = await read(...args);
  assert.ok(!('reportOnly' in result), JSON.stringify(result));
  return result;
}

const refusalOf = (...args: Parameters<typeof read>) => configRefusal(read(...args));

describe('the configuration of Hetzner', () => {
  it('needs only a token, and has the defaults of the classic controller', async () => {
    assert.deepEqual(await config({ HCLOUD_TOKEN: token }), {
      endpoint: 'https://api.hetzner.cloud/v1',
      token,
      project: undefined,
      network: undefined,
      routes: false,
      robot: undefined,
      zones: true,
      families: { ipv4: true, ipv6: false },
      loadBalancers: { enabled: true, defaults: new Map() },
      files: [],
      warnings: [],
    });
  });

  it('opens report-only without a token, and says where it was looked for', async () => {
    assert.deepEqual(await read({}), { reportOnly: 'no HCLOUD_TOKEN: tried the environment' });
    assert.deepEqual(await read({}, 'HCLOUD_NETWORK: k8s'), {
      reportOnly: 'no HCLOUD_TOKEN: tried the environment and hetzner.yaml',
    });
  });

  it('keeps routes in the network that is named, unless that is switched off', async () => {
    const env = { HCLOUD_TOKEN: token, HCLOUD_NETWORK: 'k8s' };
    assert.deepEqual(await config(env).then(({ network, routes }) => ({ network, routes })), {
      network: 'k8s',
      routes: true,
    });
    assert.equal((await config({ ...env, HCLOUD_NETWORK_ROUTES_ENABLED: 'False' })).routes, false);
  });

  it('reads a file whose keys are the variables, and its values win over the environment', async () => {
    const env = { HCLOUD_TOKEN: 'of-the-environment', HCLOUD_NETWORK: 'k8s' };
    const { token: read, network } = await config(env, `HCLOUD_TOKEN: ${token}\nHCLOUD_NETWORK: 4711\n`);
    assert.deepEqual([read, network], [token, '4711']);
  });

  it('reads secrets from files, and remembers the files', async () => {
    const robot = { ROBOT_ENABLED: 'true', ROBOT_USER_FILE: '/run/user', ROBOT_PASSWORD_FILE: '/run/password' };
    const files = { '/run/token': `${token}\n`, '/run/user': '#ws+abc\n', '/run/password': 'pw\n' };
    const result = await config({ HCLOUD_TOKEN_FILE: '/run/token', ...robot }, undefined, files);
    assert.equal(result.token, token);
    assert.deepEqual(result.robot, {
      endpoint: 'https://robot-ws.your-server.de',
      user: '#ws+abc',
      password: 'pw',
    });
    assert.deepEqual(result.files, ['/run/token', '/run/user', '/run/password']);
  });

  it('hands over defaults of load balancers by the names of their annotations', async () => {
    const { loadBalancers } = await config({
      HCLOUD_TOKEN: token,
      HCLOUD_LOAD_BALANCERS_LOCATION: 'fsn1',
      HCLOUD_LOAD_BALANCERS_DISABLE_IPV6: 'true',
      HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL: '5s',
    });
    assert.deepEqual(
      [...loadBalancers.defaults],
      [
        ['location', 'fsn1'],
        ['ipv6-disabled', 'true'],
        ['health-check-interval', '5s'],
      ],
    );
  });

  it('warns of what has no meaning here and of a token of another length', async () => {
    const { warnings } = await config({ HCLOUD_TOKEN: 'short', HCLOUD_DEBUG: 'true' });
    assert.deepEqual(warnings, ['HCLOUD_DEBUG has no meaning here', 'HCLOUD_TOKEN: expected 64 characters']);
  });

  it('names all bad values at once, and where each stands', async () => {
    const message = await refusalOf(
      { HCLOUD_TOKEN: token, HCLOUD_INSTANCES_ADDRESS_FAMILY: 'ipv5', HCLOUD_NETWORK: 'k8s', ROBOT_ENABLED: 'yes' },
      'HCLOUD_INSTANCES_ZONE_LABEL_ENABLED: maybe',
    );
    assert.match(message, /HCLOUD_INSTANCES_ADDRESS_FAMILY: "ipv5", expected ipv4, ipv6 or dualstack/);
    assert.match(message, /hetzner\.yaml: HCLOUD_INSTANCES_ZONE_LABEL_ENABLED: "maybe", expected true or false/);
    assert.match(message, /ROBOT_ENABLED: "yes", expected true or false/);
  });

  const refused: readonly (readonly [string, Texts, RegExp])[] = [
    ['routes without a network', { HCLOUD_NETWORK_ROUTES_ENABLED: 'true' }, /expected HCLOUD_NETWORK beside it/],
    [
      'dedicated servers beside routes',
      { HCLOUD_NETWORK: 'k8s', ROBOT_ENABLED: 'true', ROBOT_USER: 'u', ROBOT_PASSWORD: 'p' },
      /ROBOT_ENABLED: "true", expected HCLOUD_NETWORK_ROUTES_ENABLED=false beside it/,
    ],
    ['a robot user without password', { ROBOT_USER: 'u' }, /expected both ROBOT_USER and ROBOT_PASSWORD/],
    ['dedicated servers without a user', { ROBOT_ENABLED: '1' }, /expected both ROBOT_USER and ROBOT_PASSWORD/],
    [
      'an endpoint with a password',
      { HCLOUD_ENDPOINT: 'https://u:pw@x/v1' },
      /HCLOUD_ENDPOINT: a wrong value \(not shown\), expected an/,
    ],
    ['a token twice', { HCLOUD_TOKEN_FILE: '/t' }, /expected HCLOUD_TOKEN or HCLOUD_TOKEN_FILE, not both/],
    [
      'a name of a project with a slash',
      { MOORING_HETZNER_PROJECT: 'a/b' },
      /MOORING_HETZNER_PROJECT: "a\/b", expected/,
    ],
  ];
  for (const [name, env, expected] of refused) {
    it(`${name} is refused`, async () => {
      const message = await refusalOf({ HCLOUD_TOKEN: token, ...env });
      assert.match(message, expected);
      assert.doesNotMatch(message, new RegExp(`pw|${token}`));
    });
  }

  it('takes the values of the file as they are written', async () => {
    const robot = 'ROBOT_ENABLED: true\nROBOT_USER: 0x1f\nROBOT_PASSWORD: 0123\n';
    const text = `HCLOUD_TOKEN: ${token}\nMOORING_HETZNER_PROJECT: 1e3\nHCLOUD_NETWORK: ~\n${robot}`;
    const result = await config({}, text);
    assert.deepEqual([result.project, result.network], ['1e3', undefined]);
    assert.deepEqual([result.robot?.user, result.robot?.password], ['0x1f', '0123']);
  });

  it('refuses a list or a mapping as a value by its name, and does not show it', async () => {
    for (const value of ['{s3cret: x}', '[s3cret]', '[null]'])
      assert.equal(
        await refusalOf({}, `ROBOT_PASSWORD: ${value}`),
        'hetzner.yaml: ROBOT_PASSWORD: a wrong value (not shown), expected one value',
      );
  });

  it('shows no secret of a file that is no YAML mapping, and no value of an unknown key', async () => {
    for (const text of [`HCLOUD_TOKEN: "${token}`, token, `- HCLOUD_TOKEN: ${token}`, `HCLOUD_TOKEN: *${token}`])
      assert.equal(
        await refusalOf({}, text),
        'hetzner.yaml: no YAML mapping, expected the names of variables and their values',
      );
    for (const value of [token, `{a: ${token}}`])
      assert.match(
        await refusalOf({}, `HCLOUD_TOKN: ${value}`),
        /^hetzner\.yaml: unknown "HCLOUD_TOKN", expected [^0]*$/,
      );
  });

  it('refuses a token with a line break without showing it', async () => {
    const message = await refusalOf({ HCLOUD_TOKEN: `${token}\n${token}` });
    assert.equal(message, 'hetzner: HCLOUD_TOKEN: a wrong value (not shown), expected one word of ASCII characters');
    const inFile = await refusalOf({ HCLOUD_TOKEN_FILE: '/run/token' }, undefined, {
      '/run/token': `${token}\n${token}`,
    });
    assert.match(inFile, /^hetzner: HCLOUD_TOKEN_FILE: a wrong text in the file \(not shown\), expected one word/);
    const empty = await refusalOf({ HCLOUD_TOKEN_FILE: '/run/token' }, undefined, { '/run/token': '\n' });
    assert.match(empty, /^hetzner: HCLOUD_TOKEN_FILE: the file is empty, expected one word/);
  });

  it('shows no token that is given in place of the path of its file', async () => {
    for (const path of [token, `/${token}`, `${token}\0`]) {
      const message = await refusalOf({ HCLOUD_TOKEN_FILE: path });
      assert.equal(
        message,
        'hetzner: HCLOUD_TOKEN_FILE: a wrong value (not shown), expected the path of a file that can be read',
      );
      const both = await refusalOf({ HCLOUD_TOKEN_FILE: path, HCLOUD_TOKEN: token });
      assert.doesNotMatch(both, new RegExp(token));
    }
  });
});
