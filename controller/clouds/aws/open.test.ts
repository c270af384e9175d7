import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { systemClock } from '../../../common/process/clock.ts';
import { createLog, silentLog } from '../../../common/process/log.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import {
  answerError,
  answerXml,
  type FakeEc2,
  fakeCaller,
  running,
  startFakeEc2,
} from '../../../test/clouds/aws/fake/fake-ec2.ts';
import { CloudConfigError, type CloudContext, type OpenedCloud } from '../cloud.ts';
import { iamActions } from './iam-actions.ts';
import { cloudModule } from './index.ts';

const keys = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI' };
const id = 'i-00000000000000001';
const ref = { by: 'providerID', providerID: `aws:///eu-west-1a/${id}` } as const;

/** The SDK's chain reads the process's own environment: none of the machine's own sources must be seen by a test. */
const hermetic = {
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/nonexistent',
  AWS_SHARED_CREDENTIALS_FILE: '/nonexistent',
  AWS_ACCESS_KEY_ID: undefined,
  AWS_PROFILE: undefined,
  AWS_REGION: undefined,
  AWS_DEFAULT_REGION: undefined,
  AWS_WEB_IDENTITY_TOKEN_FILE: undefined,
};

let ec2: FakeEc2;
const opened: OpenedCloud[] = [];
const saved = new Map<string, string | undefined>();

function setEnv(values: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (!saved.has(name)) saved.set(name, process.env[name]);
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

async function open(env: CloudContext['env'], text?: string, more: Partial<CloudContext> = {}) {
  const context: CloudContext = {
    clock: systemClock(),
    random: () => 0.5,
    log: silentLog,
    env,
    onCall: () => {},
    ...more,
  };
  const cloud = await cloudModule.open(text === undefined ? undefined : { path: 'aws.conf', text }, context);
  if ('identify' in cloud) opened.push(cloud);
  return cloud;
}

async function openCloud(env: CloudContext['env'], text?: string, more?: Partial<CloudContext>): Promise<OpenedCloud> {
  const cloud = await open(env, text, more);
  assert.ok('identify' in cloud, JSON.stringify(cloud));
  return cloud;
}

async function scopeOf(env: CloudContext['env'], text?: string): Promise<string> {
  const cloud = await openCloud({ AWS_ENDPOINT_URL_STS: ec2.url, ...env }, text);
  return (await cloud.identify()).scope;
}

describe('opening AWS', () => {
  before(async () => {
    ec2 = await startFakeEc2();
    setEnv(hermetic);
  });
  after(() => {
    for (const [name, value] of saved) setEnv({ [name]: value });
    return ec2.close();
  });
  afterEach(() => {
    setEnv(hermetic);
    for (const cloud of opened.splice(0)) cloud.close();
    ec2.instances.clear();
    ec2.calls.length = 0;
    ec2.fault = undefined;
  });

  it('calls nothing; its scope is endpoint, region and the account that STS tells', async () => {
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

  it('has the scope that versions before told where a role named the account', async () => {
    const text = '[Global]\nRegion=eu-west-1\nRoleARN=arn:aws:iam::123456789012:role/ccm\n';
    const cloud = await openCloud({ ...keys, AWS_ENDPOINT_URL_STS: ec2.url }, text);
    const { scope, formerScopes } = await cloud.identify();
    assert.equal(scope, 'ec2.eu-west-1.amazonaws.com/eu-west-1/123456789012');
    assert.deepEqual(formerScopes, []);
  });

  it('does not tell a scope while STS does not answer, and does so afterwards', async () => {
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

  it('is report-only without a credential, saying what was tried, with or without a region', async () => {
    for (const env of [{}, { AWS_REGION: 'eu-west-1' }]) {
      const cloud = await open(env);
      assert.ok('reportOnly' in cloud);
      assert.equal(cloud.retryable, true);
      assert.match(cloud.reportOnly, /no AWS credential: tried AWS_ACCESS_KEY_ID, AWS_PROFILE.*instance role/);
    }
  });

  it('does not hang where the metadata service answers nobody', async () => {
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

  it('is not report-only where a credentials file is named and cannot be read', async () => {
    const env = { AWS_REGION: 'eu-west-1', AWS_SHARED_CREDENTIALS_FILE: tmpdir() };
    setEnv(env);
    const cloud = await openCloud({ ...env, AWS_ENDPOINT_URL: ec2.url });
    assert.equal((await cloud.instances.lookup([ref])).get(ref.providerID)?.state, 'unknown');
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

  describe('check', () => {
    const env = () => ({ ...keys, AWS_ENDPOINT_URL: ec2.url, AWS_EC2_METADATA_DISABLED: 'true' });
    const text = '[Global]\nRegion=eu-west-1\nKubernetesClusterID=one\n';

    it('proves each permission that can be proved, and changes nothing', async () => {
      const results = await (await openCloud(env(), text)).check();
      assert.deepEqual(
        results.filter(({ ok }) => !ok),
        [],
      );
      const proved = new Set(results.map(({ name }) => name));
      for (const { action } of iamActions) {
        const provable = action.startsWith('ec2:') || action.startsWith('elasticloadbalancing:Describe');
        assert.equal(proved.has(action), provable, action);
      }
      const unproved = results.at(-1)!;
      assert.match(unproved.message, /^not proved.*CreateLoadBalancer.*RegisterTargets/);
      for (const { action, form } of ec2.calls) {
        assert.ok(form.get('DryRun') === 'true' || /^(Describe|GetCallerIdentity)/.test(action), action);
      }
      const asked = ec2.calls.find(({ action }) => action === 'DescribeTargetHealth')?.form.get('TargetGroupArn');
      assert.match(asked ?? '', /^arn:aws-us-gov:elasticloadbalancing:eu-west-1:123456789012:targetgroup/);
    });

    it('says what to grant, and what it is for', async () => {
      ec2.tables.set('rtb-1', { id: 'rtb-1', tags: { 'kubernetes.io/cluster/one': 'shared' }, routes: new Map() });
      const cloud = await openCloud(env(), text);
      ec2.fault = ({ action, form }, response) => {
        if (action === 'CreateRoute') return answerError(response, 403, 'UnauthorizedOperation', 'no');
        if (action !== 'DescribeListeners') return undefined;
        assert.equal(form.get('Version'), '2015-12-01');
        const error = '<Error><Type>Sender</Type><Code>AccessDenied</Code><Message>no</Message></Error>';
        return answerXml(response, 403, `<ErrorResponse>${error}</ErrorResponse>`);
      };
      const denied = (await cloud.check()).filter(({ ok }) => !ok);
      assert.deepEqual(denied, [
        {
          name: 'ec2:CreateRoute',
          neededFor: ['routes'],
          ok: false,
          message: "denied (for routes); no pod routes are made. Grant ec2:CreateRoute to the controller's role",
        },
        {
          name: 'elasticloadbalancing:DescribeListeners',
          neededFor: ['load balancers'],
          ok: false,
          message:
            "denied (for load balancers); load balancers are not seen. Grant elasticloadbalancing:DescribeListeners to the controller's role",
        },
      ]);
    });

    it('says that a permission is not proved where nothing carries the tag of the cluster to ask about', async () => {
      ec2.tables.clear();
      const cloud = await openCloud(env(), text);
      ec2.fault = ({ action }, response) =>
        /^(CreateRoute|DeleteSecurityGroup)$/.test(action)
          ? answerError(response, 403, 'UnauthorizedOperation', 'no')
          : undefined;
      const results = await cloud.check();
      for (const name of ['ec2:CreateRoute', 'ec2:DeleteSecurityGroup']) {
        const result = results.find((one) => one.name === name);
        assert.equal(result?.ok, true, name);
        assert.match(result.message, /^not proved: denied about something that does not exist/);
      }
    });

    it('an action that is refused for its parameters was let through', async () => {
      const cloud = await openCloud(env(), text);
      ec2.fault = ({ action }, response) =>
        action === 'DeleteRoute' ? answerError(response, 400, 'InvalidParameterValue', 'no such') : undefined;
      const result = (await cloud.check()).find(({ name }) => name === 'ec2:DeleteRoute');
      assert.deepEqual(result, {
        name: 'ec2:DeleteRoute',
        neededFor: ['routes'],
        ok: true,
        message: 'not denied (InvalidParameterValue)',
      });
    });

    it('names who the credential is of, and that a cluster id is lacking', async () => {
      const results = await (await openCloud(env(), '[Global]\nRegion=eu-west-1\n')).check();
      const message = (name: string) => results.find((result) => result.name === name)?.message ?? '';
      assert.equal(message('credentials'), `${fakeCaller}, from the environment`);
      assert.match(message('cluster id'), /no cluster id: this is no EC2 instance; expected KubernetesClusterID/);
    });
  });

  describe('a credential in the shared files', () => {
    it('is read anew when the cloud is opened anew, and proved by a dry run', async () => {
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

    it('has no files where it comes from the environment', async () => {
      assert.deepEqual((await openCloud({ ...keys, AWS_REGION: 'eu-west-1' })).files, []);
    });
  });
});
