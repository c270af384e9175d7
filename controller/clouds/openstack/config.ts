import type { AgentOptions } from 'node:https';
import ipaddr from 'ipaddr.js';
import type { CloudConfigFile } from '../cloud.ts';
import { type Cidr, type GcfgFile, type GcfgReader, parseGcfg, readSection, unknownKeys } from '../gcfg.ts';
import { type ReadText, readCloudsYaml } from './clouds-yaml.ts';
import { type Credential, credentialOf, type RawSettings, type SettingName, type Wording } from './credential.ts';
import {
  type LoadBalancerConfig,
  loadBalancerClassKeys,
  loadBalancerConfigOf,
  loadBalancerKeys,
} from './load-balancer-config.ts';
import { uuidOf } from './uuid.ts';
import { globalKeys, wordingOf } from './wording.ts';

export interface NetworkingOptions {
  readonly ipv6SupportDisabled: boolean;
  readonly publicNetworkNames: readonly string[];
  readonly internalNetworkNames: readonly string[];
  /** CIDRs, the preferred first. */
  readonly addressSortOrder: readonly Cidr[];
}

export interface OpenStackConfig {
  /** Ends in `/v3`. */
  readonly authUrl: string;
  readonly credential: Credential;
  readonly region: string | undefined;
  readonly interface: 'public' | 'internal' | 'admin';
  readonly tls: AgentOptions;
  readonly timeoutMs: number;
  readonly networking: NetworkingOptions;
  readonly loadBalancer: LoadBalancerConfig;
  /** Whose routes lead to pods; undefined = no routes. */
  readonly routerId: string | undefined;
  /** `ignore-volume-az` of `[BlockStorage]`. */
  readonly ignoresVolumeZones: boolean;
  /** Every file that was read, but for the cloud config itself; TLS files included. */
  readonly files: readonly string[];
  /** For the log: what was ignored. */
  readonly warnings: readonly string[];
}

const knownKeys: ReadonlyMap<string, ReadonlySet<string> | 'any'> = new Map<string, ReadonlySet<string> | 'any'>([
  ['global', new Set([...globalKeys.keys(), 'tls-insecure', 'use-clouds', 'clouds-file', 'cloud'])],
  [
    'networking',
    new Set(['ipv6-support-disabled', 'public-network-name', 'internal-network-name', 'address-sort-order']),
  ],
  ['metadata', new Set(['search-order', 'request-timeout'])],
  ['loadbalancer', loadBalancerKeys],
  ['loadbalancerclass', loadBalancerClassKeys],
  ['route', new Set(['router-id'])],
  // Of the volume plugins, which share the file.
  ['blockstorage', 'any'],
]);

/**
 * The configuration from a cloud.conf (with `use-clouds` on top of a clouds.yaml), from a clouds.yaml given as the
 * file, or from the clouds.yaml that the environment names. `reportOnly` when none of them has a credential.
 *
 * @throws CloudConfigError
 */
export async function readConfig(
  file: CloudConfigFile | undefined,
  env: Readonly<Record<string, string | undefined>>,
  readText: ReadText,
): Promise<OpenStackConfig | { readonly reportOnly: string }> {
  const isYaml = file !== undefined && /\.ya?ml$/i.test(file.path);
  const gcfg: GcfgFile = file === undefined || isYaml ? { path: '', sections: [] } : parseGcfg(file.text, file.path);
  const global = readSection(gcfg, 'Global');
  const fromFile = globalSettings(global);
  const useClouds = file === undefined || isYaml || global.boolean('use-clouds') === true;
  const clouds = useClouds
    ? await readCloudsYaml({
        env,
        readText,
        file: isYaml ? file.path : global.text('clouds-file'),
        text: isYaml ? file.text : undefined,
        cloud: global.text('cloud'),
      })
    : undefined;
  const settings: RawSettings = { ...clouds?.settings, ...fromFile };
  const unknown = unknownKeys(gcfg, knownKeys);
  const wording = wordingOf({ path: file?.path ?? 'cloud config', global, fromGlobal: fromFile, clouds, unknown });
  if (Object.keys(settings).length === 0) {
    const tried =
      file === undefined ? '--cloud-config, OS_CLIENT_CONFIG_FILE and the search path of clouds.yaml' : file.path;
    return { reportOnly: `no OpenStack credential: tried ${tried}` };
  }
  const credential = credentialOf(settings, wording);
  const authUrl = authUrlOf(settings.auth_url, wording);
  const { order, warnings } = sortOrder(readSection(gcfg, 'Networking').text('address-sort-order'));
  const loadBalancer = loadBalancerConfigOf(gcfg);
  const tls = await tlsOf(settings, wording, readText);
  const tlsFiles = [settings.cacert, settings.cert, settings.key].filter((path) => path !== undefined);
  return {
    authUrl,
    credential,
    region: settings.region_name,
    interface: interfaceOf(settings.interface, wording),
    tls,
    timeoutMs: metadataTimeoutMs(readSection(gcfg, 'Metadata')),
    networking: networkingOf(readSection(gcfg, 'Networking'), order),
    loadBalancer: loadBalancer.config,
    routerId: uuidOf(readSection(gcfg, 'Route'), 'router-id'),
    ignoresVolumeZones: readSection(gcfg, 'BlockStorage').boolean('ignore-volume-az') ?? false,
    files: [...(clouds?.files ?? []), ...tlsFiles],
    warnings: [
      ...(unknown.length > 0 ? [`unknown in the cloud config: ${unknown.join(', ')}`] : []),
      ...warnings,
      ...loadBalancer.warnings,
    ],
  };
}

/** How long a read may take; `search-order` is checked and otherwise unused, as upstream does. */
function metadataTimeoutMs(metadata: GcfgReader): number {
  const order = metadata.text('search-order');
  for (const word of (order ?? '').split(',').map((part) => part.trim())) {
    if (word === '' || word === 'configDrive' || word === 'metadataService') continue;
    throw metadata.error('search-order', `${JSON.stringify(order)}, expected configDrive, metadataService or both`);
  }
  return metadata.durationMs('request-timeout') || 60_000;
}

function globalSettings(global: GcfgReader): RawSettings {
  const settings: Partial<Record<SettingName, string>> = {};
  for (const [key, name] of globalKeys) {
    const value = global.text(key);
    if (value !== undefined) settings[name] = value;
  }
  const insecure = global.boolean('tls-insecure');
  if (insecure !== undefined) settings.insecure = String(insecure);
  return settings;
}

function authUrlOf(text: string | undefined, { name, missing, wrong }: Wording): string {
  if (text === undefined) throw missing(`${name('auth_url')} is missing`);
  const url = URL.parse(text);
  if (url?.username || url?.password) {
    // Not shown: it would stand in every error and condition.
    throw wrong('auth_url', 'it has a name or password in it, expected them as username and password');
  }
  if (!/^https?:$/.test(url?.protocol ?? '')) {
    const shown = text.includes('@') ? 'a wrong value (not shown)' : JSON.stringify(text);
    throw wrong('auth_url', `${shown}, expected an http or https URL`);
  }
  if (url?.search || url?.hash) throw wrong('auth_url', 'it has a query or a fragment, expected a plain URL');
  const base = text.replace(/\/+$/, '');
  return /\/v3$/.test(base) ? base : `${base.replace(/\/v2\.0$/, '')}/v3`;
}

function interfaceOf(text: string | undefined, { wrong }: Wording): OpenStackConfig['interface'] {
  if (text === undefined) return 'public';
  if (text === 'public' || text === 'internal' || text === 'admin') return text;
  throw wrong('interface', `${JSON.stringify(text)}, expected public, internal or admin`);
}

async function tlsOf(settings: RawSettings, wording: Wording, readText: ReadText): Promise<AgentOptions> {
  const { name, missing, wrong } = wording;
  if ((settings.cert === undefined) !== (settings.key === undefined)) {
    const [set, absent] = settings.cert === undefined ? (['key', 'cert'] as const) : (['cert', 'key'] as const);
    throw missing(`${name(set)} is set and ${name(absent)} is not, expected both or neither`);
  }
  const textOf = async (setting: 'cacert' | 'cert' | 'key') => {
    const path = settings[setting];
    const text = path === undefined ? undefined : await readText(path);
    if (path !== undefined && text === undefined) throw wrong(setting, `${JSON.stringify(path)}: no such file`);
    return text;
  };
  return {
    ca: await textOf('cacert'),
    cert: await textOf('cert'),
    key: await textOf('key'),
    ...(settings.insecure === 'true' && { rejectUnauthorized: false }),
  };
}

function networkingOf(networking: GcfgReader, addressSortOrder: readonly Cidr[]): NetworkingOptions {
  return {
    ipv6SupportDisabled: networking.boolean('ipv6-support-disabled') ?? false,
    publicNetworkNames: networking.list('public-network-name'),
    internalNetworkNames: networking.list('internal-network-name'),
    addressSortOrder,
  };
}

function sortOrder(text: string | undefined): { order: readonly Cidr[]; warnings: readonly string[] } {
  const order: Cidr[] = [];
  const warnings: string[] = [];
  for (const item of (text ?? '').split(',').map((part) => part.trim())) {
    if (item === '') continue;
    if (ipaddr.isValidCIDR(item)) order.push(ipaddr.parseCIDR(item));
    else warnings.push(`[Networking] address-sort-order: ${JSON.stringify(item)} is ignored, expected a CIDR`);
  }
  return { order, warnings };
}
