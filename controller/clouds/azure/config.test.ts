import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { issueApplicationCertificate } from '../../../test/clouds/azure/fake/application-certificate.ts';
import { configRefusal } from '../testing/config-refusal.ts';
import { readConfig } from './config.ts';
import { balancerKeys, mechanismKeys, usedKeys } from './config-keys.ts';

type Texts = Readonly<Record<string, string>>;
const subscription = '8d10da13-8125-4ba9-a717-bf7490507b3d';
const tenant = '72f988bf-86f1-41af-91ab-2d7cd011db47';
const secret = 'client~s3cret.Q8';
const base = { subscriptionId: subscription, resourceGroup: 'RG', tenantId: tenant };
const withSecret = { ...base, aadClientId: 'app', aadClientSecret: secret };

const read = (json: object, env: Texts = {}, files: Texts = {}) =>
  readConfig({ path: 'azure.json', text: JSON.stringify(json) }, env, async (path) => files[path]);

async function configOf(...args: Parameters<typeof read>) {
  const config = await read(...args);
  assert.ok(!('reportOnly' in config), JSON.stringify(config));
  return config;
}

async function refusalOf(...args: Parameters<typeof read>): Promise<string> {
  const message = await configRefusal(read(...args));
  assert.ok(!message.includes(secret), 'the secret is shown');
  return message;
}

describe('the configuration of Azure', () => {
  it('needs a subscription, a resource group and a credential, and has the defaults of the classic one', async () => {
    assert.deepEqual(await configOf(withSecret), {
      environment: {
        endpoint: 'https://management.azure.com',
        authority: 'https://login.microsoftonline.com',
        audience: 'https://management.azure.com',
      },
      authority: undefined,
      subscription,
      tenant,
      resourceGroup: 'rg',
      location: undefined,
      vmType: 'vmss',
      routeTable: undefined,
      balancers: undefined,
      files: [],
      warnings: [],
      credential: { kind: 'secret', clientId: 'app', tenant, secret },
    });
  });

  it('returns report-only without a file, and without a credential', async () => {
    assert.deepEqual(await readConfig(undefined, {}, async () => undefined), {
      reportOnly: 'no azure.json: --cloud-config names none',
    });
    const found = await read(base);
    assert.ok('reportOnly' in found);
    assert.match(found.reportOnly, /azure\.json and the environment have none/);
  });

  it('reads YAML, and keys in any case', async () => {
    const text = `SubscriptionID: ${subscription}\nresourcegroup: rg\nUseManagedIdentityExtension: "true"\n`;
    const config = await readConfig({ path: 'azure.yaml', text }, {}, async () => undefined);
    assert.ok('credential' in config);
    assert.deepEqual(config.credential, { kind: 'managed', identity: undefined, endpoint: 'http://169.254.169.254' });
  });

  it('knows the sovereign clouds by name, and any cloud by its endpoint', async () => {
    const endpointOf = async (more: object) => (await configOf({ ...withSecret, ...more })).environment.endpoint;
    assert.equal(await endpointOf({ cloud: 'AzureChinaCloud' }), 'https://management.chinacloudapi.cn');
    assert.equal(await endpointOf({ cloud: 'AZUREUSGOVERNMENTCLOUD' }), 'https://management.usgovcloudapi.net');
    const own = { cloud: 'Ours', resourceManagerEndpoint: 'https://arm.example.com/' };
    assert.deepEqual((await configOf({ ...withSecret, ...own })).environment, {
      endpoint: 'https://arm.example.com',
      name: 'Ours',
    });
    assert.match(await refusalOf({ ...withSecret, cloud: 'Ours' }), /cloud: "Ours", expected AzurePublicCloud/);
    assert.match(await refusalOf({ ...withSecret, cloud: 'AzureStackCloud' }), /Azure Stack are not spoken/);
  });

  it('takes the route table of another resource group and subscription', async () => {
    const other = '00000000-0000-4000-8000-000000000001';
    const more = { routeTableName: 'pods', routeTableResourceGroup: 'Net', networkResourceSubscriptionID: other };
    const { routeTable } = await configOf({ ...withSecret, ...more, location: 'West Europe' });
    assert.deepEqual(routeTable, { subscription: other, resourceGroup: 'net', name: 'pods', location: 'westeurope' });
  });

  it('serves load balancers where a network and a location are named, in any resource groups', async () => {
    const network = { ...withSecret, location: 'West Europe', vnetName: 'v', subnetName: 's', securityGroupName: 'g' };
    const providers = (group: string) => `/subscriptions/${subscription}/resourceGroups/${group}/providers`;
    const usual = {
      subscription,
      resourceGroup: 'rg',
      addressGroup: 'rg',
      location: 'westeurope',
      tags: {},
      name: undefined,
      subnet: 's',
      virtualNetwork: `${providers('rg')}/Microsoft.Network/virtualNetworks/v`,
      disableOutboundSnat: false,
      securityGroup: { resourceGroup: 'rg', name: 'g' },
      poolMembers: 'interfaces',
      isPreconfigured: { internal: false, external: false },
      machines: { subscription, resourceGroup: 'rg', vmType: 'vmss' },
    };
    assert.deepEqual((await configOf(network)).balancers, usual);
    const groups = { vnetResourceGroup: 'N', securityGroupResourceGroup: 'S', loadBalancerResourceGroup: 'L' };
    const more = { ...groups, loadBalancerName: 'own', disableOutboundSNAT: true };
    assert.deepEqual((await configOf({ ...network, ...more })).balancers, {
      ...usual,
      resourceGroup: 'l',
      name: 'own',
      securityGroup: { resourceGroup: 's', name: 'g' },
      virtualNetwork: `${providers('n')}/Microsoft.Network/virtualNetworks/v`,
      disableOutboundSnat: true,
    });
    const tagged = await configOf({ ...network, tags: 'team = net, a=1', tagsMap: { a: 'b' } });
    assert.deepEqual(tagged.balancers?.tags, { team: 'net', a: 'b' });
    const spoiled = await configOf({ ...network, tags: 'Team=a,,b=c=d,', tagsMap: { team: 'b', a: 1 } });
    assert.deepEqual(spoiled.balancers?.tags, { team: 'b' });
    assert.match(spoiled.warnings.join('; '), /tags: "b=c=d", expected NAME=VALUE.*tagsMap: a, expected a text/);
    const { balancers, warnings } = await configOf({ ...network, securityGroupName: undefined });
    assert.deepEqual([balancers?.securityGroup, warnings], [undefined, []]);
    const pools = {
      loadBalancerBackendPoolConfigurationType: 'nodeIP',
      preConfiguredBackendPoolLoadBalancerTypes: 'all',
    };
    const { balancers: filled } = await configOf({ ...network, ...pools });
    assert.deepEqual([filled?.poolMembers, filled?.isPreconfigured], ['addresses', { internal: true, external: true }]);
    await assert.rejects(
      configOf({ ...network, loadBalancerBackendPoolConfigurationType: 'nodes' }),
      /nodeIPConfiguration/,
    );
  });

  it('leaves out load balancers of a kind that is not served, and says why', async () => {
    const network = { ...withSecret, location: 'westeurope', vnetName: 'v' };
    for (const [more, warning] of [
      [{ loadBalancerSku: 'Basic' }, /loadBalancerSku has to be standard/],
      [{ multipleStandardLoadBalancerConfigurations: [{ name: 'a' }] }, /multipleStandard\w+ is not served/],
      [{ loadBalancerBackendPoolConfigurationType: 'podIP' }, /podIP is not served/],
      [{ vnetName: '', securityGroupName: 'g' }, /location and vnetName say where/],
    ] as const) {
      const { balancers, warnings } = await configOf({ ...network, ...more });
      assert.equal(balancers, undefined);
      assert.match(warnings.join(), warning);
    }
  });

  it('prefers workload identity, then managed identity, then secret, then certificate', async () => {
    const all = { ...withSecret, useManagedIdentityExtension: true, userAssignedIdentityID: 'uid' };
    const federated = { AZURE_FEDERATED_TOKEN_FILE: '/token', AZURE_CLIENT_ID: 'id', AZURE_TENANT_ID: 'example.com' };
    const kindOf = async (json: object, env: Texts = {}) => (await configOf(json, env)).credential;
    assert.deepEqual(await kindOf(all, federated), {
      kind: 'federated',
      clientId: 'id',
      tenant: 'example.com',
      tokenFile: '/token',
    });
    assert.deepEqual(
      await kindOf({ ...all, useFederatedWorkloadIdentityExtension: true, aadFederatedTokenFile: '/t' }),
      {
        kind: 'federated',
        clientId: 'app',
        tenant,
        tokenFile: '/t',
      },
    );
    assert.deepEqual(await kindOf(all), { kind: 'managed', identity: 'uid', endpoint: 'http://169.254.169.254' });
    assert.equal((await kindOf(withSecret, { AZURE_CLIENT_SECRET: 'other' })).kind, 'secret');
  });

  it('reads a client certificate with its key from one PEM file, also an encrypted key', async () => {
    const { certificate, key } = await issueApplicationCertificate();
    const cipher = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: secret } as const;
    const locked = createPrivateKey(key).export(cipher).toString();
    const files = { '/app.pem': key + certificate, '/locked.pem': certificate + locked, '/app.pfx': '\u0000\u0001' };
    const json = { ...base, aadClientId: 'app', aadClientCertPath: '/app.pem' };
    const config = await configOf(json, {}, files);
    assert.equal(config.credential.kind, 'certificate');
    assert.deepEqual(config.files, ['/app.pem']);
    const withPassword = { ...json, aadClientCertPath: '/locked.pem', aadClientCertPassword: secret };
    assert.equal((await configOf(withPassword, {}, files)).credential.kind, 'certificate');
    const wrongOne = { ...withPassword, aadClientCertPassword: 'x' };
    assert.match(await refusalOf(wrongOne, {}, files), /that aadClientCertPassword opens/);
    assert.match(await refusalOf({ ...json, aadClientCertPath: '/app.pfx' }, {}, files), /openssl pkcs12/);
    assert.match(await refusalOf({ ...json, aadClientCertPath: '/none' }, {}, files), /a file that can be read/);
    const other = await issueApplicationCertificate();
    const mixed = { '/app.pem': certificate + other.key };
    assert.match(await refusalOf(json, {}, mixed), /a certificate of the key beside it/);
  });

  it('names all bad values at once', async () => {
    const message = await refusalOf({
      subscriptionId: 'mine',
      resourceGroup: 'a/b',
      tenantId: 'a b',
      vmType: 'aks',
      identitySystem: 'ADFS',
      networkResourceTenantID: 'other',
      auxiliaryTokenProvider: { vaultName: 'v' },
      location: '../x',
      aadMSIDataPlaneIdentityPath: '/x',
      useManagedIdentityExtension: 'perhaps',
      routeTableName: '..',
      resourceManagerEndpoint: 'ftp://x',
      aadClientSecret: secret,
    });
    for (const expected of [
      /subscriptionId: "mine", expected the UUID/,
      /resourceGroup: "a\/b", expected the name/,
      /tenantId: "a b", expected the id or domain/,
      /vmType: "aks", expected standard, vmss or vmssflex/,
      /identitySystem: "ADFS", expected azure_ad/,
      /networkResourceTenantID: "other", expected the same/,
      /auxiliaryTokenProvider: \{"vaultName":"v"\}, expected none/,
      /aadMSIDataPlaneIdentityPath: "\/x", expected another/,
      /useManagedIdentityExtension: "perhaps", expected true or false/,
      /routeTableName: "\.\.", expected the name/,
      /resourceManagerEndpoint: a wrong value \(not shown\), expected an http or https URL/,
      /aadClientId: missing, expected the id/,
      /location: "..\/x", expected the name of a region/,
    ])
      assert.match(message, expected);
  });

  it('names what is missing, and shows no secret of the wrong type', async () => {
    assert.match(await refusalOf({}), /subscriptionId: missing.*resourceGroup: missing/);
    assert.match(await refusalOf({ ...withSecret, subscriptionId: '' }), /subscriptionId: "", expected the UUID/);
    assert.match(
      await refusalOf({ ...withSecret, aadClientSecret: { value: secret } }),
      /aadClientSecret: a wrong value \(not shown\)/,
    );
  });

  it('refuses what is neither JSON nor YAML without showing it', async () => {
    const broken = { path: 'azure.json', text: `{"aadClientSecret": "${secret}", ]` };
    await assert.rejects(
      readConfig(broken, {}, async () => undefined),
      (error: Error) => {
        return /neither JSON nor YAML/.test(error.message) && !error.message.includes(secret);
      },
    );
  });

  it('documents every key of the classic controller, and lists none twice', async () => {
    const page = await readFile(new URL('../../../docs/clouds/azure.md', import.meta.url), 'utf8');
    const all = [...usedKeys, ...balancerKeys, ...mechanismKeys];
    assert.deepEqual(
      all.filter((key) => !page.includes(`\`${key}\``)),
      [],
    );
    assert.equal(new Set(all).size, all.length);
  });

  it('names bad values of the environment', async () => {
    const message = await refusalOf(withSecret, {
      AZURE_TENANT_ID: 'a b',
      AZURE_AUTHORITY_HOST: 'login',
      AZURE_POD_IDENTITY_AUTHORITY_HOST: 'http://u:client~s3cret.Q8@x',
    });
    assert.match(message, /tenantId: "a b", expected the id or domain/);
    assert.match(message, /AZURE_AUTHORITY_HOST: a wrong value \(not shown\), expected an http or https URL/);
    assert.match(
      message,
      /AZURE_POD_IDENTITY_AUTHORITY_HOST: a wrong value \(not shown\), expected an http or https URL/,
    );
  });

  it('warns of unknown keys, and not of those that it leaves to the classic controller', async () => {
    const more = { loadBalancerSku: 'standard', vmCacheTTLInSeconds: 60, systemTags: 'a', enableFoo: true };
    const { warnings } = await configOf({ ...withSecret, ...more });
    assert.deepEqual(warnings, ['azure.json: unknown keys have no effect: enableFoo']);
  });
});
