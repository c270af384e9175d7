import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { systemClock } from '../../../common/process/clock.ts';
import { createLog } from '../../../common/process/log.ts';
import { answerError, type FakeEc2, running } from '../../../test/clouds/aws/fake/fake-ec2.ts';
import { keys, openHarness } from '../../../test/clouds/aws/fake/open-harness.ts';
import { CloudConfigError } from '../cloud.ts';

const id = 'i-00000000000000001';
const ref = { by: 'providerID', providerID: `aws:///eu-west-1a/${id}` } as const;

describe('opening AWS', () => {
  const harness = openHarness();
  const { setEnv, open, openCloud, scopeOf } = harness;
  let ec2: FakeEc2;
  before(() => {
    ec2 = harness.ec2;
  });

  it('makes no call; its scope is endpoint, region and the account that STS tells', async () => {
    const cloud = await openCloud({ ...keys, AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL_STS: ec2.url });
    assert.deepEqual(ec2.calls, []);
    assert.deepEqual(await cloud.identify(), {
      scope: 'ec2.eu-west-1.amazonaws.com/eu-west-1/123456789012',
      account: '123456789012',
      formerScopes: ['ec2.eu-west-1.amazonaws.com/eu-west-1'],
    });
    assert.deepEqual(
      ec2.calls.map(({ action }) => action),
      ['GetCallerIdentity'],
    );
    assert.match(
      await scopeOf({ ...keys, AWS_REGION: 'cn-north-1' }),
      /^ec2\.cn-north-1\.amazonaws\.com\.cn\/cn-north-1\//,
    );
  });

  it('tells the same scope as earlier versions where a role names the account', async () => {
    const text = '[Global]\nRegion=eu-west-1\nRoleARN=arn:aws:iam::123456789012:role/ccm\n';
    const cloud = await openCloud({ ...keys, AWS_ENDPOINT_URL_STS: ec2.url }, text);
    const { scope, formerScopes } = await cloud.identify();
    assert.equal(scope, 'ec2.eu-west-1.amazonaws.com/eu-west-1/123456789012');
    assert.deepEqual(formerScopes, []);
  });

  it('tells no scope while STS does not answer, and tells the account afterwards', async () => {
    const cloud = await openCloud({ ...keys, AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL_STS: ec2.url });
    ec2.fault = (_, response) => answerError(response, 503, 'ServiceUnavailable', 'later');
    await assert.rejects(cloud.identify(), { kind: 'Unavailable' });
    ec2.fault = undefined;
    assert.equal((await cloud.identify()).account, '123456789012');
  });

  it('takes the region from the cloud config, then from the environment', async () => {
    const env = { ...keys, AWS_REGION: 'eu-west-1', AWS_DEFAULT_REGION: 'eu-west-2' };
    assert.match(await scopeOf(env, '[Global]\nZone=us-west-2a\n'), /\/us-west-2\//);
    assert.match(await scopeOf(env), /\/eu-west-1\//);
    assert.match(await scopeOf({ ...env, AWS_REGION: undefined }), /\/eu-west-2\//);
  });

  it('refuses a region of the environment that is none', async () => {
    await assert.rejects(openCloud({ ...keys, AWS_REGION: 'eu-west-1/x' }), (error) => {
      assert.ok(error instanceof CloudConfigError);
      assert.equal(error.message, 'aws: AWS_REGION: "eu-west-1/x", expected a region such as eu-west-1');
      return true;
    });
  });

  it('prefers the service override of its region, then AWS_ENDPOINT_URL_EC2, then AWS_ENDPOINT_URL', async () => {
    const { host } = new URL(ec2.url);
    const env = { ...keys, AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL: 'http://127.0.0.1:1' };
    const account = ec2.account;
    assert.equal(await scopeOf(env), `127.0.0.1:1/eu-west-1/${account}`);
    assert.equal(await scopeOf({ ...env, AWS_ENDPOINT_URL_EC2: ec2.url }), `${host}/eu-west-1/${account}`);
    const ignoring = { ...env, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' };
    const sts = `[ServiceOverride "1"]\nService=STS\nRegion=eu-west-1\nURL=${ec2.url}\nSigningRegion=eu-west-1\n`;
    assert.equal(await scopeOf(ignoring, sts), `ec2.eu-west-1.amazonaws.com/eu-west-1/${account}`);
    const override = (region: string) =>
      `[ServiceOverride "1"]\nService=EC2\nRegion=${region}\nURL=${ec2.url}\nSigningRegion=mars-1\nSigningName=ec2x\n`;
    assert.equal(await scopeOf(env, override('us-east-1')), `127.0.0.1:1/eu-west-1/${account}`);
    ec2.calls.length = 0;
    const cloud = await openCloud(env, override('eu-west-1'));
    ec2.instances.set(id, running(id));
    assert.equal((await cloud.instances.lookup([ref])).get(ref.providerID)?.state, 'found');
    assert.match(ec2.calls[0]!.authorization, /\/mars-1\/ec2x\/aws4_request/);
  });

  it('refuses to run with a credential but no region', async () => {
    setEnv({ AWS_EC2_METADATA_DISABLED: 'true' });
    await assert.rejects(open(keys), (error) => error instanceof CloudConfigError && /no region/.test(error.message));
  });

  it('warns of unknown keys by name', async () => {
    const lines: string[] = [];
    const log = createLog({ clock: systemClock(), level: 'warn', format: 'json', write: (line) => lines.push(line) });
    await openCloud(keys, '[Global]\nRegion=eu-west-1\nRegoin=x\n', { log });
    assert.equal(lines.length, 1);
    assert.match(lines[0]!, /\[Global\] Regoin/);
  });

  it('accepts what its region could hold', async () => {
    const cloud = await openCloud({ ...keys, AWS_REGION: 'us-west-2' });
    for (const good of ['aws:///us-west-2a/i-1', 'aws:////i-1', 'i-1', 'aws:///us-west-2-lax-1a/i-1'])
      assert.ok(cloud.accepts(good), good);
    for (const bad of ['aws:///us-west-1a/i-1', 'gce://p/z/i-1', 'node-1']) assert.ok(!cloud.accepts(bad), bad);
  });

  it('adds the zone id to labels, asking for the zones once; failing only leaves the label out', async () => {
    const env = { ...keys, AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL: ec2.url };
    ec2.instances.set(id, running(id));
    const cloud = await openCloud(env);
    for (let round = 0; round < 3; round += 1) {
      const lookup = (await cloud.instances.lookup([ref])).get(ref.providerID);
      assert.ok(lookup?.state === 'found');
      assert.deepEqual(lookup.instance.labels, { 'topology.k8s.aws/zone-id': 'euw1-az1' });
    }
    assert.equal(ec2.calls.filter(({ action }) => action === 'DescribeAvailabilityZones').length, 1);
    ec2.fault = ({ action }, response) =>
      action === 'DescribeAvailabilityZones' ? answerError(response, 403, 'UnauthorizedOperation', 'no') : undefined;
    const lookup = (await (await openCloud(env)).instances.lookup([ref])).get(ref.providerID);
    assert.ok(lookup?.state === 'found');
    assert.equal(lookup.instance.labels, undefined);
  });
});
