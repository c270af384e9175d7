import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { failureOf } from '../../../../common/testing/cloud-failure.ts';
import { fakeClock } from '../../../../common/testing/fake-clock.ts';
import { keyFile } from '../../../../test/clouds/gce/fake/configuration.ts';
import { createFakeGce } from '../../../../test/clouds/gce/fake/fake-gce.ts';
import { CloudConfigError } from '../../cloud.ts';
import { createExchange } from '../../exchange.ts';
import { createRateLimiter } from '../../rate-limiter.ts';
import { readConfig } from '../config.ts';
import { findCredential } from './find-credentials.ts';
import { createMetadataServer } from './metadata-server.ts';

const origin = 'http://gce.test';
const subject = 'eyJ.subject-token';
const federated = {
  type: 'external_account',
  audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  token_url: `${origin}/sts`,
};

function setUp(files: Readonly<Record<string, string>> = {}) {
  const clock = fakeClock();
  const fake = createFakeGce(clock);
  const calls: string[] = [];
  const exchange = createExchange({
    cloud: 'gce',
    http: fake.http,
    clock,
    rateLimiter: createRateLimiter({ cloud: 'gce', clock, random: () => 0.5 }),
    onCall: ({ operation }) => void calls.push(operation),
  });
  const all = new Map(Object.entries(files));
  const unreadable = new Set<string>();
  const readText = async (path: string) => {
    if (unreadable.has(path)) throw new CloudConfigError(`gce: ${path}: cannot be read (EACCES)`);
    return all.get(path);
  };
  const find = (env: Readonly<Record<string, string>>, conf = '') =>
    findCredential(readConfig({ path: 'gce.conf', text: conf }), env, createMetadataServer(exchange, 'metadata.test'), {
      exchange,
      clock,
      readText,
    });
  const onVm = () => {
    fake.identity.metadata.set('project/project-id', 'proj');
    fake.identity.metadata.set('instance/service-accounts/default/token', 'token');
  };
  return { clock, fake, files: all, unreadable, find, calls, onVm };
}

/** The one that is found, opened. */
async function found(work: ReturnType<ReturnType<typeof setUp>['find']>) {
  const credential = await work;
  assert.ok('tokens' in credential);
  return credential;
}
describe('the credential', () => {
  it('looks for the credential in the order of the auth libraries', async () => {
    const { fake, files, find, onVm } = setUp();
    const key = keyFile(fake, origin);
    assert.match(((await find({})) as { tried: string }).tried, /GOOGLE_APPLICATION_CREDENTIALS, the file of gcloud/);
    onVm();
    assert.equal((await found(find({}))).from, "the VM's service account");
    files.set('/home/me/.config/gcloud/application_default_credentials.json', key);
    assert.equal((await found(find({ HOME: '/home/me' }))).from, 'the file of gcloud (service_account)');
    files.set('/key.json', key);
    const env = { HOME: '/home/me', GOOGLE_APPLICATION_CREDENTIALS: '/key.json' };
    const named = await found(find(env));
    assert.equal(named.from, 'GOOGLE_APPLICATION_CREDENTIALS (service_account)');
    assert.deepEqual([named.files, named.project, named.universe], [['/key.json'], 'proj', 'googleapis.com']);
    files.set('/own.json', key);
    const own = await found(find(env, '[mooring]\ncredential-file = /own.json'));
    assert.equal(own.from, 'credential-file (service_account)');
  });

  it('uses the credential of the VM where the file of gcloud, which nothing names, cannot be read', async () => {
    const { find, onVm, unreadable } = setUp();
    onVm();
    unreadable.add('/root/.config/gcloud/application_default_credentials.json').add('/key.json');
    assert.equal((await found(find({ HOME: '/root' }))).from, "the VM's service account");
    await assert.rejects(find({ GOOGLE_APPLICATION_CREDENTIALS: '/key.json' }), /EACCES/);
  });

  it('refuses a named credential file that is not there', async () => {
    const { find } = setUp();
    const expected = new CloudConfigError('gce: GOOGLE_APPLICATION_CREDENTIALS: /none.json: no such file');
    await assert.rejects(find({ GOOGLE_APPLICATION_CREDENTIALS: '/none.json' }), expected);
  });

  it("takes no credential from something else at the metadata service's address", async () => {
    const { fake, find, onVm } = setUp();
    onVm();
    fake.fault = () => ({ status: 200, body: 'proj' });
    assert.ok('tried' in (await find({})));
  });
});

describe('a token', () => {
  const byFile = async (content: object | string, more: Readonly<Record<string, string>> = {}) => {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    const world = setUp({ '/key.json': text, ...more });
    world.fake.identity.subjectTokens.add(subject);
    return {
      ...world,
      read: async () => (await found(world.find({ GOOGLE_APPLICATION_CREDENTIALS: '/key.json' }))).tokens(),
    };
  };

  it('gets a token of a service account for a signed assertion', async () => {
    const { fake } = setUp();
    const world = setUp({ '/key.json': keyFile(fake, origin) });
    // The key of one fake is not that of the other.
    const other = await found(world.find({ GOOGLE_APPLICATION_CREDENTIALS: '/key.json' }));
    const error = await failureOf(other.tokens());
    assert.equal(error.kind, 'Unauthorized');
    assert.match(error.message, /400 invalid_grant Invalid JWT Signature: \[hidden\]$/);
    world.files.set('/key.json', keyFile(world.fake, origin));
    const token = await (await found(world.find({ GOOGLE_APPLICATION_CREDENTIALS: '/key.json' }))).tokens();
    assert.deepEqual([world.fake.identity.isValid(token.value), token.lifeMs], [true, 3_600_000]);
  });

  it('gets a token of a user for the refresh token', async () => {
    const user = { type: 'authorized_user', client_id: 'id', client_secret: 'hush', refresh_token: '1//refresh' };
    const { fake, read } = await byFile({ ...user, token_uri: `${origin}/token` });
    assert.ok(fake.identity.isValid((await read()).value));
  });

  for (const [what, credentialSource, more] of [
    ['a file', { file: '/var/token' }, { '/var/token': `${subject}\n` }],
    [
      'a JSON file',
      { file: '/var/token', format: { type: 'json', subject_token_field_name: 'id_token' } },
      { '/var/token': JSON.stringify({ id_token: subject }) },
    ],
    [
      'a URL',
      { url: `${origin}/subject`, headers: { a: 'b' }, format: { type: 'json', subject_token_field_name: 'id_token' } },
      {},
    ],
  ] as const)
    it(`exchanges the token of another issuer, from ${what}`, async () => {
      const { fake, read } = await byFile({ ...federated, credential_source: credentialSource }, more);
      assert.ok(fake.identity.isValid((await read()).value));
    });

  it('reads the token of another issuer again for each exchange, and impersonates with it', async () => {
    const content = {
      ...federated,
      credential_source: { file: '/var/token' },
      service_account_impersonation_url: `${origin}/impersonate`,
      service_account_impersonation: { token_lifetime_seconds: 1800 },
    };
    const { fake, files, calls, read } = await byFile(content, { '/var/token': 'old' });
    const error = await failureOf(read());
    assert.match(error.message, /400 invalid_grant The subject token \[hidden\] is not known/);
    files.set('/var/token', subject);
    assert.ok(fake.identity.isValid((await read()).value));
    assert.deepEqual(calls, ['POST token exchange', 'POST token exchange', 'POST impersonation']);
    const sent = fake.calls.at(-1)!;
    assert.equal(JSON.parse(sent.text).lifetime, '1800s');
  });

  it('gets a token of the VM from the metadata service, and none without a service account', async () => {
    const { fake, find, onVm } = setUp();
    onVm();
    const { tokens } = await found(find({}));
    assert.ok(fake.identity.isValid((await tokens()).value));
    fake.identity.metadata.delete('instance/service-accounts/default/token');
    const { kind, message } = await failureOf(tokens());
    assert.deepEqual([kind, /has it a service account/.test(message)], ['Unauthorized', true]);
  });

  it('gets a token from token-url on a VM, as the classic controller does', async () => {
    const { fake, find, calls, onVm } = setUp();
    onVm();
    const conf = `[global]\ntoken-url = ${origin}/alt-token\ntoken-body = "{}"`;
    const { tokens, from } = await found(find({}, conf));
    assert.ok(fake.identity.isValid((await tokens()).value));
    assert.equal(from, 'token-url');
    assert.equal(calls.at(-1), 'POST token-url');
  });

  for (const [status, kind] of [
    [400, 'Unauthorized'],
    [401, 'Unauthorized'],
    [403, 'Forbidden'],
    [429, 'Throttled'],
    [503, 'Unavailable'],
  ] as const)
    it(`takes the refusal of a token with ${status} for ${kind}`, async () => {
      const { fake } = setUp();
      const world = setUp({ '/key.json': keyFile(fake, origin) });
      world.fake.fault = () => ({ status, body: 'no' });
      const { tokens } = await found(world.find({ GOOGLE_APPLICATION_CREDENTIALS: '/key.json' }));
      assert.equal((await failureOf(tokens())).kind, kind);
    });

  it('ends when its seconds have passed, also where they come as a text', async () => {
    const { fake } = setUp();
    const world = setUp({ '/key.json': keyFile(fake, origin) });
    const { tokens } = await found(world.find({ GOOGLE_APPLICATION_CREDENTIALS: '/key.json' }));
    world.fake.fault = () => ({ status: 200, body: { access_token: 'ya29.x', expires_in: '3599' } });
    assert.equal((await tokens()).lifeMs, 3_599_000);
  });

  it('shows no token where the rest of the answer cannot be read', async () => {
    const { fake } = setUp();
    const world = setUp({ '/key.json': keyFile(fake, origin) });
    const { tokens } = await found(world.find({ GOOGLE_APPLICATION_CREDENTIALS: '/key.json' }));
    for (const body of [
      { access_token: 'ya29.x', expires_in: 'ya29.x' },
      { access_token: ['ya29.x'], expires_in: 1 },
    ]) {
      world.fake.fault = () => ({ status: 200, body });
      const { kind, message } = await failureOf(tokens());
      assert.equal(kind, 'Invalid');
      assert.doesNotMatch(message, /ya29/);
    }
  });
});

describe('a credential file', () => {
  const refused = async (content: object | string) => {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    const { find } = setUp({ '/key.json': text });
    const error = await find({ GOOGLE_APPLICATION_CREDENTIALS: '/key.json' }).then(
      () => assert.fail('it was accepted'),
      (failure: unknown) => failure,
    );
    assert.ok(error instanceof CloudConfigError);
    return error.message;
  };
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' });
  const key = { type: 'service_account', client_email: 'a@b' };
  const cases: readonly (readonly [string, object | string, RegExp])[] = [
    ['no JSON', 'hush', /key\.json: missing, expected an object/],
    ['a list', ['hush'], /key\.json: a wrong value \(not shown\), expected an object/],
    [
      'another type',
      { type: 'hush' },
      /\.type: a wrong value \(not shown\), expected service_account, external_account or/,
    ],
    ['no key', { ...key, private_key: '' }, /\.private_key: a wrong value \(not shown\), expected a text/],
    [
      'a broken key',
      { ...key, private_key: 'hush' },
      /\.private_key: a wrong value \(not shown\), expected an RSA private key/,
    ],
    [
      'a key that is not RSA',
      { ...key, private_key: ec },
      /\.private_key: a wrong value \(not shown\), expected an RSA private key/,
    ],
    [
      'a key of another shape',
      { ...key, private_key: ['hush'] },
      /\.private_key: a wrong value \(not shown\), expected a text/,
    ],
    [
      'an executable',
      { ...federated, credential_source: { executable: { command: 'hush' } } },
      /\.credential_source: a wrong value \(not shown\), expected either a file or a url/,
    ],
    [
      'the source of AWS',
      { ...federated, credential_source: { environment_id: 'aws1', url: 'http://169.254.169.254/hush' } },
      /\.credential_source: a wrong value \(not shown\), expected either a file or a url/,
    ],
    [
      'a universe that is no domain',
      { ...federated, credential_source: { file: '/a' }, universe_domain: 'hush@example.com' },
      /\.universe_domain: a wrong value \(not shown\), expected a domain/,
    ],
    [
      'a URL with a password',
      { ...federated, token_url: 'https://me:hush@example.com', credential_source: { file: '/a' } },
      /\.token_url: a wrong value \(not shown\), expected an http or https URL/,
    ],
  ];
  for (const [what, content, expected] of cases)
    it(`refuses a credential file with ${what}, and shows no value of it`, async () => {
      const message = await refused(content);
      assert.match(message, expected);
      assert.doesNotMatch(message, /hush/);
    });
});
