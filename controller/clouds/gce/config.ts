import { gceRegion } from '../../../common/provider-id/gce.ts';
import type { CloudConfigFile } from '../cloud.ts';
import { type GcfgReader, parseGcfg, readSection, unknownKeys } from '../gcfg.ts';
import { matchingText, urlText } from '../gcfg-values.ts';

export type GceConfig = ReturnType<typeof readConfig>;

/** Keys of the classic controller that change nothing here, and why. */
const withoutMeaning: Readonly<Record<string, string>> = {
  'secondary-range-name': 'it has no meaning in the classic controller either',
  'container-api-endpoint': 'GKE is not called',
  'alpha-features': 'no alpha API is called',
};
const globalKeys = [
  'token-url',
  'token-body',
  'project-id',
  'network-project-id',
  'network-name',
  'stack-type',
  'local-zone',
  'subnetwork-name',
  'node-tags',
  'node-instance-prefix',
  'regional',
  'multizone',
  'api-endpoint',
  ...Object.keys(withoutMeaning),
];
const knownKeys: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['global', new Set(globalKeys)],
  ['mooring', new Set(['credential-file', 'resource-manager-endpoint', 'region', 'cluster-id'])],
]);
/** Project ids of domains have a colon: `example.com:project`. */
export const projectPattern = /^(?:[a-z0-9.-]+:)?[a-z0-9][a-z0-9-]*$/;
export const namePattern = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;
const regionPattern = /^[a-z]+-[a-z0-9]+$/;
export const zonePattern = /^[a-z]+(-[a-z0-9]+){2,}$/;

/**
 * `gce.conf` of the classic controller, with a section `[mooring]` for what that one does not know; complete with its
 * defaults.
 *
 * @throws CloudConfigError
 */
export function readConfig(file: CloudConfigFile | undefined) {
  const config = parseGcfg(file?.text ?? '', file?.path ?? 'gce.conf');
  const [global, mooring] = [readSection(config, 'global'), readSection(config, 'mooring')];
  const url = URL.parse(global.text('network-name') ?? '');
  const [, host, network] = /\/projects\/([^/]+)\/global\/networks\/([^/]+)$/.exec(url?.pathname ?? '') ?? [];
  const isNetwork = projectPattern.test(host ?? '') && namePattern.test(network ?? '');
  if (url !== null && !isNetwork) throw expected(global, 'network-name', 'a name or the URL of a network');
  const zone = matchingText(global, 'local-zone', zonePattern, 'a zone such as us-central1-a');
  const wide = global.boolean('multizone') === true || global.boolean('regional') === true;
  const unknown = unknownKeys(config, knownKeys);
  return {
    /** Id or number. Undefined: that of the surroundings. */
    project: matchingText(global, 'project-id', projectPattern, 'the id or number of a project'),
    /** The project of the network, if it is another (Shared VPC). */
    networkProject: matchingText(global, 'network-project-id', projectPattern, 'the id or number of a project') ?? host,
    /** Name. Undefined: that of the VM where the controller runs. */
    network: network ?? matchingText(global, 'network-name', namePattern, 'a name or the URL of a network'),
    /** Which VMs a name without providerID may mean. Undefined: all of the project. */
    named: zone === undefined ? undefined : wide ? { region: gceRegion(zone) } : { zone },
    /** IPv6 addresses go first. */
    ipv6First: matchingText(global, 'stack-type', /^IPV4$|^IPV6$|^IPV4_IPV6$/, 'IPV4, IPV6 or IPV4_IPV6') === 'IPV6',
    /** The names of all VMs of the cluster begin so: lists leave out others. */
    namePrefix: matchingText(global, 'node-instance-prefix', /^[a-z][-a-z0-9]*$/, 'the beginning of the names of VMs'),
    /** Base URLs without a slash at the end. Undefined: Google's. */
    endpoint: urlText(global, 'api-endpoint')?.replace(/\/+$/, ''),
    resourceManagerEndpoint: urlText(mooring, 'resource-manager-endpoint')?.replace(/\/+$/, ''),
    credentialFile: mooring.text('credential-file'),
    /** The classic controller's own source of tokens. */
    tokenSource: tokenSourceOf(global),
    /** Of load balancers. Undefined: that of the VM where the controller runs. */
    region: matchingText(mooring, 'region', regionPattern, 'a region such as us-central1') ?? (zone && gceRegion(zone)),
    /** Name of the subnet of internal load balancers. */
    subnet: subnetOf(global),
    /** Firewall rules are for VMs with these tags. */
    nodeTags: tagsOf(global),
    /** What the classic controller calls the cluster. */
    clusterId: matchingText(
      mooring,
      'cluster-id',
      /^[a-z0-9]{1,30}$/,
      'the uid of the ConfigMap kube-system/ingress-uid',
    ),
    /** For the log. */
    warnings: [
      ...Object.entries(withoutMeaning)
        .filter(([key]) => global.has(key))
        .map(([key, why]) => `${key} has no effect: ${why}`),
      ...(unknown.length > 0 ? [`unknown in the cloud config: ${unknown.join(', ')}`] : []),
    ],
  };
}

/** Of a URL the name: it is a subnet of the network. */
function subnetOf(global: GcfgReader): string | undefined {
  const name = global.text('subnetwork-name')?.replace(/^.*\/subnetworks\//, '');
  if (name === undefined || namePattern.test(name)) return name;
  throw expected(global, 'subnetwork-name', 'a name or the URL of a subnet');
}

function tagsOf(global: GcfgReader): readonly string[] {
  const tags = global.list('node-tags');
  const wrong = tags.find((tag) => !namePattern.test(tag));
  if (wrong !== undefined) throw global.error('node-tags', `${JSON.stringify(wrong)}, expected a network tag of VMs`);
  return tags;
}

function tokenSourceOf(global: GcfgReader): { readonly url: string; readonly body: string } | undefined {
  // The classic controller's word for the credentials of the surroundings.
  if ((global.text('token-url') ?? 'nil') === 'nil') return undefined;
  return { url: urlText(global, 'token-url')!, body: global.text('token-body') ?? '' };
}

function expected(reader: GcfgReader, key: string, what: string): Error {
  return reader.error(key, `${JSON.stringify(reader.text(key))}, expected ${what}`);
}
