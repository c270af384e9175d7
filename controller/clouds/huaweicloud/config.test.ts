import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readConfig } from './config.ts';

const id = '99d9d709-8478-4b46-9f3f-2206b1023fd3';
const file = (text: string) => ({ path: 'cloud-config', text });

function read(text: string, env: Readonly<Record<string, string>> = {}) {
  const config = readConfig(file(text), env);
  assert.ok('region' in config);
  return config;
}

describe('the configuration of Huawei Cloud', () => {
  it('is the INI file of the classic controller', () => {
    const config = read(
      `[Global]\nregion=cn-north-4\naccess-key=AK\nsecret-key=SK\nproject-id=${'a'.repeat(32)}\ncloud=example.com\n` +
        `[Vpc]\nid=${id}\nsubnet-id=${id}\nsecurity-group-id=${id}\n`,
    );
    assert.deepEqual(config.key, { id: 'AK', secret: 'SK', token: undefined });
    assert.deepEqual([config.vpc, config.subnet], [id, id]);
    assert.equal(config.endpointOf('ecs'), 'https://ecs.cn-north-4.example.com');
    assert.deepEqual([config.securityGroup, config.warnings], [id, []]);
  });

  it('takes from environment variables what the file leaves out', () => {
    const env = {
      REGION: 'la-south-2',
      ACCESS_KEY_ID: 'A',
      SECRET_ACCESS_KEY: 'S',
      SECURITY_TOKEN: 'T',
      ROUTER_ID: id,
    };
    const config = read('[Global]\nregion=cn-north-4\n', { ...env, PROJECT_ID: 'b'.repeat(32) });
    assert.equal(config.region, 'cn-north-4');
    assert.deepEqual(config.key, { id: 'A', secret: 'S', token: 'T' });
    assert.deepEqual([config.vpc, config.projectId], [id, 'b'.repeat(32)]);
  });

  it('is report-only without a region, and uses the keys of the agency without an access key', () => {
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
