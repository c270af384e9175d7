import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { answerError, answerXml, type FakeEc2 } from '../../../test/clouds/aws/fake/fake-ec2.ts';
import { keys, openHarness } from '../../../test/clouds/aws/fake/open-harness.ts';

const id = 'i-00000000000000001';
const ref = { by: 'providerID', providerID: `aws:///eu-west-1a/${id}` } as const;

describe('opening AWS with a credential from its surroundings', () => {
  const harness = openHarness();
  const { opened, setEnv, open, openCloud } = harness;
  let ec2: FakeEc2;
  before(() => {
    ec2 = harness.ec2;
  });

  it('opens report-only without a credential, and says what was tried, with or without a region', async () => {
    for (const env of [{}, { AWS_REGION: 'eu-west-1' }]) {
      const cloud = await open(env);
      assert.ok('reportOnly' in cloud);
      assert.equal(cloud.retryable, true);
      assert.match(cloud.reportOnly, /no AWS credential: tried AWS_ACCESS_KEY_ID, AWS_PROFILE.*instance role/);
    }
  });

  it('gives up a silent metadata service after 5 s, and opens report-only', async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    setEnv({ AWS_EC2_METADATA_DISABLED: undefined, AWS_EC2_METADATA_SERVICE_ENDPOINT: url });
    const clock = fakeClock(undefined, 20);
    const opening = open({ AWS_REGION: 'eu-west-1' }, undefined, { clock });
    // The bound is ours, whatever the SDK's own timers do.
    await clock.advance(5_000);
    const cloud = await opening;
    assert.ok('reportOnly' in cloud);
    silent.closeAllConnections();
    silent.close();
    setEnv({ AWS_EC2_METADATA_SERVICE_ENDPOINT: undefined });
  });

  it('takes region and credential from the instance it runs on', async () => {
    const role = {
      Code: 'Success',
      Type: 'AWS-HMAC',
      AccessKeyId: 'ASIAROLE',
      SecretAccessKey: 's',
      Token: 't',
      Expiration: '2099-01-01T00:00:00Z',
    };
    const imds = createServer((request, response) => {
      const path = request.url ?? '';
      if (request.method === 'PUT' && path === '/latest/api/token') response.end('token');
      else if (request.headers['x-aws-ec2-metadata-token'] !== 'token') response.writeHead(401).end();
      else if (path === '/latest/meta-data/placement/region') response.end('eu-west-1');
      else if (path.endsWith('/security-credentials/')) response.end('node-role');
      else if (path.endsWith('/security-credentials/node-role')) response.end(JSON.stringify(role));
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => imds.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(imds.address() as AddressInfo).port}`;
    setEnv({ AWS_EC2_METADATA_DISABLED: undefined, AWS_EC2_METADATA_SERVICE_ENDPOINT: url });
    const cloud = await openCloud({ AWS_ENDPOINT_URL: ec2.url });
    assert.match((await cloud.identify()).scope, /\/eu-west-1\//);
    await cloud.instances.lookup([ref]);
    assert.match(ec2.calls[0]!.authorization, /Credential=ASIAROLE\//);
    imds.closeAllConnections();
    imds.close();
    setEnv({ AWS_EC2_METADATA_SERVICE_ENDPOINT: undefined });
  });

  it('opens on a source that is configured but fails, since it may recover; its calls are unknown', async () => {
    setEnv({ AWS_PROFILE: 'nobody' });
    const cloud = await openCloud({ AWS_PROFILE: 'nobody', AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL: ec2.url });
    const lookup = (await cloud.instances.lookup([ref])).get(ref.providerID);
    assert.ok(lookup?.state === 'unknown');
    assert.equal(lookup.error.kind, 'Unauthorized');
    assert.deepEqual(
      (await cloud.check()).map(({ name, ok }) => [name, ok]),
      [
        ['region', true],
        ['credentials', false],
      ],
    );
    assert.match((await cloud.check()).find(({ name }) => name === 'credentials')?.message ?? '', /AWS_PROFILE=nobody/);
  });

  it('opens where the named credentials file cannot be read, and answers unknown', async () => {
    const env = { AWS_REGION: 'eu-west-1', AWS_SHARED_CREDENTIALS_FILE: tmpdir() };
    setEnv(env);
    const cloud = await openCloud({ ...env, AWS_ENDPOINT_URL: ec2.url });
    assert.equal((await cloud.instances.lookup([ref])).get(ref.providerID)?.state, 'unknown');
  });

  it('assumes RoleARN with the source in headers of their own', async () => {
    const headers: Record<string, unknown>[] = [];
    const sts = createServer((request, response) => {
      headers.push(request.headers);
      request.resume().on('end', () =>
        answerXml(
          response,
          200,
          `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>ASIAASSUMED</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>
<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
        ),
      );
    });
    await new Promise<void>((resolve) => sts.listen(0, '127.0.0.1', resolve));
    const cloud = await openCloud(
      {
        ...keys,
        AWS_ENDPOINT_URL_EC2: ec2.url,
        AWS_ENDPOINT_URL_STS: `http://127.0.0.1:${(sts.address() as AddressInfo).port}`,
      },
      '[Global]\nRegion=eu-west-1\nRoleARN=arn:aws:iam::123456789012:role/ccm\nSourceARN=arn:aws:eks:x\n',
    );
    await cloud.instances.lookup([ref]);
    await cloud.instances.lookup([ref]);
    assert.match(ec2.calls[0]!.authorization, /Credential=ASIAASSUMED\//);
    assert.equal(headers.length, 1);
    assert.equal(headers[0]?.['x-amz-source-arn'], 'arn:aws:eks:x');
    assert.equal(headers[0]?.['x-amz-source-account'], '123456789012');
    assert.match(String(headers[0]?.['authorization']), /AKIDEXAMPLE.*x-amz-source-account;x-amz-source-arn/);
    sts.closeAllConnections();
    sts.close();
  });

  describe('a credential in the shared files', () => {
    it('reads the shared files again when the cloud is opened again, and proves the key by a dry run', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'mooring-aws-'));
      const file = join(folder, 'credentials');
      const env = { AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL: ec2.url, AWS_SHARED_CREDENTIALS_FILE: file };
      setEnv({ AWS_SHARED_CREDENTIALS_FILE: file });
      try {
        for (const key of ['AKIDONE', 'AKIDTWO']) {
          await writeFile(file, `[default]\naws_access_key_id = ${key}\naws_secret_access_key = secret\n`);
          const cloud = await openCloud(env);
          assert.ok(cloud.files?.includes(file));
          ec2.calls.length = 0;
          await cloud.ping?.();
          assert.match(ec2.calls[0]!.authorization, new RegExp(`Credential=${key}/`));
          assert.deepEqual(
            ec2.calls.map(({ form }) => form.get('DryRun')),
            ['true'],
          );
        }
        ec2.fault = (_, response) => answerError(response, 401, 'AuthFailure', 'no');
        await assert.rejects(opened.at(-1)!.ping!(), { kind: 'Unauthorized' });
      } finally {
        await rm(folder, { recursive: true });
      }
    });

    it('names no files where the credential comes from the environment', async () => {
      assert.deepEqual((await openCloud({ ...keys, AWS_REGION: 'eu-west-1' })).files, []);
    });
  });
});
