import { CloudConfigError, type CloudConfigFile, type ReportOnlyCloud } from '../cloud.ts';
import { type GcfgReader, layered, parseGcfg, readEntries, readSection, unknownKeys } from '../gcfg.ts';
import { matchingText, secretText } from '../gcfg-values.ts';
import { isPlainUrl, plainUrlExpected } from '../plain-url.ts';
import type { Service } from './client.ts';
import type { AccessKey } from './sign.ts';

export type HuaweiConfig = Exclude<ReturnType<typeof readConfig>, ReportOnlyCloud>;

/** Our key of each variable, per section: those that a cloud config may have, and the vendor's own tools read. */
const variables = {
  Global: {
    region: ['REGION', 'HUAWEICLOUD_SDK_REGION'],
    cloud: ['CLOUD'],
    'access-key': ['ACCESS_KEY_ID', 'HUAWEICLOUD_SDK_AK'],
    'secret-key': ['SECRET_ACCESS_KEY', 'HUAWEICLOUD_SDK_SK'],
    'security-token': ['SECURITY_TOKEN', 'HUAWEICLOUD_SDK_SECURITY_TOKEN'],
    'project-id': ['PROJECT_ID', 'HUAWEICLOUD_SDK_PROJECT_ID'],
  },
  Vpc: { id: ['ROUTER_ID', 'VPC_ID'], 'subnet-id': ['SUBNET_ID'], 'security-group-id': ['SECURITY_GROUP_ID'] },
} as const;

const known = new Map([
  ['global', new Set([...Object.keys(variables.Global), 'auth-url', 'insecure', 'instance-version'])],
  ['vpc', new Set(Object.keys(variables.Vpc))],
]);
const isId = /^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i;

/**
 * The configuration from the INI file of the classic controller, and where a key is not in it from environment
 * variables. `reportOnly` where neither tells a region.
 *
 * @throws CloudConfigError
 */
export function readConfig(file: CloudConfigFile | undefined, env: Readonly<Record<string, string | undefined>>) {
  const parsed = parseGcfg(file?.text ?? '', file?.path ?? 'environment');
  const read = (section: keyof typeof variables): GcfgReader =>
    layered(readSection(parsed, section), readVariables(section, env));
  const [global, vpc] = [read('Global'), read('Vpc')];
  const region = matchingText(global, 'region', /^[a-z0-9-]+$/, 'the name of a region: cn-north-4');
  if (region === undefined) {
    const where = `the environment${file === undefined ? '' : ` and ${file.path}`}`;
    const none: ReportOnlyCloud = { reportOnly: `neither [Global] region nor REGION: tried ${where}` };
    return none;
  }
  const domain =
    matchingText(global, 'cloud', /^[A-Za-z0-9.-]+$/, 'a domain: myhuaweicloud.com') ?? 'myhuaweicloud.com';
  // IAM is another host for each region; an endpoint of one's own serves all.
  const override = urlOf(env, 'HUAWEICLOUD_ENDPOINT');
  return {
    region,
    /** Undefined: keys of the agency of this ECS. */
    key: keyOf(global),
    /** Undefined: that of the region is read. */
    projectId: matchingText(global, 'project-id', /^[0-9a-f]{32}$/i, 'the id of a project: 32 hexadecimal digits'),
    vpc: matchingText(vpc, 'id', isId, 'the id of a VPC'),
    /** Of new load balancers. */
    subnet: matchingText(vpc, 'subnet-id', isId, 'the id of a subnet')?.toLowerCase(),
    /** Security group that members of load balancers are put into. */
    securityGroup: matchingText(vpc, 'security-group-id', isId, 'the id of a security group')?.toLowerCase(),
    /** File of the mounted ConfigMap with the defaults of load balancers. */
    options: env['HUAWEICLOUD_LOADBALANCER_OPTION'] || undefined,
    /** Base URL of the metadata service. */
    metadata: urlOf(env, 'HUAWEICLOUD_METADATA_ENDPOINT') ?? 'http://169.254.169.254',
    endpointOf: (service: Service) => override ?? `https://${service}.${region}.${domain}`,
    /** For the log. */
    warnings: [
      ...unknownKeys(parsed, known).map((key) => `unknown key ${key}`),
      ...['auth-url', 'instance-version'].filter(global.has).map((key) => `[Global] ${key} has no meaning here`),
      ...(global.boolean('insecure') === true ? ['[Global] insecure has no effect: certificates are verified'] : []),
    ],
  };
}

/** Errors name the variable. */
function readVariables(section: keyof typeof variables, env: Readonly<Record<string, string | undefined>>): GcfgReader {
  const set = Object.entries(variables[section]).flatMap(([key, names]) => {
    const name = names.find((one: string) => env[one]);
    return name === undefined ? [] : [{ key, name, value: env[name]!, line: 0 }];
  });
  return {
    ...readEntries('environment', section, set),
    error: (key, problem) => new CloudConfigError(`${set.find((one) => one.key === key)?.name ?? key}: ${problem}`),
  };
}

function keyOf(global: GcfgReader): AccessKey | undefined {
  const names = ['access-key', 'secret-key', 'security-token'];
  const [id, secret, token] = names.map((key) => secretText(global, key));
  if (id === undefined && secret === undefined) return undefined;
  if (id === undefined) throw global.error('access-key', 'missing, expected it beside secret-key');
  if (secret === undefined) throw global.error('secret-key', 'missing, expected it beside access-key');
  return { id, secret, token };
}

function urlOf(env: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  const value = env[name];
  if (!value) return undefined;
  if (isPlainUrl(value)) return value.replace(/\/+$/, '');
  throw new CloudConfigError(`${name}: ${plainUrlExpected}`);
}
