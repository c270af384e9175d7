import type { CloudConfigFile } from '../cloud.ts';
import { type ReadText, readVariables } from '../variables.ts';

export type DigitalOceanConfig = Exclude<Awaited<ReturnType<typeof readConfig>>, { readonly reportOnly: string }>;

/** That of the classic controller, and that of the command-line tool. */
const tokens = ['DO_ACCESS_TOKEN', 'DIGITALOCEAN_ACCESS_TOKEN'] as const;
const withoutMeaning = ['DEBUG_ADDR', 'METRICS_ADDR'];
const firewall = ['PUBLIC_ACCESS_FIREWALL_NAME', 'PUBLIC_ACCESS_FIREWALL_TAGS'];
export const types = ['REGIONAL', 'REGIONAL_NETWORK'] as const;
export const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** An account has 5,000 calls an hour, which others use, too. */
const defaultCallsPerSecond = 1;

/**
 * The configuration from the classic controller's environment variables and from a YAML file whose keys are the names
 * of the same variables and whose values win. `reportOnly` when neither has a token. All bad values are reported
 * together.
 *
 * @throws CloudConfigError
 */
export async function readConfig(
  file: CloudConfigFile | undefined,
  env: Readonly<Record<string, string | undefined>>,
  readText: ReadText,
) {
  const expected = 'variables of the digitalocean-cloud-controller-manager (DO_ACCESS_TOKEN, ...)';
  const variables = readVariables({ cloud: 'digitalocean', file, env, expected, readText });
  const { text, matching, url, secret, wrong, files } = variables;

  const given = await Promise.all(tokens.map(secret));
  if (given[0] !== undefined && given[1] !== undefined && given[0] !== given[1])
    wrong(tokens[1], `the same as ${tokens[0]}, or one of them alone`, undefined, 'it is another');
  const token = given[0] ?? given[1];
  const calls = matching('DO_API_RATE_LIMIT_QPS', /^(?!0+(\.0+)?$)\d{1,3}(\.\d+)?$/, 'a number of calls a second');
  const region = matching('REGION', /^[a-z0-9]+$/, 'the slug of a region: nyc3');
  const vpc = matching('DO_CLUSTER_VPC_ID', uuid, 'the UUID of a VPC');
  const isNowhere = region === undefined && vpc === undefined;
  const config = {
    /** Without a slash at the end, and without `/v2`. */
    endpoint: url('DO_OVERRIDE_URL', 'https://api.digitalocean.com'),
    /** Of the load balancers. Undefined: that of the VPC. */
    region,
    /** Of the nodes and load balancers. */
    vpc,
    /** Load balancers are tagged `k8s:<id>` when they are made: what a tag may hold. */
    clusterId: matching('DO_CLUSTER_ID', /^[\w:-]{1,251}$/, "letters, digits, '-', '_' and ':'"),
    /** Of load balancers whose Service names none. */
    defaultType: matching('DEFAULT_LB_TYPE', new RegExp(`^(${types.join('|')})$`), types.join(' or ')) ?? types[0],
    callsPerSecond: calls === undefined ? defaultCallsPerSecond : Number(calls),
    /** Every file that was read but for the cloud config itself. */
    files,
    warnings: [
      ...withoutMeaning.filter((name) => text(name) !== undefined).map((name) => `${name} has no meaning here`),
      ...firewall.filter((name) => text(name) !== undefined).map((name) => `${name}: no firewall is managed`),
      ...(isNowhere ? ['no load balancers: neither REGION nor DO_CLUSTER_VPC_ID says where'] : []),
    ],
  };
  variables.finish();
  if (token !== undefined) return { ...config, token };
  const where = `the environment${file === undefined ? '' : ` and ${file.path}`}`;
  return { reportOnly: `neither ${tokens.join(' nor ')}: tried ${where}` };
}
