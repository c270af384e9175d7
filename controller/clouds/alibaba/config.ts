import { CloudConfigError, type CloudConfigFile, type ReportOnlyCloud } from '../cloud.ts';
import { type ReadText, readVariables } from '../variables.ts';
import { readYaml } from '../yaml-text.ts';
import type { AccessKey } from './signing.ts';

/** Where the keys come from. */
export type CredentialSource =
  | { readonly from: 'key'; readonly key: AccessKey }
  /** The role of the instance that the controller runs on; undefined: the metadata service names it. */
  | { readonly from: 'role'; readonly role: string | undefined }
  /** RRSA: a token of the service account. */
  | {
      readonly from: 'oidc';
      readonly role: string;
      readonly provider: string;
      readonly tokenFile: string;
      readonly session: string;
    };

export const products = ['ecs', 'vpc', 'slb', 'nlb', 'sts'] as const;
export type Product = (typeof products)[number];

export type AlibabaConfig = Exclude<Awaited<ReturnType<typeof readConfig>>, ReportOnlyCloud>;

/** Keys of `Global` in the cloud config, and the variables that say the same. */
const keys: Readonly<Record<string, string>> = {
  accessKeyID: 'ACCESS_KEY_ID',
  accessKeySecret: 'ACCESS_KEY_SECRET',
  region: 'REGION',
  vpcid: 'VPC_ID',
  vswitchid: 'VSWITCH_ID',
  routeTableIDs: 'ROUTE_TABLE_IDS',
  clusterID: 'CLUSTER_ID',
  resourceGroupID: 'RESOURCE_GROUP_ID',
  serviceBackendType: 'SERVICE_BACKEND_TYPE',
  disablePublicSLB: 'DISABLE_PUBLIC_SLB',
};
/** Of the classic controller; Mooring has other means, or none is needed. */
const withoutMeaning = [
  'uid',
  'kubernetesClusterTag',
  'zoneid',
  'nodeMonitorPeriod',
  'nodeAddrSyncPeriod',
  'privateZoneId',
  'privateZoneRecordTTL',
  'featureGates',
  'serviceMaxConcurrentReconciles',
  'nodeMaxConcurrentReconciles',
  'routeMaxConcurrentReconciles',
  'routeReconcileBatchSize',
  'nodeReconcileBatchSize',
];

/**
 * The configuration from the classic controller's file (`Global`, in YAML or JSON, whose keys are in Base64) and its
 * environment variables; the file wins. `reportOnly` when no source of keys is named. All bad values are reported
 * together.
 *
 * @throws CloudConfigError
 */
export async function readConfig(
  file: CloudConfigFile | undefined,
  env: Readonly<Record<string, string | undefined>>,
  readText: ReadText,
) {
  const said = file === undefined ? { values: {}, unused: [] } : readGlobal(file);
  const variables = readVariables({
    cloud: 'alibaba',
    file: undefined,
    expected: '',
    readText,
    env: { ...env, ...said.values },
  });
  const { text, matching, url, secret, flag, wrong, files } = variables;

  const usual = ['ACCESS_KEY_ID', 'ACCESS_KEY_SECRET', 'SECURITY_TOKEN'];
  const given = await Promise.all(usual.map(async (name) => (await secret(name)) ?? secret(`ALIBABA_CLOUD_${name}`)));
  const [id, keySecret, token] = given;
  if ((id === undefined) !== (keySecret === undefined))
    wrong('ACCESS_KEY_SECRET', 'both ACCESS_KEY_ID and ACCESS_KEY_SECRET', undefined, 'one of them');
  const oidc = ['ROLE_ARN', 'OIDC_PROVIDER_ARN', 'OIDC_TOKEN_FILE'].map((name) => text(`ALIBABA_CLOUD_${name}`));
  const [role, provider, tokenFile] = oidc;
  if (new Set(oidc.map((one) => one === undefined)).size > 1)
    wrong('ALIBABA_CLOUD_OIDC_TOKEN_FILE', 'it beside ALIBABA_CLOUD_ROLE_ARN and _OIDC_PROVIDER_ARN', undefined);
  const ramRole = matching('ALIBABA_CLOUD_ECS_METADATA', /^[\w.-]+$/, 'the name of a RAM role');
  const useRole = flag('ALIBABA_CLOUD_USE_INSTANCE_ROLE', ramRole !== undefined || file !== undefined);
  const session = matching('ALIBABA_CLOUD_ROLE_SESSION_NAME', /^[\w.@-]{2,64}$/, 'letters, digits and .@-_');
  const scheme = matching('ALICLOUD_CLIENT_SCHEME', /^https?$/i, 'HTTPS or HTTP')?.toLowerCase() ?? 'https';
  const network = matching('ALIBABA_CLOUD_NETWORK', /^(vpc|public)$/, 'vpc or public') ?? 'vpc';
  const servesPods = matching('SERVICE_BACKEND_TYPE', /^(ecs|eni)$/, 'ecs or eni') === 'eni';
  const endpoints = new Map<Product, string>();
  for (const product of products) {
    const value = text(`${product.toUpperCase()}_ENDPOINT`);
    if (value === undefined) continue;
    const name = `${product.toUpperCase()}_ENDPOINT`;
    if (value.includes('://')) endpoints.set(product, url(name, 'https://invalid'));
    else if (/^[\w.-]+(:\d+)?$/.test(value)) endpoints.set(product, `${scheme}://${value}`);
    else wrong(name, 'a host, or an http or https URL', undefined);
  }

  const credentials: CredentialSource | undefined =
    id !== undefined && keySecret !== undefined
      ? { from: 'key', key: { id, secret: keySecret, token } }
      : role !== undefined && provider !== undefined && tokenFile !== undefined
        ? { from: 'oidc', role, provider, tokenFile, session: session ?? 'mooring' }
        : useRole
          ? { from: 'role', role: ramRole }
          : undefined;
  const idOf = (name: string, prefix: string) =>
    matching(name, new RegExp(`^${prefix}-[a-z0-9]+$`), `an id that begins with ${prefix}-`);
  const tables = (text('ROUTE_TABLE_IDS') ?? '').split(',').map((one) => one.trim());
  const routeTables = [...new Set(tables.filter((one) => one !== ''))];
  if (!routeTables.every((one) => /^vtb-[a-z0-9]+$/.test(one)))
    wrong('ROUTE_TABLE_IDS', 'ids of route tables, separated by commas: vtb-a,vtb-b', undefined);
  const config = {
    /** Undefined: that of the instance that the controller runs on, as of the next two. */
    region: matching('REGION', /^[a-z]{2,}(-[a-z0-9]+)+$/, 'a region: cn-hangzhou'),
    vpc: idOf('VPC_ID', 'vpc'),
    /** Of load balancers with private addresses. */
    vswitch: idOf('VSWITCH_ID', 'vsw'),
    /** Ids of the route tables that get every pod route. Empty: the one of the VPC. */
    routeTables,
    /** Every file that was read but for the cloud config itself. */
    files,
    /** Name of the cluster for the classic controller: in its names and descriptions. */
    clusterId: matching('CLUSTER_ID', /^[\w-]{1,64}$/, "letters, digits, '-' and '_'") ?? 'clusterid',
    resourceGroup: idOf('RESOURCE_GROUP_ID', 'rg'),
    /** Pods are members of load balancers where a Service does not say otherwise. */
    servesPods,
    /** Load balancers get private addresses alone. */
    isPublicRefused: flag('DISABLE_PUBLIC_SLB', false),
    endpointOf: (product: Product, region: string) =>
      endpoints.get(product) ?? `${scheme}://${product}${network === 'vpc' ? '-vpc' : ''}.${region}.aliyuncs.com`,
    metadataEndpoint: url('MOORING_ALIBABA_METADATA', 'http://100.100.100.200'),
    /** For the log. */
    warnings: said.unused.map((name) => `${file!.path}: Global.${name} has no meaning here`),
  };
  variables.finish();
  if (credentials !== undefined) return { ...config, credentials };
  const where = `the environment${file === undefined ? '' : ` and ${file.path}`}`;
  const sources = 'ACCESS_KEY_ID, ALIBABA_CLOUD_ROLE_ARN or ALIBABA_CLOUD_ECS_METADATA';
  const none: ReportOnlyCloud = { reportOnly: `no ${sources}: tried ${where}` };
  return none;
}

function readGlobal({ path, text }: CloudConfigFile): { values: Record<string, string>; unused: readonly string[] } {
  const expected = 'the cloud config of the classic controller: `Global:` with accessKeyID, region, vpcid, ...';
  const read = readYaml(text);
  if ('badLine' in read) {
    const where = read.badLine === undefined ? '' : `, line ${read.badLine}`;
    throw new CloudConfigError(`${path}${where}: neither YAML nor JSON, expected ${expected}`);
  }
  const whole = read.content ?? {};
  const isMapping = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isMapping(whole) || Object.keys(whole).some((name) => name.toLowerCase() !== 'global'))
    throw new CloudConfigError(`${path}: expected ${expected}`);
  const global = Object.values(whole)[0] ?? {};
  if (!isMapping(global)) throw new CloudConfigError(`${path}: Global: expected ${expected}`);
  const values: Record<string, string> = {};
  const unused: string[] = [];
  for (const [name, value] of Object.entries(global)) {
    // The classic controller reads keys in any case.
    const known = [...Object.keys(keys), ...withoutMeaning].find((one) => one.toLowerCase() === name.toLowerCase());
    if (known === undefined) throw new CloudConfigError(`${path}: Global.${name}: unknown, expected ${expected}`);
    if (typeof value !== 'string') throw new CloudConfigError(`${path}: Global.${known}: expected one value`);
    if (value === '' || value === 'null') continue;
    if (keys[known] === undefined) unused.push(known);
    else values[keys[known]] = known.startsWith('accessKey') ? decoded(path, known, value) : value;
  }
  return { values, unused };
}

function decoded(path: string, name: string, value: string): string {
  const text = Buffer.from(value, 'base64').toString();
  if (/^[A-Za-z0-9+/]+=*$/.test(value) && /^[\x21-\x7e]+$/.test(text.trim())) return text.trim();
  throw new CloudConfigError(`${path}: Global.${name}: a wrong value (not shown), expected a key in Base64`);
}
