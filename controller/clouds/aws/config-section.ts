import { CloudConfigError } from '../cloud.ts';
import { type GcfgFile, type GcfgReader, readSection, unknownKeys } from '../gcfg.ts';

/** Sections with their keys, spelt as the documentation spells them; a file may spell them in any case. */
export const documentedKeys: Readonly<Record<string, readonly string[]>> = {
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

/** One section, read by documented keys; its errors name them so. */
export function readDocumented(file: GcfgFile, name: string, subsection?: string): GcfgReader {
  const section = readSection(file, name, subsection);
  const named = (key: string, { message }: CloudConfigError) =>
    new CloudConfigError(message.replace(`] ${key.toLowerCase()}: `, `] ${key}: `));
  const read =
    <Value>(how: (key: string) => Value) =>
    (key: string): Value => {
      try {
        return how(key.toLowerCase());
      } catch (error) {
        throw error instanceof CloudConfigError ? named(key, error) : error;
      }
    };
  return {
    has: read(section.has),
    text: read(section.text),
    list: read(section.list),
    words: read(section.words),
    choices: (key, allowed) => read((lower) => section.choices(lower, allowed))(key),
    cidrs: read(section.cidrs),
    integer: (key, most) => read((lower) => section.integer(lower, most))(key),
    boolean: read(section.boolean),
    durationMs: read(section.durationMs),
    error: (key, problem) => named(key, section.error(key.toLowerCase(), problem)),
  };
}

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
