import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { azureJson, azureWorld, endpoint } from '../../../test/clouds/azure/azure-world.ts';
import { issueApplicationCertificate } from '../../../test/clouds/azure/fake/application-certificate.ts';
import { application } from '../../../test/clouds/azure/fake/fake-login.ts';
import type { CloudCall } from '../cloud.ts';
import type { Credential } from './credential.ts';
import { createDiscovery } from './discovery.ts';
import { createTokens } from './tokens.ts';

const without = { aadClientSecret: undefined };
const tokenCalls = (calls: readonly CloudCall[]) => calls.filter(({ operation }) => operation === 'token').length;

async function worksWith(
  options: Parameters<typeof azureWorld>[0],
  prepare?: (world: ReturnType<typeof azureWorld>) => void,
) {
  const world = azureWorld(options);
  prepare?.(world);
  const cloud = await world.open();
  await world.during(cloud.ping!());
  await world.close();
  return world;
}

describe('tokens of Azure', () => {
  it('come for a client secret, for the tenant and the audience of the environment', async () => {
    const { fake } = await worksWith({});
    const call = fake.calls.find(({ path }) => path.endsWith('/oauth2/v2.0/token'))!;
    const form = new URLSearchParams(call.text);
    assert.equal(call.path, `/${azureJson.tenantId}/oauth2/v2.0/token`);
    assert.equal(form.get('scope'), 'https://management.core.windows.net/.default');
  });

  it('come for a federated token, which is read again for each', async () => {
    const files: Record<string, string> = { '/token': `${application.federated}\n` };
    const json = { ...without, useFederatedWorkloadIdentityExtension: true, aadFederatedTokenFile: '/token' };
    const world = azureWorld({ json, files });
    const cloud = await world.open();
    await world.during(cloud.ping!());
    world.fake.login.federated = files['/token'] = 'the.next.token';
    await world.pass(3_600_000);
    await world.during(cloud.ping!());
    assert.equal(world.fake.login.issued, 2);
    files['/token'] = '';
    await world.pass(11_000);
    world.fake.login.revoke();
    await assert.rejects(world.during(cloud.ping!()), { kind: 'Unauthorized' });
    await assert.rejects(world.during(cloud.ping!()), { kind: 'Unauthorized', message: /\/token cannot be read/ });
    await world.close();
  });

  it('come for a client certificate, by an assertion that it has signed', async () => {
    const { certificate, key } = await issueApplicationCertificate();
    const files = { '/app.pem': certificate + key };
    await worksWith({ json: { ...without, aadClientCertPath: '/app.pem' }, files }, ({ fake }) => {
      fake.login.certificate = certificate;
    });
    const wrong = azureWorld({ json: { ...without, aadClientCertPath: '/app.pem' }, files });
    wrong.fake.login.certificate = (await issueApplicationCertificate()).certificate;
    const cloud = await wrong.open();
    await assert.rejects(wrong.during(cloud.ping!()), { kind: 'Unauthorized', message: /invalid_client AADSTS700027/ });
    await wrong.close();
  });

  for (const [what, identity] of [
    ['of the system', ''],
    ['of a user, by its client id', '0c0b7ae5-0000-4000-8000-000000000001'],
    ['of a user, by its resource id', '/subscriptions/s/resourceGroups/rg/providers/Microsoft.ManagedIdentity/u/mi'],
  ] as const)
    it(`come for a managed identity ${what}`, async () => {
      const json = { ...without, useManagedIdentityExtension: true, userAssignedIdentityID: identity };
      const env = { AZURE_POD_IDENTITY_AUTHORITY_HOST: endpoint };
      await worksWith({ json, env }, ({ fake }) => fake.login.identities.add(identity));
    });

  it('uses a token until five minutes before its end, and asks once for many callers', async () => {
    const calls: CloudCall[] = [];
    const world = azureWorld({ onCall: (call) => calls.push(call) });
    const cloud = await world.open();
    await world.during(Promise.all([1, 2, 3].map(() => cloud.ping!())));
    await world.pass(3_290_000);
    await world.during(cloud.ping!());
    assert.equal(tokenCalls(calls), 1);
    await world.pass(20_000);
    await world.during(cloud.ping!());
    assert.equal(tokenCalls(calls), 2);
    await world.close();
  });

  it('uses a token on to its end while its renewal fails', async () => {
    const world = azureWorld();
    const cloud = await world.open();
    await world.during(cloud.ping!());
    await world.pass(3_400_000);
    world.fake.fault = ({ path }) => (path.endsWith('/token') ? { status: 503 } : undefined);
    await world.during(cloud.ping!());
    await world.pass(300_000);
    await assert.rejects(world.during(cloud.ping!()), { kind: 'Unavailable' });
    await world.close();
  });

  it('uses no token again that Resource Manager has refused', async () => {
    const world = azureWorld();
    const cloud = await world.open();
    await world.during(cloud.ping!());
    await world.pass(11_000);
    world.fake.login.revoke();
    await assert.rejects(world.during(cloud.ping!()), { kind: 'Unauthorized' });
    await world.during(cloud.ping!());
    assert.equal(world.fake.login.issued, 2);
    await world.close();
  });

  it('uses a token on where one subscription of another tenant refuses it', async () => {
    const world = azureWorld();
    const cloud = await world.open();
    await world.during(cloud.ping!());
    await world.pass(60_000);
    const body = { error: { code: 'InvalidAuthenticationTokenTenant', message: 'from the wrong issuer' } };
    world.fake.fault = ({ path }) => (path.includes('/routeTables/') ? { status: 401, body } : undefined);
    await assert.rejects(world.during(cloud.routes!.observe('c')), { kind: 'Forbidden' });
    await world.during(cloud.ping!());
    assert.equal(world.fake.login.issued, 1);
    await world.close();
  });

  it('asks for no other token for ten seconds where Resource Manager refuses a new one', async () => {
    const world = azureWorld();
    const cloud = await world.open();
    const body = { error: { code: 'InvalidAuthenticationToken', message: 'no' } };
    world.fake.fault = ({ path }) => (path.startsWith('/subscriptions/') ? { status: 401, body } : undefined);
    for (let each = 0; each < 5; each += 1)
      await assert.rejects(world.during(cloud.ping!()), { kind: 'Unauthorized', message: /401/ });
    assert.equal(world.fake.login.issued, 1);
    await world.pass(11_000);
    await assert.rejects(world.during(cloud.ping!()), { kind: 'Unauthorized' });
    world.fake.fault = undefined;
    await world.during(cloud.ping!());
    assert.equal(world.fake.login.issued, 2);
    await world.close();
  });

  it('asks for no token for five seconds after a refusal, which has no secret in it', async () => {
    const world = azureWorld({ json: { aadClientSecret: 'wr0ng~secret' } });
    const cloud = await world.open();
    for (let each = 0; each < 3; each += 1)
      await assert.rejects(world.during(cloud.ping!()), (error: Error) => {
        const text = JSON.stringify([error.message, error.stack, error.cause]);
        return /401 invalid_client AADSTS7000215/.test(error.message) && !text.includes('wr0ng');
      });
    assert.equal(world.fake.calls.filter(({ path }) => path.endsWith('/token')).length, 1);
    world.fake.login.secret = 'wr0ng~secret';
    await world.pass(5000);
    await world.during(cloud.ping!());
    await world.close();
  });

  it('refuses an answer that is no token, without showing it', async () => {
    const clock = fakeClock();
    const credential: Credential = { kind: 'managed', identity: undefined, endpoint };
    const answers = [
      { access_token: 'two words', expires_in: '60' },
      { access_token: 'token' },
      'no JSON',
      ['two words'],
    ];
    for (const body of answers) {
      const text = JSON.stringify(body).replace('"no JSON"', '<html>');
      const tokens = createTokens({
        http: async () => ({ status: 200, header: () => null, text }),
        clock,
        credential,
        onCall() {},
        readText: async () => undefined,
        uniqueId: () => '1',
        environment: async () => ({ endpoint, authority: endpoint, audience: 'a' }),
      });
      await assert.rejects(tokens.get(), (error: Error) => !/two words/.test(error.message));
    }
  });
});

describe('an environment that is found by its endpoint', () => {
  const answering = (body: unknown, cloud = 'AzurePublicCloud') => {
    const world = azureWorld({ json: { cloud, disableAzureStackCloud: true } });
    world.fake.fault = ({ path }) => (path === '/metadata/endpoints' ? { status: 200, body } : undefined);
    return world;
  };

  it('refuses an endpoint that has no environment of the configured name', async () => {
    const world = answering([{ name: 'Other', authentication: { loginEndpoint: endpoint, audiences: ['a'] } }]);
    const cloud = await world.open();
    await assert.rejects(world.during(cloud.ping!()), { kind: 'Invalid', message: /no environment is named/ });
    await world.close();
  });

  it('refuses an environment whose credentials would go in the clear', async () => {
    const environments = [{ name: '', authentication: { loginEndpoint: 'http://login.test', audiences: ['a'] } }];
    const answer = { status: 200, header: () => null, text: JSON.stringify(environments) };
    const discover = createDiscovery(async () => answer, 'https://arm.test', '');
    await assert.rejects(discover(), { kind: 'Invalid', message: /expected an https URL/ });
  });

  it('asks for the environment again after a failure', async () => {
    const world = answering('<html>');
    const cloud = await world.open();
    await assert.rejects(world.during(cloud.ping!()), { kind: 'Unavailable' });
    world.fake.fault = undefined;
    await world.pass(5000);
    await world.during(cloud.ping!());
    await world.close();
  });
});
