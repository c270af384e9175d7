import type { CloudConfigFile, ReportOnlyCloud } from '../cloud.ts';
import type { ConfigFiles } from '../config-files.ts';
import { type Cidr, type GcfgReader, layered, parseGcfg, readEntries, readSection, unknownKeys } from '../gcfg.ts';
import { readYamlSections } from '../yaml-sections.ts';
import { readSecrets } from './secrets.ts';

export type Family = 'ipv4' | 'ipv6';

/** Which of a VM's addresses becomes its InternalIP, and which its ExternalIP. */
export interface Role {
  readonly type: 'InternalIP' | 'ExternalIP';
  /** The first that holds an address wins. */
  readonly subnets: readonly Cidr[];
  readonly excluded: readonly Cidr[];
  /** Name of the network that the VM's interface is in. */
  readonly network: string | undefined;
}

export type VSphereConfig = Exclude<Awaited<ReturnType<typeof readConfig>>, ReportOnlyCloud>;
export type VCenterConfig = VSphereConfig['vcenters'][number];

const words = (text: string) => text.trim().split(/\s+/);
const vcenterKeys = words(`user password server port insecure-flag datacenters soap-roundtrip-count ca-file thumbprint
  secret-name secret-namespace ip-family tenantref secretref`);
const nodesKeys = words(`internal-network-subnet-cidr internal-vm-network-name exclude-internal-network-subnet-cidr
  external-network-subnet-cidr external-vm-network-name exclude-external-network-subnet-cidr`);
const knownKeys: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['global', new Set([...vcenterKeys, 'secrets-directory', 'api-disable', 'api-binding'])],
  ['virtualcenter', new Set(vcenterKeys)],
  ['vcenter', new Set(vcenterKeys)],
  ['labels', new Set(['zone', 'region'])],
  ['nodes', new Set(nodesKeys)],
]);
/** Variables and the keys that they go before. */
const variables = new Map(
  [
    ...words(
      'VCENTER:server VCENTER_PORT:port USER:user PASSWORD:password DATACENTER:datacenters INSECURE:insecure-flag',
    ),
    ...words(
      'CAFILE:ca-file THUMBPRINT:thumbprint SECRETS_DIRECTORY:secrets-directory LABEL_ZONE:zone LABEL_REGION:region',
    ),
  ].map((pair) => pair.split(':') as [string, string]),
);

/**
 * The configuration of the classic controller, as gcfg or as YAML, with the environment on top. Credentials come from
 * the files of a mounted Secret where they name the vCenter, else from the configuration. `reportOnly` without a
 * vCenter.
 *
 * @throws CloudConfigError
 */
export async function readConfig(
  file: CloudConfigFile | undefined,
  env: Readonly<Record<string, string | undefined>>,
  files: ConfigFiles,
) {
  const config = sectionsOf(file ?? { path: 'environment', text: '' });
  const set = [...variables].map(([name, key]) => ({ key, value: env[`VSPHERE_${name}`] ?? '', line: 0 }));
  const environment = readEntries('environment', 'VSPHERE_*', set);
  const global = layered(environment, readSection(config, 'global'));
  const labels = layered(environment, readSection(config, 'labels'));
  const nodes = readSection(config, 'nodes');
  const named = config.sections.filter(({ name, subsection }) => /^(virtual|v)center$/.test(name) && subsection);
  const only = global.text('server');
  // Several vCenters can answer on one host, at ports of their own.
  const places = named.map(({ name, subsection = '' }) => {
    const own = readSection(config, name, subsection);
    const server = (own.text('server') ?? subsection).toLowerCase();
    return { server, port: layered(own, global).text('port') };
  });
  const twice = places.find(({ server, port }, at) =>
    places.slice(0, at).some((other) => other.server === server && other.port === port),
  );
  if (twice !== undefined)
    throw global.error('server', `${twice.server} is in two sections, expected one for each vCenter`);
  const onlyPort = global.text('port');
  const isNamed = places.some(
    ({ server, port }) => server === only?.toLowerCase() && (onlyPort === undefined || port === onlyPort),
  );
  if (only !== undefined && !isNamed) named.push({ name: 'virtualcenter', subsection: only, entries: [] });
  if (named.length === 0)
    return { reportOnly: `no vCenter: tried ${file?.path ?? '--cloud-config'} and VSPHERE_VCENTER` } as ReportOnlyCloud;
  const secrets = await readSecrets(global.text('secrets-directory'), files);
  const caFiles = new Set<string>();
  const vcenters = named.map(async ({ name, subsection = '' }) => {
    const own = readSection(config, name, subsection);
    const both = layered(own, global);
    const server = own.text('server') ?? subsection;
    const { user, password } = secrets.credentialOf(server) ?? {
      user: both.text('user'),
      password: both.text('password'),
    };
    if (user === undefined || password === undefined)
      throw both.error('user', `no credential for ${server}; ${advice}`);
    const caFile = both.text('ca-file');
    const ca = caFile && (await files.readText(caFile));
    if (caFile && ca === undefined) throw both.error('ca-file', `${JSON.stringify(caFile)}: no such file`);
    if (caFile) caFiles.add(caFile);
    const families = both.choices('ip-family', ['ipv4', 'ipv6']);
    const insecure = own.boolean('insecure-flag') || global.boolean('insecure-flag') || false;
    return {
      /** Name or address. */
      server,
      user,
      password,
      /** PEM. */
      ca,
      insecure,
      port: both.integer('port', 65_535) || 443,
      thumbprint: thumbprintOf(both),
      /** Names, or paths from the root; none = all that there are. */
      datacenters: both.words('datacenters'),
      families: families.length > 0 ? families : (['ipv4'] as const),
    };
  });
  const [zone, region] = [labels.text('zone'), labels.text('region')];
  const unknown = unknownKeys(config, knownKeys);
  return {
    vcenters: await Promise.all(vcenters),
    /** Names of the tag categories; undefined = no zones. */
    categories: zone !== undefined && region !== undefined ? { zone, region } : undefined,
    roles: [roleOf(nodes, 'InternalIP', 'internal'), roleOf(nodes, 'ExternalIP', 'external')],
    /** Every file that was read, but for the cloud config itself. */
    files: [...secrets.files, ...caFiles],
    warnings: [
      ...(unknown.length > 0 ? [`unknown or not of Mooring in the cloud config: ${unknown.join(', ')}`] : []),
      ...((zone === undefined) === (region === undefined)
        ? []
        : ['[Labels] names one category: no zones without both']),
    ],
  };
}

const advice =
  'expected user and password, or their files in secrets-directory (default /etc/cloud/secrets): ' +
  'Mooring reads no Secret through the API';

function sectionsOf({ text, path }: CloudConfigFile) {
  // No YAML begins with a section header, and no gcfg with anything else.
  const isGcfg = /^\s*\[/.test(text.replace(/^\s*[#;].*$/gm, ''));
  return isGcfg ? parseGcfg(text, path) : readYamlSections(text, path, knownKeys, new Set(['vcenter']));
}

function thumbprintOf(section: GcfgReader): string | undefined {
  const text = section.text('thumbprint');
  const hex = text?.replace(/[: ]/g, '').toUpperCase();
  if (hex === undefined || /^([0-9A-F]{40}|[0-9A-F]{64})$/.test(hex)) return hex;
  throw section.error('thumbprint', `${JSON.stringify(text)}, expected a SHA-1 or SHA-256 fingerprint in hex`);
}

function roleOf(nodes: GcfgReader, type: Role['type'], name: string): Role {
  const subnets = nodes.cidrs(`${name}-network-subnet-cidr`);
  const excluded = nodes.cidrs(`exclude-${name}-network-subnet-cidr`);
  return { type, subnets, excluded, network: nodes.text(`${name}-vm-network-name`) };
}
