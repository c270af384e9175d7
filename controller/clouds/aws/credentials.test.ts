import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { systemClock } from '../../../common/process/clock.ts';
import { startTestProxy } from '../../../common/testing/test-proxy.ts';
import { type CredentialProvider, findCredentials } from './credentials.ts';

/** The SDK's chain reads the process's own environment. */
const variables = [
  'AWS_PROFILE',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_CONFIG_FILE',
  'AWS_SHARED_CREDENTIALS_FILE',
  'AWS_EC2_METADATA_DISABLED',
  'AWS_ROLE_ARN',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'AWS_ENDPOINT_URL_STS',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
] as const;
type Env = Partial<Record<(typeof variables)[number], string>>;

/** Ends so soon that the SDK asks for another one beside each call. */
const endsSoon = () => new Date(Date.now() + 60_000).toISOString();

/** The access key, as soon as it is another one than `before`. */
async function nextKey(provider: CredentialProvider, before: string): Promise<string> {
  const deadline = Date.now() + 5000;
  for (;;) {
    const { accessKeyId } = await provider();
    if (accessKeyId !== before || Date.now() > deadline) return accessKeyId;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('credentials that end', () => {
  const saved = new Map(variables.map((name) => [name, process.env[name]]));
  let folder: string;
  let server: Server;
  let url: string;
  let answer: (request: IncomingMessage, body: string, response: ServerResponse) => void;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-aws-'));
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => answer(request, body, response));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server.close();
    server.closeAllConnections();
    await rm(folder, { recursive: true });
  });
  function setEnv(env: Env): Env {
    for (const name of variables) {
      if (env[name] === undefined) delete process.env[name];
      else process.env[name] = env[name];
    }
    return env;
  }
  beforeEach(() => setEnv({}));
  afterEach(() => {
    for (const [name, value] of saved) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  const nowhere: Env = {
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/nonexistent',
    AWS_SHARED_CREDENTIALS_FILE: '/nonexistent',
  };

  async function renewsWebIdentity(endpoint: string, more: Readonly<Record<string, string>>): Promise<void> {
    const file = join(folder, 'token');
    await writeFile(file, 'token-1');
    answer = (_, body, response) => {
      const form = new URLSearchParams(body);
      assert.equal(form.get('Action'), 'AssumeRoleWithWebIdentity');
      assert.equal(form.get('RoleArn'), 'arn:aws:iam::123456789012:role/mooring');
      const key = `ASIA${form.get('WebIdentityToken')}`;
      response.end(`<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
<AccessKeyId>${key}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>
<Expiration>${endsSoon()}</Expiration></Credentials>
</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`);
    };
    const env = setEnv({
      ...nowhere,
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/mooring',
      AWS_WEB_IDENTITY_TOKEN_FILE: file,
      AWS_ENDPOINT_URL_STS: endpoint,
    });
    const source = await findCredentials({ ...env, ...more }, 'eu-west-1', systemClock(), 5000);
    assert.ok(source.state === 'found' && source.problem === undefined, JSON.stringify(source));
    assert.equal(source.from, 'AWS_WEB_IDENTITY_TOKEN_FILE');
    assert.ok(!source.files.includes(file));
    await writeFile(file, 'token-2');
    assert.equal(await nextKey(source.provider, 'ASIAtoken-1'), 'ASIAtoken-2');
  }

  it('renews a web identity with the token that the kubelet has written since', () => renewsWebIdentity(url, {}));

  it('renews a web identity through the proxy of the environment', async () => {
    const proxy = await startTestProxy(() => Number(new URL(url).port));
    try {
      await renewsWebIdentity('http://sts.test', { HTTP_PROXY: proxy.url });
      assert.equal(proxy.seen[0], 'POST http://sts.test/ user:pass');
    } finally {
      proxy.close();
    }
  });

  it('renews a pod identity at the agent on the node, with the current token of the file', async () => {
    const file = join(folder, 'pod-token');
    await writeFile(file, 'pod-1');
    answer = ({ headers, url: path }, _, response) => {
      assert.equal(path, '/v1/credentials');
      const AccessKeyId = `ASIA${headers.authorization}`;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ AccessKeyId, SecretAccessKey: 's', Token: 't', Expiration: endsSoon() }));
    };
    const env = setEnv({
      ...nowhere,
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
    });
    const source = await findCredentials(env, 'eu-west-1', systemClock(), 5000);
    assert.ok(source.state === 'found' && source.problem === undefined, JSON.stringify(source));
    await writeFile(file, 'pod-2');
    assert.equal(await nextKey(source.provider, 'ASIApod-1'), 'ASIApod-2');
  });

  it('finds a source that gives no credential yet, with the problem', async () => {
    answer = (_, __, response) => {
      response.writeHead(500).end();
    };
    const env = setEnv({ ...nowhere, AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/v1/credentials` });
    const source = await findCredentials(env, 'eu-west-1', systemClock(), 5000);
    assert.ok(source.state === 'found' && source.problem !== undefined);
    assert.equal(source.from, 'AWS_CONTAINER_CREDENTIALS_FULL_URI');
  });
});
