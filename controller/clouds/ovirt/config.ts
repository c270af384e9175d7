import { CloudConfigError, type CloudConfigFile } from '../cloud.ts';
import { type Cidr, type GcfgEntry, layered, parseGcfg, readEntries, readSection, unknownKeys } from '../gcfg.ts';
import { isPlainUrl } from '../plain-url.ts';
import type { ReadText } from '../variables.ts';

/** What becomes the label of a zone or region. */
export type Place = 'host' | 'cluster' | 'data-center';

export interface OvirtConfig {
  /** Base of the API, without a slash at the end: `https://engine.example.com/ovirt-engine/api`. */
  readonly endpoint: string;
  /** With its profile: `mooring@internal`. */
  readonly user: string;
  readonly password: string;
  /** PEM. Undefined: the authorities of the image. */
  readonly ca: string | undefined;
  readonly insecure: boolean;
  /** Of the engine's search, which VMs are listed. Undefined: all. */
  readonly search: string | undefined;
  readonly zone: Place | undefined;
  readonly region: Place | undefined;
  /** Ranges of addresses that become InternalIP. None: all that are not in `external`. */
  readonly internal: readonly Cidr[];
  /** Ranges of addresses that become ExternalIP. */
  readonly external: readonly Cidr[];
  /** Every file that was read but for the cloud config itself. */
  readonly files: readonly string[];
  readonly warnings: readonly string[];
}

const connectionKeys = ['url', 'uri', 'username', 'password', 'insecure', 'cafile'];
const knownKeys = new Map([
  ['connection', new Set(connectionKeys)],
  ['filters', new Set(['vms', 'vmsquery'])],
  ['labels', new Set(['zone', 'region'])],
  ['nodes', new Set(['internal-network-subnet-cidr', 'external-network-subnet-cidr'])],
]);
const variables = ['url', 'username', 'password', 'cafile', 'insecure'];
const places = ['host', 'cluster', 'data-center'] as const;
/** Whom the controller that was part of Kubernetes logged in. */
const defaultUser = 'admin@internal';

/**
 * The file of both earlier controllers: `[Connection]` and `[Filters]` sections, or properties (`url=`, `username=`)
 * before the first section. The variables `OVIRT_URL`, `OVIRT_USERNAME`, `OVIRT_PASSWORD`, `OVIRT_CAFILE` and
 * `OVIRT_INSECURE` win. `reportOnly` without an engine or a password.
 *
 * @throws CloudConfigError naming file, line and key; never a value that may be a password
 */
export async function readConfig(
  file: CloudConfigFile | undefined,
  env: Readonly<Record<string, string | undefined>>,
  readText: ReadText,
): Promise<OvirtConfig | { readonly reportOnly: string }> {
  const path = file?.path ?? 'environment';
  const { properties, rest } = splitProperties(file?.text ?? '', path);
  const sections = parseGcfg(rest, path);
  const set = variables.map((key) => ({ key, value: env[`OVIRT_${key.toUpperCase()}`] ?? '', line: 0 }));
  const connection = layered(
    readEntries('environment', 'OVIRT_*', set),
    readSection(sections, 'connection'),
    readEntries(path, 'property', properties),
  );
  const filters = readSection(sections, 'filters');
  const labels = readSection(sections, 'labels');
  const nodes = readSection(sections, 'nodes');
  const urlKey = connection.has('url') ? 'url' : 'uri';
  const url = connection.text(urlKey);
  const [user, password] = [connection.text('username') ?? defaultUser, connection.text('password')];
  const others = properties.map(({ key }) => key).filter((key) => !connectionKeys.includes(key));
  const unknown = [...others, ...unknownKeys(sections, knownKeys)].join(', ');
  const warnings = unknown === '' ? [] : [`unknown in the cloud config: ${unknown}`];
  if (url === undefined || password === undefined) {
    const none = `no ${url === undefined ? 'url' : 'password'}: tried ${path} and OVIRT_*`;
    const why = file === undefined ? none : `${none}, expected url, username and password in [Connection]`;
    return { reportOnly: [why, ...warnings].join('; ') };
  }

  const insecure = connection.boolean('insecure') ?? false;
  const endpoint = endpointOf(url);
  if (endpoint === undefined)
    throw connection.error(urlKey, 'expected the URL of the API: https://engine.example.com/ovirt-engine/api');
  if (endpoint.startsWith('http:') && !insecure)
    throw connection.error(urlKey, 'http shows the password to the network, expected https, or insecure = true');
  const caFile = connection.text('cafile');
  const ca = caFile && (await readText(caFile));
  if (caFile && ca === undefined) throw connection.error('cafile', `${JSON.stringify(caFile)}: no such file`);
  return {
    endpoint,
    user,
    password,
    ca,
    insecure,
    search: filters.text('vms') ?? filters.text('vmsquery'),
    zone: labels.choices('zone', places)[0],
    region: labels.choices('region', places)[0],
    internal: nodes.cidrs('internal-network-subnet-cidr'),
    external: nodes.cidrs('external-network-subnet-cidr'),
    files: caFile ? [caFile] : [],
    warnings,
  };
}

function endpointOf(text: string): string | undefined {
  if (!isPlainUrl(text)) return undefined;
  const url = new URL(text);
  const path = url.pathname.replace(/\/+$/, '');
  return `${url.origin}${path === '' ? '/ovirt-engine/api' : path}`;
}

/** Values of properties are taken as they are, but for what a backslash escapes. The rest keeps its line numbers. */
function splitProperties(text: string, path: string) {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const first = lines.findIndex((line) => line.trimStart().startsWith('['));
  const head = first === -1 ? lines : lines.slice(0, first);
  const properties = head.flatMap((content, at): GcfgEntry[] => {
    const trimmed = content.trim();
    if (trimmed === '' || /^[#;!]/.test(trimmed)) return [];
    const match = /^([A-Za-z][\w.-]*)\s*[=:]\s*(.*)$/.exec(trimmed);
    if (match === null) throw new CloudConfigError(`${path} line ${at + 1}: expected key=value or a [section]`);
    return [{ key: match[1]!.toLowerCase(), value: match[2]!.replace(/\\(.)/g, '$1'), line: at + 1 }];
  });
  return { properties, rest: [...head.map(() => ''), ...lines.slice(head.length)].join('\n') };
}
