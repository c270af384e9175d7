import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configRefusal } from '../testing/config-refusal.ts';
import { readConfig } from './config.ts';

type Texts = Readonly<Record<string, string>>;
const token = 'dop_v1_s3cret';

const read = (env: Texts, text?: string, files: Texts = {}) =>
  readConfig(text === undefined ? undefined : { path: 'do.yaml', text }, env, async (path) => files[path]);

const refusalOf = (...args: Parameters<typeof read>) => configRefusal(read(...args));

describe('the configuration of DigitalOcean', () => {
  it('needs a token alone, by either name', async () => {
    for (const name of ['DO_ACCESS_TOKEN', 'DIGITALOCEAN_ACCESS_TOKEN'])
      assert.deepEqual(await read({ [name]: token }), {
        endpoint: 'https://api.digitalocean.com',
        token,
        region: undefined,
        vpc: undefined,
        clusterId: undefined,
        defaultType: 'REGIONAL',
        callsPerSecond: 1,
        files: [],
        warnings: ['no load balancers: neither REGION nor DO_CLUSTER_VPC_ID says where'],
      });
  });

  it('returns report-only without a token, and says where it was looked for', async () => {
    assert.deepEqual(await read({}, 'REGION: nyc3'), {
      reportOnly: 'neither DO_ACCESS_TOKEN nor DIGITALOCEAN_ACCESS_TOKEN: tried the environment and do.yaml',
    });
  });

  it('takes the variables of the classic controller, and a token of a file', async () => {
    const vpc = '760e09ef-dc84-11e8-981e-3cfdfeaae000';
    const text = `REGION: fra1\nDO_CLUSTER_VPC_ID: ${vpc}\nDO_CLUSTER_ID: c-1\nDEFAULT_LB_TYPE: REGIONAL_NETWORK\n`;
    const env = { DO_ACCESS_TOKEN_FILE: '/run/token', DO_API_RATE_LIMIT_QPS: '2.5', DO_OVERRIDE_URL: 'http://x/' };
    assert.deepEqual(await read(env, text, { '/run/token': `${token}\n` }), {
      endpoint: 'http://x',
      token,
      region: 'fra1',
      vpc,
      clusterId: 'c-1',
      defaultType: 'REGIONAL_NETWORK',
      callsPerSecond: 2.5,
      files: ['/run/token'],
      warnings: [],
    });
  });

  it('warns of what has no meaning here', async () => {
    const ignored = { DEBUG_ADDR: ':1', PUBLIC_ACCESS_FIREWALL_NAME: 'fw' };
    const config = await read({ DO_ACCESS_TOKEN: token, REGION: 'nyc3', ...ignored });
    assert.deepEqual('warnings' in config && config.warnings, [
      'DEBUG_ADDR has no meaning here',
      'PUBLIC_ACCESS_FIREWALL_NAME: no firewall is managed',
    ]);
  });

  it('names all bad values at once', async () => {
    const message = await refusalOf({
      DO_ACCESS_TOKEN: token,
      REGION: 'New York',
      DO_CLUSTER_VPC_ID: 'vpc-1',
      DO_API_RATE_LIMIT_QPS: '0',
      DEFAULT_LB_TYPE: 'GLOBAL',
      DO_CLUSTER_ID: 'a b',
    });
    for (const expected of [
      /REGION: "New York", expected the slug/,
      /DO_CLUSTER_VPC_ID: "vpc-1", expected the UUID/,
      /DO_API_RATE_LIMIT_QPS: "0", expected a number/,
      /DEFAULT_LB_TYPE: "GLOBAL", expected REGIONAL or REGIONAL_NETWORK/,
      /DO_CLUSTER_ID: "a b", expected letters/,
    ])
      assert.match(message, expected);
  });

  it('refuses two tokens that differ, and shows neither', async () => {
    const message = await refusalOf({ DO_ACCESS_TOKEN: token, DIGITALOCEAN_ACCESS_TOKEN: `${token}2` });
    assert.match(message, /DIGITALOCEAN_ACCESS_TOKEN: it is another, expected the same as DO_ACCESS_TOKEN/);
    assert.doesNotMatch(message, new RegExp(token));
  });
});
