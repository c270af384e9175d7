import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import 'reflect-metadata';
import { cryptoProvider, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';
import { systemClock } from '../../../common/process/clock.ts';
import { silentLog } from '../../../common/process/log.ts';
import { answerJson } from '../../../test/clouds/openstack/fake/answers.ts';
import {
  active,
  catalogOf,
  password,
  startFakeOpenStack,
  uuid,
} from '../../../test/clouds/openstack/fake/fake-openstack.ts';
import type { FakeOpenStack } from '../../../test/clouds/openstack/fake/openstack-state.ts';
import { CloudConfigError, type CloudContext, type OpenedCloud } from '../cloud.ts';
import { cloudModule } from './index.ts';

const context: CloudContext = { clock: systemClock(), random: () => 0.5, log: silentLog, env: {}, onCall: () => {} };
const ref = { by: 'providerID', providerID: `openstack:///${uuid(1)}` } as const;

let fake: FakeOpenStack;
const opened: OpenedCloud[] = [];

async function open(text: string): Promise<OpenedCloud> {
  const cloud = await cloudModule.open({ path: 'cloud.conf', text }, context);
  assert.ok('identify' in cloud);
  opened.push(cloud);
  return cloud;
}
const conf = (extra = 'region = RegionOne\n', authUrl = fake.authUrl) =>
  `[Global]\nauth-url=${authUrl}\nuser-id=u1\npassword=${password}\ntenant-id=p1\n${extra}`;

describe('opening OpenStack', () => {
  before(async () => {
    fake = await startFakeOpenStack();
  });
  after(() => fake.close());
  afterEach(() => {
    for (const cloud of opened.splice(0)) cloud.close();
    fake.servers.clear();
    fake.calls.length = 0;
    fake.fault = undefined;
    fake.catalog = catalogOf(new URL(fake.authUrl).origin, ['RegionOne']);
  });
  const problemOf = async (cloud: OpenedCloud) => {
    const lookup = (await cloud.instances.lookup([ref])).get(ref.providerID);
    return lookup?.state === 'unknown' ? `${lookup.error.kind}: ${lookup.error.message}` : lookup?.state;
  };

  it('calls nothing, and its scope is host, project and region', async () => {
    const cloud = await open(conf());
    assert.deepEqual(fake.calls, []);
    const { scope, account } = await cloud.identify();
    assert.equal(scope, `${new URL(fake.authUrl).host}/p1/RegionOne`);
    assert.equal(account, 'p1');
  });

  it('takes the only region when none is configured, and asks for one when there are several', async () => {
    fake.servers.set(uuid(1), active(1));
    assert.equal(await problemOf(await open(conf(''))), 'found');
    fake.catalog = catalogOf(new URL(fake.authUrl).origin, ['RegionOne', 'RegionTwo']);
    assert.match(String(await problemOf(await open(conf('')))), /^Invalid: .*several regions.*RegionOne, RegionTwo/);
  });

  it('a region without endpoints is no empty cloud; the error says what the catalog has', async () => {
    const problem = String(await problemOf(await open(conf('region = Mars\n'))));
    assert.match(
      problem,
      /^Invalid: .*no public compute endpoint in region Mars; the catalog has of compute: public in RegionOne/,
    );
  });

  it('uses the endpoints of the interface asked for', async () => {
    fake.catalog = catalogOf(new URL(fake.authUrl).origin, ['RegionOne']);
    const cloud = await open(conf('region = RegionOne\nos-endpoint-type = admin\n'));
    assert.match(String(await problemOf(cloud)), /no admin compute endpoint/);
  });

  it('proves its credential by one read, and tells a refused one', async () => {
    const good = await open(conf());
    await good.ping?.();
    assert.deepEqual(
      fake.calls.map(({ method, path }) => `${method} ${path}`),
      ['POST /v3/auth/tokens', 'GET /servers'],
    );
    const bad = await open(conf().replace(password, 'wrong'));
    await assert.rejects(async () => bad.ping?.(), { kind: 'Unauthorized' });
  });

  it('an application credential of another project than the one that is named is not used', async () => {
    const lines = `application-credential-id=a\napplication-credential-secret=${password}\n`;
    const at = (project: string) => open(`[Global]\nauth-url=${fake.authUrl}\n${project}\n${lines}`);
    await (await at('tenant-id=p1')).ping?.();
    await (await at('tenant-name=k8s\ntenant-domain-name=Default')).ping?.();
    await assert.rejects(
      async () => (await at('tenant-id=p2')).ping?.(),
      /is of project p1, the configuration names p2/,
    );
    const other = await at('tenant-name=other\ntenant-domain-name=Default');
    await assert.rejects(async () => other.ping?.(), /is of project k8s, the configuration names other/);
  });

  it('offers load balancers unless they are switched off, and routes where a router is named', async () => {
    const parts = async (extra: string) => {
      const { loadBalancerDriver, routes } = await open(conf(extra));
      return [loadBalancerDriver !== undefined, routes?.tagged];
    };
    assert.deepEqual(await parts(''), [true, undefined]);
    assert.deepEqual(
      await parts('[LoadBalancer]\nenabled = false\n[Route]\nrouter-id = 00000000-0000-4000-8000-0000000000a1\n'),
      [false, false],
    );
  });

  it('checks no further than refused credentials', async () => {
    const cloud = await open(conf().replace(password, 'wrong'));
    assert.deepEqual(
      (await cloud.check()).map(({ name, ok }) => [name, ok]),
      [['credentials', false]],
    );
  });

  it('an answer of Keystone without a token is Invalid and names the field', async () => {
    fake.fault = (call, response) =>
      call.service === 'identity' ? answerJson(response, 201, { token: {} }) : undefined;
    assert.match(String(await problemOf(await open(conf()))), /^Invalid: .*X-Subject-Token: missing/);
  });

  it('trusts its own CA alone, or any certificate where configured', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'openstack-tls-'));
    const names = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
    const keys = await cryptoProvider.get().subtle.generateKey(names, true, ['sign', 'verify']);
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name: 'CN=127.0.0.1',
      keys,
      signingAlgorithm: names,
      notBefore: new Date(Date.now() - 60_000),
      notAfter: new Date(Date.now() + 3_600_000),
      extensions: [new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }])],
    });
    const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
    const key = `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`;
    const server = createServer({ cert: certificate.toString('pem'), key }, (_, response) => {
      answerJson(response, 401, { error: { code: 401, message: 'no' } });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const caFile = join(folder, 'ca.pem');
    await writeFile(caFile, certificate.toString('pem'));
    assert.match(String(await problemOf(await open(conf('', url)))), /^Unavailable: .*certificate/);
    const trusting = await open(conf(`ca-file = ${caFile}\n`, url));
    assert.match(String(await problemOf(trusting)), /^Unauthorized/);
    assert.deepEqual(trusting.files, [caFile]);
    assert.match(String(await problemOf(await open(conf('tls-insecure = true\n', url)))), /^Unauthorized/);
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  });

  it('names a TLS file that is not there', async () => {
    await assert.rejects(
      open(conf('ca-file = /no/ca.pem\n')),
      (error) =>
        error instanceof CloudConfigError && /\[Global\] ca-file: "\/no\/ca.pem": no such file/.test(error.message),
    );
  });
});
