import { createPrivateKey, X509Certificate } from 'node:crypto';
import { flagOf } from '../annotation-reader.ts';
import { CloudConfigError, type CloudConfigFile } from '../cloud.ts';
import { isPlainUrl, plainUrlExpected } from '../plain-url.ts';
import type { ReadText } from '../variables.ts';
import { readYaml } from '../yaml-text.ts';
import { balancerKeys, mechanismKeys, usedKeys } from './config-keys.ts';
import type { Credential } from './credential.ts';
import { type Environment, environmentNames, environmentOf } from './environment.ts';
import { withTags } from './load-balancers/names.ts';

export interface AzureConfig {
  /** Endpoint alone: Resource Manager there tells the rest. */
  readonly environment: Environment | { readonly endpoint: string; readonly name: string };
  /** In place of the environment's authority. */
  readonly authority: string | undefined;
  /** Lower case. */
  readonly subscription: string;
  readonly tenant: string | undefined;
  /** Lower case. */
  readonly resourceGroup: string;
  readonly location: string | undefined;
  /** Which VMs are looked for by name: `vmss` includes the instances of uniform scale sets. */
  readonly vmType: 'standard' | 'vmss' | 'vmssflex';
  /** Undefined: no routes. */
  readonly routeTable: RouteTablePlace | undefined;
  /** Undefined: no load balancers; a warning says why where any of their keys is there. */
  readonly balancers: BalancerPlace | undefined;
  readonly credential: Credential;
  /** Every file that was read but for the cloud config itself. */
  readonly files: readonly string[];
  /** For the log. */
  readonly warnings: readonly string[];
}

export interface RouteTablePlace {
  /** May be another one than that of the VMs. */
  readonly subscription: string;
  readonly resourceGroup: string;
  readonly name: string;
  /** To create it in. */
  readonly location: string | undefined;
}

/** Where load balancers are, and what they are in front of. Names of resource groups in lower case. */
export interface BalancerPlace {
  /** May be another one than that of the VMs. */
  readonly subscription: string;
  readonly resourceGroup: string;
  /** Resource group of new public addresses. */
  readonly addressGroup: string;
  readonly location: string;
  /** Of what is made. */
  readonly tags: Readonly<Record<string, string>>;
  /** In place of `--cluster-name`. */
  readonly name: string | undefined;
  /** Resource id. */
  readonly virtualNetwork: string;
  /** Of internal load balancers. */
  readonly subnet: string | undefined;
  /** Undefined: no rules are written. */
  readonly securityGroup: { readonly resourceGroup: string; readonly name: string } | undefined;
  readonly disableOutboundSnat: boolean;
  /** What new backend pools have as members; a pool with members keeps what it has. */
  readonly poolMembers: 'interfaces' | 'addresses';
  /** Load balancers whose pools others fill. */
  readonly isPreconfigured: { readonly internal: boolean; readonly external: boolean };
  /** Where the nodes are whose scale sets are written. */
  readonly machines: Pick<AzureConfig, 'subscription' | 'resourceGroup' | 'vmType'>;
}

type Env = Readonly<Record<string, string | undefined>>;

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const tenantName = /^[\w.-]+$/;
/** What a resource or a resource group may be called; a name of dots alone would leave its place in a path. */
export const resourceName = /^(?!\.+$)[\p{L}\p{N}._()-]{1,90}$/u;
const secretKeys = new Set(['aadclientsecret', 'aadclientcertpassword']);
const keys: ReadonlySet<string> = new Set(
  [...usedKeys, ...balancerKeys, ...mechanismKeys].map((key) => key.toLowerCase()),
);

/**
 * The classic controller's azure.json, as JSON or YAML, with its environment variables on top. Keys are read in any
 * case, as that controller reads them. `reportOnly` without a file or without a credential. All bad values are
 * reported together.
 *
 * @throws CloudConfigError
 */
export async function readConfig(
  file: CloudConfigFile | undefined,
  env: Env,
  readText: ReadText,
): Promise<AzureConfig | { readonly reportOnly: string }> {
  if (file === undefined) return { reportOnly: 'no azure.json: --cloud-config names none' };
  const given = readKeys(file);
  const problems: string[] = [];
  const files: string[] = [];

  function wrong(key: string, expected: string, value = given.get(key.toLowerCase())?.value): undefined {
    const shown = secretKeys.has(key.toLowerCase())
      ? 'a wrong value (not shown)'
      : (JSON.stringify(value) ?? 'missing');
    problems.push(`${key}: ${shown}, expected ${expected}`);
    return undefined;
  }
  function text(key: string, variable?: string): string | undefined {
    const value = (variable === undefined ? undefined : env[variable]) || (given.get(key.toLowerCase())?.value ?? '');
    if (typeof value !== 'string') return wrong(key, 'a text');
    return value.trim() || undefined;
  }
  function matching(key: string, pattern: RegExp, expected: string, variable?: string): string | undefined {
    const value = text(key, variable);
    return value === undefined || pattern.test(value) ? value : wrong(key, expected, value);
  }
  function required(key: string, pattern: RegExp, expected: string): string {
    return (text(key) === undefined ? wrong(key, expected) : matching(key, pattern, expected))?.toLowerCase() ?? '';
  }
  function flag(key: string): boolean {
    const value = given.get(key.toLowerCase())?.value ?? false;
    const parsed = typeof value === 'boolean' ? value : flagOf(String(value));
    return parsed ?? wrong(key, 'true or false') ?? false;
  }
  function url(key: string, value: string | undefined): string | undefined {
    if (value === undefined) return undefined;
    if (isPlainUrl(value)) return new URL(value).href.replace(/\/+$/, '');
    problems.push(`${key}: ${plainUrlExpected}`);
    return undefined;
  }

  const subscription = required('subscriptionId', uuid, 'the UUID of a subscription');
  const resourceGroup = required('resourceGroup', resourceName, 'the name of a resource group');
  const tenant = matching('tenantId', tenantName, 'the id or domain of a tenant', 'AZURE_TENANT_ID');
  const endpoint = url('resourceManagerEndpoint', text('resourceManagerEndpoint'));
  const name = text('cloud') ?? '';
  const environment = endpoint === undefined ? environmentOf(name) : { endpoint, name };
  if (environment === undefined) wrong('cloud', `${environmentNames}, or resourceManagerEndpoint beside it`);
  if (/^azurestackcloud$/i.test(name) && !flag('disableAzureStackCloud'))
    wrong('cloud', 'another one: the API versions of Azure Stack are not spoken');
  const vmType = (text('vmType') ?? 'vmss').toLowerCase();
  if (!isVmType(vmType)) wrong('vmType', 'standard, vmss or vmssflex');
  if (/^adfs$/i.test(text('identitySystem') ?? '')) wrong('identitySystem', 'azure_ad');
  const networkTenant = text('networkResourceTenantID');
  if (networkTenant !== undefined && networkTenant.toLowerCase() !== tenant?.toLowerCase())
    wrong('networkResourceTenantID', 'the same as tenantId: one credential reaches one tenant');
  if (given.get('auxiliarytokenprovider')?.value) wrong('auxiliaryTokenProvider', 'none: one credential is used');
  if (text('aadMSIDataPlaneIdentityPath')) wrong('aadMSIDataPlaneIdentityPath', 'another kind of credential');

  const location = matching('location', /^[\w -]+$/, 'the name of a region')
    ?.replaceAll(' ', '')
    .toLowerCase();
  const tableName = matching('routeTableName', resourceName, 'the name of a route table');
  const networkSubscription = matching('networkResourceSubscriptionID', uuid, 'the UUID of a subscription');
  const tableGroup = matching('routeTableResourceGroup', resourceName, 'the name of a resource group');

  function groupOf(key: string): string {
    return (matching(key, resourceName, 'the name of a resource group') ?? resourceGroup).toLowerCase();
  }
  const warnings: string[] = [];
  /** `tagsMap` goes before `tags`. What cannot be read is left out, as the classic controller does it. */
  function tagsOf(): Record<string, string> {
    const written = (text('tags') ?? '').split(',').filter((one) => one.trim() !== '');
    const listed = written.map((one) => ({ one, pair: /^\s*([^=]*[^=\s])\s*=\s*([^=]*?)\s*$/.exec(one)?.slice(1) }));
    const map = Object.entries((given.get('tagsmap')?.value ?? {}) as Record<string, unknown>);
    for (const { one, pair } of listed)
      if (pair === undefined) warnings.push(`tags: ${JSON.stringify(one)}, expected NAME=VALUE; it is left out`);
    for (const [name, value] of map)
      if (typeof value !== 'string') warnings.push(`tagsMap: ${name}, expected a text; it is left out`);
    const texts = map.filter((pair): pair is [string, string] => typeof pair[1] === 'string');
    return withTags(Object.fromEntries(listed.flatMap(({ pair }) => (pair ? [pair] : []))), Object.fromEntries(texts));
  }
  function balancersOf(): BalancerPlace | undefined {
    const network = matching('vnetName', resourceName, 'the name of a virtual network');
    const [group, networkGroup] = [groupOf('loadBalancerResourceGroup'), groupOf('vnetResourceGroup')];
    const securityName = matching('securityGroupName', resourceName, 'the name of a network security group');
    const securityGroup = { resourceGroup: groupOf('securityGroupResourceGroup'), name: securityName ?? '' };
    const names = {
      name: matching('loadBalancerName', resourceName, 'the name of a load balancer'),
      subnet: matching('subnetName', resourceName, 'the name of a subnet'),
    };
    const disableOutboundSnat = flag('disableOutboundSNAT');
    const tags = tagsOf();
    const poolType = (text('loadBalancerBackendPoolConfigurationType') ?? 'nodeIPConfiguration').toLowerCase();
    if (!['nodeipconfiguration', 'nodeip', 'podip'].includes(poolType))
      wrong('loadBalancerBackendPoolConfigurationType', 'nodeIPConfiguration or nodeIP');
    const filled = (text('preConfiguredBackendPoolLoadBalancerTypes') ?? '').toLowerCase();
    if (!['', 'internal', 'external', 'all'].includes(filled))
      wrong('preConfiguredBackendPoolLoadBalancerTypes', 'internal, external or all');
    const several = given.get('multiplestandardloadbalancerconfigurations')?.value;
    const reason =
      network === undefined || location === undefined
        ? securityName && 'location and vnetName say where'
        : /^(basic|service)$/i.test(text('loadBalancerSku') ?? '')
          ? 'loadBalancerSku has to be standard'
          : poolType === 'podip'
            ? 'loadBalancerBackendPoolConfigurationType podIP is not served'
            : Array.isArray(several) &&
              several.length > 0 &&
              'multipleStandardLoadBalancerConfigurations is not served';
    if (reason) warnings.push(`${file!.path}: no load balancers: ${reason}`);
    if (reason || network === undefined || location === undefined) return undefined;
    const balancerSubscription = networkSubscription?.toLowerCase() ?? subscription;
    const networks = `/subscriptions/${balancerSubscription}/resourceGroups/${networkGroup}/providers`;
    return {
      poolMembers: poolType === 'nodeip' ? 'addresses' : 'interfaces',
      isPreconfigured: { internal: /^(internal|all)$/.test(filled), external: /^(external|all)$/.test(filled) },
      machines: { subscription, resourceGroup, vmType: vmType as AzureConfig['vmType'] },
      subscription: balancerSubscription,
      resourceGroup: group,
      addressGroup: resourceGroup,
      location,
      tags,
      disableOutboundSnat,
      ...names,
      virtualNetwork: `${networks}/Microsoft.Network/virtualNetworks/${network}`,
      securityGroup: securityName ? securityGroup : undefined,
    };
  }
  const balancers = balancersOf();

  async function certificate(clientId: string, ofTenant: string, path: string): Promise<Credential | undefined> {
    files.push(path);
    const pem = await readText(path).catch(() => undefined);
    if (pem === undefined) return wrong('aadClientCertPath', 'the path of a file that can be read');
    const certificates = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g);
    const key = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+?-----END [A-Z ]*PRIVATE KEY-----/.exec(pem)?.[0];
    if (!certificates || key === undefined)
      return wrong('aadClientCertPath', 'certificate and key in PEM; of a PFX file: openssl pkcs12 -nodes -in FILE');
    try {
      const passphrase = text('aadClientCertPassword');
      const privateKey = createPrivateKey({ key, ...(passphrase === undefined ? {} : { passphrase }) });
      const chain = certificates.map((one) => new X509Certificate(one));
      // Certificates of the chain may come in any order.
      const own = chain.find((one) => one.checkPrivateKey(privateKey));
      if (own === undefined) return wrong('aadClientCertPath', 'a certificate of the key beside it');
      if (privateKey.asymmetricKeyType !== 'rsa') return wrong('aadClientCertPath', 'an RSA key');
      return { kind: 'certificate', clientId, tenant: ofTenant, privateKey, certificate: own.raw };
    } catch {
      // The parser's words may repeat what it read.
      return wrong('aadClientCertPath', 'a certificate and a key that aadClientCertPassword opens');
    }
  }

  /** In the classic controller's order. */
  async function credentialOf(): Promise<Credential | undefined> {
    const tokenFile = env['AZURE_FEDERATED_TOKEN_FILE'] || undefined;
    const federated = tokenFile !== undefined || flag('useFederatedWorkloadIdentityExtension');
    if (!federated && flag('useManagedIdentityExtension')) {
      const identity = text('userAssignedIdentityID');
      return { kind: 'managed', identity, endpoint: imds };
    }
    const clientId = matching('aadClientId', /^[\w.-]+$/, 'the id of an application', 'AZURE_CLIENT_ID');
    const secret = text('aadClientSecret', 'AZURE_CLIENT_SECRET');
    const certificatePath = text('aadClientCertPath');
    if (!federated && secret === undefined && certificatePath === undefined) return undefined;
    if (clientId === undefined) wrong('aadClientId', 'the id of an application, here or in AZURE_CLIENT_ID');
    if (tenant === undefined) wrong('tenantId', 'the id of a tenant, here or in AZURE_TENANT_ID');
    const path = tokenFile ?? text('aadFederatedTokenFile');
    if (federated && path === undefined)
      return wrong('aadFederatedTokenFile', 'a path, here or in AZURE_FEDERATED_TOKEN_FILE');
    if (clientId === undefined || tenant === undefined) return undefined;
    if (federated) return { kind: 'federated', clientId, tenant, tokenFile: path! };
    if (secret !== undefined) return { kind: 'secret', clientId, tenant, secret };
    return certificate(clientId, tenant, certificatePath!);
  }
  const authority = url('AZURE_AUTHORITY_HOST', env['AZURE_AUTHORITY_HOST'] || undefined);
  const imdsHost = env['AZURE_POD_IDENTITY_AUTHORITY_HOST'] || 'http://169.254.169.254';
  // Where a VM gets tokens of its identities.
  const imds = url('AZURE_POD_IDENTITY_AUTHORITY_HOST', imdsHost) ?? '';
  const credential = await credentialOf();

  if (problems.length > 0) throw new CloudConfigError(`azure: ${file.path}: ${problems.join('; ')}`);
  if (credential === undefined) {
    const tried = 'workload identity, managed identity, client secret, client certificate';
    return { reportOnly: `no credential: ${file.path} and the environment have none (${tried})` };
  }
  const unknown = [...given].flatMap(([key, { written }]) => (keys.has(key) ? [] : [written]));
  return {
    environment: environment!,
    authority,
    subscription,
    tenant,
    resourceGroup,
    location,
    vmType: vmType as AzureConfig['vmType'],
    credential,
    files,
    balancers,
    routeTable:
      tableName === undefined
        ? undefined
        : {
            subscription: networkSubscription?.toLowerCase() ?? subscription,
            resourceGroup: (tableGroup ?? resourceGroup).toLowerCase(),
            name: tableName,
            location,
          },
    warnings: [
      ...warnings,
      ...(unknown.length === 0 ? [] : [`${file.path}: unknown keys have no effect: ${unknown.join(', ')}`]),
    ],
  };
}

function isVmType(text: string): text is AzureConfig['vmType'] {
  return ['standard', 'vmss', 'vmssflex'].includes(text);
}

interface GivenKey {
  readonly written: string;
  readonly value: unknown;
}

/** By keys in lower case. */
function readKeys({ path, text }: CloudConfigFile): ReadonlyMap<string, GivenKey> {
  const read = readYaml(text, { schema: 'core' });
  if ('badLine' in read) {
    const where = read.badLine === undefined ? '' : `, line ${read.badLine}`;
    throw new CloudConfigError(`azure: ${path}${where}: neither JSON nor YAML, expected the classic azure.json`);
  }
  const { content } = read;
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw new CloudConfigError(`azure: ${path}: no keys and values, expected the classic azure.json`);
  return new Map(Object.entries(content).map(([written, value]) => [written.toLowerCase(), { written, value }]));
}
