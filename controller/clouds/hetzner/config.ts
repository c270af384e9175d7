import type { CloudConfigFile } from '../cloud.ts';
import { type ReadText, readVariables } from '../variables.ts';

export type HetznerConfig = Exclude<Awaited<ReturnType<typeof readConfig>>, { readonly reportOnly: string }>;

const secrets = ['HCLOUD_TOKEN', 'ROBOT_USER', 'ROBOT_PASSWORD'];
const loadBalancerPrefix = 'HCLOUD_LOAD_BALANCERS_';
const loadBalancerDefaults = [
  'LOCATION',
  'NETWORK_ZONE',
  'TYPE',
  'ALGORITHM_TYPE',
  'USE_PRIVATE_IP',
  'DISABLE_PRIVATE_INGRESS',
  'DISABLE_IPV6',
  'DISABLE_PUBLIC_NETWORK',
  'USES_PROXYPROTOCOL',
  'PRIVATE_SUBNET_IP_RANGE',
  'HEALTH_CHECK_INTERVAL',
  'HEALTH_CHECK_TIMEOUT',
  'HEALTH_CHECK_RETRIES',
];
/** Of the classic controller; Mooring has other means, or none is needed. */
const withoutMeaning = [
  'HCLOUD_DEBUG',
  'HCLOUD_METRICS_ENABLED',
  'HCLOUD_METRICS_ADDRESS',
  'HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK',
  'HCLOUD_SERVER_CACHE_MODE',
  'HCLOUD_SERVER_CACHE_MAX_AGE',
  'ROBOT_CACHE_TIMEOUT',
  'ROBOT_RATE_LIMIT_WAIT_TIME',
  'ROBOT_FORWARD_INTERNAL_IPS',
];

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
  const expected = 'variables of the hcloud-cloud-controller-manager (HCLOUD_TOKEN, ...)';
  const variables = readVariables({ cloud: 'hetzner', file, env, expected, readText });
  const { text, flag, url, secret, wrong, files } = variables;

  const [token, user, password] = await Promise.all(secrets.map(secret));
  const family = text('HCLOUD_INSTANCES_ADDRESS_FAMILY') ?? 'ipv4';
  if (!['ipv4', 'ipv6', 'dualstack'].includes(family))
    wrong('HCLOUD_INSTANCES_ADDRESS_FAMILY', 'ipv4, ipv6 or dualstack', undefined);
  const network = text('HCLOUD_NETWORK');
  const withRobot = flag('ROBOT_ENABLED', false);
  const robotEndpoint = url('ROBOT_ENDPOINT', 'https://robot-ws.your-server.de');
  const routes = flag('HCLOUD_NETWORK_ROUTES_ENABLED', network !== undefined);
  if (routes && network === undefined)
    wrong('HCLOUD_NETWORK_ROUTES_ENABLED', 'HCLOUD_NETWORK beside it, or false', undefined);
  if (routes && withRobot) wrong('ROBOT_ENABLED', 'HCLOUD_NETWORK_ROUTES_ENABLED=false beside it', undefined);
  if ((user === undefined) !== (password === undefined) || (withRobot && user === undefined))
    wrong('ROBOT_ENABLED', 'both ROBOT_USER and ROBOT_PASSWORD', undefined);
  const project = text('MOORING_HETZNER_PROJECT');
  if (project !== undefined && !/^[A-Za-z0-9._-]+$/.test(project))
    wrong('MOORING_HETZNER_PROJECT', "a name of letters, digits, '.', '_' and '-'", undefined);
  const config = {
    /** Without a slash at the end. */
    endpoint: url('HCLOUD_ENDPOINT', 'https://api.hetzner.cloud/v1'),
    /** A name for the project, where several are served that have no network. */
    project,
    /** Name or id. Undefined: no private addresses and no routes. */
    network,
    /** Pod routes are kept in the network. */
    routes,
    /** Every file that was read but for the cloud config itself. */
    files,
    families: { ipv4: family !== 'ipv6', ipv6: family !== 'ipv4' },
    /** Nodes get a zone. */
    zones: flag('HCLOUD_INSTANCES_ZONE_LABEL_ENABLED', true),
    /** Dedicated servers. Undefined: they are not served. */
    robot:
      withRobot && user !== undefined && password !== undefined
        ? { endpoint: robotEndpoint, user, password }
        : undefined,
    loadBalancers: {
      enabled: flag('HCLOUD_LOAD_BALANCERS_ENABLED', true),
      /** Of annotations that a Service does not have, by their names without the prefix; not checked. */
      defaults: new Map(loadBalancerDefaults.flatMap((name) => defaultOf(name, text(loadBalancerPrefix + name)))),
    },
    warnings: [
      ...withoutMeaning.filter((name) => text(name) !== undefined).map((name) => `${name} has no meaning here`),
      ...(token === undefined || token.length === 64 ? [] : ['HCLOUD_TOKEN: expected 64 characters']),
    ],
  };
  variables.finish();
  if (token !== undefined) return { ...config, token };
  return { reportOnly: `no HCLOUD_TOKEN: tried the environment${file === undefined ? '' : ` and ${file.path}`}` };
}

function defaultOf(name: string, value: string | undefined): [string, string][] {
  const annotation = name === 'DISABLE_IPV6' ? 'ipv6-disabled' : name.toLowerCase().replaceAll('_', '-');
  return value === undefined ? [] : [[annotation, value]];
}
