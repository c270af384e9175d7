import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { type AlibabaConfig, readConfig } from './config.ts';

const noFile = async () => undefined;
const base64 = (text: string) => Buffer.from(text).toString('base64');

async function read(text: string | undefined, env: Record<string, string> = {}): Promise<AlibabaConfig> {
  const file = text === undefined ? undefined : { path: 'cloud.conf', text };
  const config = await readConfig(file, env, noFile);
  assert.ok(!('reportOnly' in config), 'reportOnly' in config ? config.reportOnly : '');
  return config;
}

describe('the configuration of Alibaba Cloud', () => {
  it('reads the file of the classic controller, in YAML and in JSON, with keys in Base64', async () => {
    const global = {
      accessKeyID: base64('LTAI5t'),
      accessKeySecret: base64('s3cret'),
      region: 'cn-beijing',
      vpcid: 'vpc-2ze',
      routeTableIDs: 'vtb-a,vtb-b',
      clusterID: 'c1a2b3',
      kubernetesClusterTag: 'ack.aliyun.com',
      uid: '1234',
    };
    const yaml = `Global:\n${Object.entries(global)
      .map(([name, value]) => `  ${name}: ${value}\n`)
      .join('')}`;
    for (const text of [yaml, JSON.stringify({ Global: global })]) {
      const config = await read(text);
      assert.deepEqual(config.credentials, { from: 'key', key: { id: 'LTAI5t', secret: 's3cret', token: undefined } });
      assert.deepEqual([config.region, config.vpc, config.clusterId], ['cn-beijing', 'vpc-2ze', 'c1a2b3']);
      assert.deepEqual(config.routeTables, ['vtb-a', 'vtb-b']);
      assert.equal(config.warnings.length, 2);
    }
  });

  it('takes the RAM role of the instance where the file has no keys', async () => {
    assert.deepEqual((await read('Global:\n  region: cn-hangzhou\n')).credentials, { from: 'role', role: undefined });
  });

  const keyed = { ACCESS_KEY_ID: 'a', ACCESS_KEY_SECRET: 'b' };
  /** Key of the file, its variable, a value, and what it becomes. */
  const settings: readonly (readonly [
    key: string,
    variable: string,
    value: string,
    field: (config: AlibabaConfig) => unknown,
    expected?: unknown,
  ])[] = [
    ['region', 'REGION', 'cn-beijing', ({ region }) => region],
    ['vpcid', 'VPC_ID', 'vpc-1', ({ vpc }) => vpc],
    ['vswitchid', 'VSWITCH_ID', 'vsw-1', ({ vswitch }) => vswitch],
    ['routeTableIDs', 'ROUTE_TABLE_IDS', 'vtb-1', ({ routeTables }) => routeTables.join()],
    ['clusterID', 'CLUSTER_ID', 'c1a2', ({ clusterId }) => clusterId],
    ['resourceGroupID', 'RESOURCE_GROUP_ID', 'rg-1', ({ resourceGroup }) => resourceGroup],
    ['serviceBackendType', 'SERVICE_BACKEND_TYPE', 'eni', ({ servesPods }) => servesPods, true],
    ['disablePublicSLB', 'DISABLE_PUBLIC_SLB', 'true', ({ isPublicRefused }) => isPublicRefused, true],
  ];
  for (const [key, variable, value, field, expected = value] of settings)
    it(`reads ${key} from the file and ${variable} from the environment`, async () => {
      assert.equal(field(await read(`Global:\n  ${key}: ${value}\n`)), expected);
      assert.equal(field(await read(undefined, { ...keyed, [variable]: value })), expected);
    });

  it('takes the RAM role that ALIBABA_CLOUD_ECS_METADATA names', async () => {
    const { credentials } = await read(undefined, { ALIBABA_CLOUD_ECS_METADATA: 'nodes' });
    assert.deepEqual(credentials, { from: 'role', role: 'nodes' });
  });

  it('names no source of keys where there is none', async () => {
    const config = await readConfig(undefined, {}, noFile);
    assert.ok('reportOnly' in config && /ACCESS_KEY_ID/.test(config.reportOnly));
  });

  it('takes the endpoints inside the VPC of the region, those outside, or those that are given', async () => {
    const env = { ACCESS_KEY_ID: 'a', ACCESS_KEY_SECRET: 'b', REGION: 'eu-central-1' };
    const endpoint = async (more: Record<string, string>) =>
      (await read(undefined, { ...env, ...more })).endpointOf('slb', 'eu-central-1');
    assert.equal(await endpoint({}), 'https://slb-vpc.eu-central-1.aliyuncs.com');
    assert.equal(await endpoint({ ALIBABA_CLOUD_NETWORK: 'public' }), 'https://slb.eu-central-1.aliyuncs.com');
    const given = { SLB_ENDPOINT: 'slb.internal', ALICLOUD_CLIENT_SCHEME: 'HTTP' };
    assert.equal(await endpoint(given), 'http://slb.internal');
  });

  it('reads the example that is shipped without a warning', async () => {
    const path = new URL('../../../deploy/examples/alibaba/cloud-config.yaml', import.meta.url);
    const { credentials, region, warnings } = await read(await readFile(path, 'utf8'));
    assert.deepEqual([credentials.from, region, warnings], ['role', 'cn-hangzhou', []]);
  });

  it('names every bad value, and shows no key', async () => {
    const env = {
      ACCESS_KEY_ID: 'LTAI5tSecretish',
      REGION: 'Hangzhou',
      VPC_ID: 'bp1',
      ROUTE_TABLE_IDS: 'main',
      SERVICE_BACKEND_TYPE: 'pods',
      ECS_ENDPOINT: 'ftp://x',
    };
    await assert.rejects(readConfig(undefined, env, noFile), (error: unknown) => {
      const { message } = error as Error;
      for (const name of [
        'ACCESS_KEY_SECRET',
        'REGION',
        'VPC_ID',
        'ROUTE_TABLE_IDS',
        'SERVICE_BACKEND',
        'ECS_ENDPOINT',
      ])
        assert.ok(message.includes(name), `${name}: ${message}`);
      assert.ok(!message.includes('LTAI5tSecretish'));
      return true;
    });
    await assert.rejects(
      read('Global:\n  accessKeyID: "not base64!"\n'),
      /Global.accessKeyID: a wrong value \(not shown\)/,
    );
    await assert.rejects(read('Global:\n  acessKeyID: x\n'), /Global.acessKeyID: unknown/);
    await assert.rejects(read('Region: x\n'), /expected the cloud config/);
    for (const text of ['Global:\n  region: [x\n', '{"Global": {\n  "region" "x"}}', '[Global]\nregion = x\n'])
      await assert.rejects(read(text), /, line \d: neither YAML nor JSON, expected the cloud config/);
  });
});
