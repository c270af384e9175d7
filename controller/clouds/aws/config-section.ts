import { type GcfgFile, unknownKeys } from '../gcfg.ts';

/** Sections with their keys, spelt as the documentation spells them; a file may spell them in any case. */
const documentedKeys: Readonly<Record<string, readonly string[]>> = {
  Global: [
    'Zone',
    'Region',
    'VPC',
    'SubnetID',
    'RouteTableID',
    'RoleARN',
    'SourceARN',
    'KubernetesClusterTag',
    'KubernetesClusterID',
    'DisableSecurityGroupIngress',
    'ElbSecurityGroup',
    'NodeIPFamilies',
    'ClusterServiceLoadBalancerHealthProbeMode',
    'ClusterServiceSharedLoadBalancerHealthProbePort',
    'ClusterServiceSharedLoadBalancerHealthProbePath',
    'SupportedTopologyInstanceTypePattern',
    'NLBSecurityGroupMode',
    'DisableStrictZoneCheck',
  ],
  ServiceOverride: ['Service', 'Region', 'URL', 'SigningRegion', 'SigningMethod', 'SigningName'],
};

/**
 * `[section] key` of what is set and not documented, once each, as it is written.
 *
 * @param text of the file
 */
export function undocumented(file: GcfgFile, text: string): readonly string[] {
  const lower = Object.entries(documentedKeys).map(
    ([name, keys]) => [name.toLowerCase(), new Set(keys.map((key) => key.toLowerCase()))] as const,
  );
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const written = new Map(
    file.sections.flatMap(({ name, entries }) =>
      entries.map(({ key, line }) => [`[${name}] ${key}`, { name, key: /[\w-]+/.exec(lines[line - 1] ?? '')?.[0] }]),
    ),
  );
  return unknownKeys(file, new Map(lower)).map((unknown) => {
    const { name, key } = written.get(unknown) ?? {};
    const title = Object.keys(documentedKeys).find((one) => one.toLowerCase() === name);
    return title !== undefined && key !== undefined ? `[${title}] ${key}` : unknown;
  });
}
