import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type HuaweiConfig, readConfig } from './config.ts';

const id = '99d9d709-8478-4b46-9f3f-2206b1023fd3';
const file = (text: string) => ({ path: 'cloud-config', text });

function read(text: string, env: Readonly<Record<string, string>> = {}) {
  const config = readConfig(file(text), env);
  assert.ok('region' in config);
  return config;
}

describe('the configuration of Huawei Cloud', () => {
  it('reads the INI file of the classic controller', () => {
    const config = read(
      `[Global]\nregion=cn-north-4\naccess-key=AK\nsecret-key=SK\nproject-id=${'a'.repeat(32)}\ncloud=example.com\n` +
        `[Vpc]\nid=${id}\nsubnet-id=${id}\nsecurity-group-id=${id}\n`,
    );
    assert.deepEqual(config.key, { id: 'AK', secret: 'SK', token: undefined });
    assert.deepEqual([config.vpc, config.subnet], [id, id]);
    assert.equal(config.endpointOf('ecs'), 'https://ecs.cn-north-4.example.com');
    assert.deepEqual([config.securityGroup, config.warnings], [id, []]);
  });

  const region = '[Global]\nregion=cn-north-4\n';
  const withId = `${region}access-key=other\n`;
  const withSecret = `${region}secret-key=other\n`;
  const withKey = `${withId}secret-key=other\n`;
  const variables: readonly (readonly [
    name: string,
    value: string,
    file: string,
    field: (config: HuaweiConfig) => unknown,
  ])[] = [
    ['REGION', 'la-south-2', '', (config) => config.region],
    ['HUAWEICLOUD_SDK_REGION', 'la-south-2', '', (config) => config.region],
    ['CLOUD', 'example.com', region, ({ endpointOf }) => endpointOf('ecs').split('.').slice(2).join('.')],
    ['ACCESS_KEY_ID', 'A', withSecret, ({ key }) => key?.id],
    ['HUAWEICLOUD_SDK_AK', 'A', withSecret, ({ key }) => key?.id],
    ['SECRET_ACCESS_KEY', 'S', withId, ({ key }) => key?.secret],
    ['HUAWEICLOUD_SDK_SK', 'S', withId, ({ key }) => key?.secret],
    ['SECURITY_TOKEN', 'T', withKey, ({ key }) => key?.token],
    ['HUAWEICLOUD_SDK_SECURITY_TOKEN', 'T', withKey, ({ key }) => key?.token],
    ['PROJECT_ID', 'b'.repeat(32), region, ({ projectId }) => projectId],
    ['HUAWEICLOUD_SDK_PROJECT_ID', 'b'.repeat(32), region, ({ projectId }) => projectId],
    ['ROUTER_ID', id, region, ({ vpc }) => vpc],
    ['VPC_ID', id, region, ({ vpc }) => vpc],
    ['SUBNET_ID', id, region, ({ subnet }) => subnet],
    ['SECURITY_GROUP_ID', id, region, ({ securityGroup }) => securityGroup],
    ['HUAWEICLOUD_LOADBALANCER_OPTION', '/etc/lb/option', region, ({ options }) => options],
    ['HUAWEICLOUD_ENDPOINT', 'https://cloud.example.com', region, ({ endpointOf }) => endpointOf('ecs')],
    ['HUAWEICLOUD_METADATA_ENDPOINT', 'http://127.0.0.1:1', region, ({ metadata }) => metadata],
  ];
  for (const [name, value, text, field] of variables)
    it(`reads from the environment what the file leaves out: ${name}`, () => {
      assert.equal(field(read(text, { [name]: value })), value);
    });

  it('prefers the file to the environment', () => {
    const config = read(`[Global]\nregion=cn-north-4\n[Vpc]\nid=${id}\n`, { REGION: 'la-south-2', ROUTER_ID: 'x' });
    assert.deepEqual([config.region, config.vpc], ['cn-north-4', id]);
  });

  it('opens report-only without a region, and uses the keys of the agency without an access key', () => {
    assert.ok('reportOnly' in readConfig(undefined, {}));
    assert.equal(read('[Global]\nregion=cn-north-4\n').key, undefined);
  });

  it('names the key that cannot be read and what was expected, and never a secret', () => {
    const bad = (text: string) => () => readConfig(file(text), {});
    assert.throws(bad('[Global]\nregion=a b\n'), /cloud-config line 2: \[Global\] region: "a b", expected the name/);
    assert.throws(bad('[Global]\nregion=a\nproject-id=x\n'), /project-id: "x", expected the id of a project/);
    assert.throws(bad('[Global]\nregion=a\n[Vpc]\nid=vpc-1\n'), /\[Vpc\] id: "vpc-1", expected the id of a VPC/);
    assert.throws(bad('[Global]\nregion=a\naccess-key=AK\n'), /secret-key: missing, expected it beside access-key/);
    assert.throws(bad('[Global]\nregion=a\naccess-key=AK\nsecret-key=hidden one\n'), (error: Error) => {
      assert.match(error.message, /secret-key: a wrong value \(not shown\)/);
      assert.doesNotMatch(error.message, /hidden/);
      return true;
    });
  });

  it('names the variable that cannot be read', () => {
    const bad = (env: Readonly<Record<string, string>>) => () =>
      readConfig(undefined, { REGION: 'cn-north-4', ...env });
    assert.throws(bad({ CLOUD: 'https://x' }), /^CloudConfigError: CLOUD: "https:\/\/x", expected a domain/);
    assert.throws(bad({ HUAWEICLOUD_SDK_AK: 'a b' }), /: HUAWEICLOUD_SDK_AK: a wrong value \(not shown\)/);
  });

  it('warns of what has no effect', () => {
    const { warnings } = read('[Global]\nregion=a\ninsecure=true\nauth-url=https://x\nnext=1\n');
    assert.deepEqual(warnings, [
      'unknown key [global] next',
      '[Global] auth-url has no meaning here',
      '[Global] insecure has no effect: certificates are verified',
    ]);
  });
});
