import { CloudConfigError } from '../cloud.ts';
import { type GcfgFile, type GcfgReader, readSection } from '../gcfg.ts';
import { uuidOf } from './uuid.ts';

/** Where the VIP, the floating IP and the members of a load balancer go. Patterns and tags as they were written. */
export interface Placement {
  readonly floatingNetworkId?: string;
  readonly floatingSubnetId?: string;
  /** Name pattern: `!` negates, `~` a regular expression, otherwise a glob. */
  readonly floatingSubnet?: string;
  readonly floatingSubnetTags?: string;
  readonly networkId?: string;
  readonly subnetId?: string;
  readonly memberSubnetId?: string;
}

/** [LoadBalancer] and [LoadBalancerClass]. */
export interface LoadBalancerConfig {
  readonly enabled: boolean;
  readonly provider: string;
  /** Octavia's `lb_algorithm`. */
  readonly method: string;
  readonly placement: Placement;
  /** By name of the class. */
  readonly classes: ReadonlyMap<string, Placement>;
  /** Every Service is internal. */
  readonly internal: boolean;
  readonly monitor: {
    readonly create: boolean;
    readonly delaySeconds: number;
    readonly timeoutSeconds: number;
    readonly maxRetries: number;
    readonly maxRetriesDown: number;
  };
  readonly manageSecurityGroups: boolean;
  /** `key=value`, or a key that has to be there. */
  readonly nodeSelector: readonly { readonly key: string; readonly value: string | undefined }[];
  readonly cascadeDelete: boolean;
  readonly flavorId: string | undefined;
  readonly availabilityZone: string | undefined;
  /** The suffix of host names given instead of addresses with PROXY protocol; undefined = addresses. */
  readonly ingressHostnameSuffix: string | undefined;
  /** Services on one load balancer. */
  readonly maxShared: number;
  readonly defaultTlsContainerRef: string | undefined;
  /** The references are Barbican's URLs; those of another store are passed on to Octavia as they are. */
  readonly barbican: boolean;
  /** The provider takes one object in one call: no load balancer with its parts, no batches of members. */
  readonly serialCalls: boolean;
}

const placementKeys = {
  floatingNetworkId: 'floating-network-id',
  floatingSubnetId: 'floating-subnet-id',
  floatingSubnet: 'floating-subnet',
  floatingSubnetTags: 'floating-subnet-tags',
  networkId: 'network-id',
  subnetId: 'subnet-id',
  memberSubnetId: 'member-subnet-id',
} as const satisfies Record<keyof Placement, string>;

export const loadBalancerClassKeys: ReadonlySet<string> = new Set(Object.values(placementKeys));
export const loadBalancerKeys: ReadonlySet<string> = new Set([
  ...loadBalancerClassKeys,
  'enabled',
  'lb-version',
  'lb-provider',
  'lb-method',
  'internal-lb',
  'create-monitor',
  'monitor-delay',
  'monitor-timeout',
  'monitor-max-retries',
  'monitor-max-retries-down',
  'manage-security-groups',
  'node-selector',
  'cascade-delete',
  'flavor-id',
  'availability-zone',
  'enable-ingress-hostname',
  'ingress-hostname-suffix',
  'max-shared-lb',
  'default-tls-container-ref',
  'container-store',
  'provider-requires-serial-api-calls',
]);

const methods = ['ROUND_ROBIN', 'LEAST_CONNECTIONS', 'SOURCE_IP', 'SOURCE_IP_PORT'] as const;
const knownProviders: ReadonlySet<string> = new Set(['amphora', 'octavia', 'amphorav2', 'ovn', 'f5']);

/**
 * Absent sections and keys mean upstream's defaults; `ovn` has its own only method.
 *
 * @throws CloudConfigError naming file, line, section, key, value and what was expected
 */
export function loadBalancerConfigOf(file: GcfgFile): { config: LoadBalancerConfig; warnings: readonly string[] } {
  const section = readSection(file, 'LoadBalancer');
  const flag = (key: string, byDefault: boolean) => section.boolean(key) ?? byDefault;
  oneOf(section, 'lb-version', ['v2']);
  const store = section.text('container-store') ?? 'barbican';
  const provider = section.text('lb-provider') ?? 'amphora';
  const config: LoadBalancerConfig = {
    enabled: flag('enabled', true),
    provider,
    method: oneOf(section, 'lb-method', methods) ?? (provider === 'ovn' ? 'SOURCE_IP_PORT' : 'ROUND_ROBIN'),
    placement: placementOf(section),
    classes: classesOf(file),
    internal: flag('internal-lb', false),
    monitor: {
      create: flag('create-monitor', false),
      delaySeconds: seconds(section, 'monitor-delay', 5),
      timeoutSeconds: seconds(section, 'monitor-timeout', 3),
      maxRetries: integer(section, 'monitor-max-retries', 1, [1, 10]),
      maxRetriesDown: integer(section, 'monitor-max-retries-down', 3, [1, 10]),
    },
    manageSecurityGroups: flag('manage-security-groups', false),
    nodeSelector: nodeSelectorOf(section),
    cascadeDelete: flag('cascade-delete', true),
    flavorId: uuidOf(section, 'flavor-id'),
    availabilityZone: section.text('availability-zone'),
    ingressHostnameSuffix: flag('enable-ingress-hostname', false)
      ? (section.text('ingress-hostname-suffix') ?? 'nip.io')
      : undefined,
    maxShared: integer(section, 'max-shared-lb', 2, [1, 1000]),
    defaultTlsContainerRef: section.text('default-tls-container-ref'),
    barbican: store === 'barbican',
    serialCalls: flag('provider-requires-serial-api-calls', false),
  };
  const { method } = config;
  if (provider === 'ovn' && method !== 'SOURCE_IP_PORT') {
    throw section.error('lb-method', `${JSON.stringify(method)}, expected SOURCE_IP_PORT with lb-provider ovn`);
  }
  const warnings = [
    ...strange('lb-provider', provider, [...knownProviders]),
    ...strange('container-store', store, ['barbican', 'external']),
  ];
  return { config, warnings };
}

function strange(key: string, value: string, known: readonly string[]): readonly string[] {
  return known.includes(value)
    ? []
    : [`[LoadBalancer] ${key}: ${JSON.stringify(value)} is none of ${known.join(', ')}`];
}

function placementOf(section: GcfgReader): Placement {
  const placement: Partial<Record<keyof Placement, string>> = {};
  for (const [name, key] of Object.entries(placementKeys) as [keyof Placement, string][]) {
    const value = key.endsWith('-id') ? uuidOf(section, key) : section.text(key);
    if (value !== undefined) placement[name] = value;
  }
  return placement;
}

function classesOf(file: GcfgFile): ReadonlyMap<string, Placement> {
  const classes = new Map<string, Placement>();
  for (const { name, subsection } of file.sections) {
    if (name !== 'loadbalancerclass') continue;
    if (!subsection) {
      throw new CloudConfigError(
        `${file.path}: [LoadBalancerClass]: expected a name, as in [LoadBalancerClass "internal"]`,
      );
    }
    classes.set(subsection, placementOf(readSection(file, 'LoadBalancerClass', subsection)));
  }
  return classes;
}

function nodeSelectorOf(section: GcfgReader): LoadBalancerConfig['nodeSelector'] {
  const text = section.text('node-selector') ?? '';
  return text.split(',').flatMap((part) => {
    const item = part.trim();
    if (item === '') return [];
    const [key = '', ...rest] = item.split('=');
    if (key.trim() === '' || rest.length > 1) {
      throw section.error('node-selector', `${JSON.stringify(text)}, expected labels such as role=ingress,gpu`);
    }
    return [{ key: key.trim(), value: rest[0]?.trim() || undefined }];
  });
}

function oneOf<Word extends string>(section: GcfgReader, key: string, words: readonly Word[]): Word | undefined {
  const value = section.text(key);
  const word = words.find((known) => known === value);
  if (value === undefined || word !== undefined) return word;
  throw section.error(
    key,
    `${JSON.stringify(value)}, expected ${words.length === 1 ? '' : 'one of '}${words.join(', ')}`,
  );
}

function integer(
  section: GcfgReader,
  key: string,
  byDefault: number,
  [least, most]: readonly [number, number],
): number {
  const value = section.text(key);
  if (value === undefined) return byDefault;
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw section.error(key, `${JSON.stringify(value)}, expected a whole number from ${least} to ${most}`);
}

/** Octavia takes whole seconds. */
function seconds(section: GcfgReader, key: string, byDefault: number): number {
  const ms = section.durationMs(key);
  if (ms === undefined) return byDefault;
  if (ms >= 1000) return Math.floor(ms / 1000);
  throw section.error(key, `${JSON.stringify(section.text(key))}, expected at least 1s`);
}
