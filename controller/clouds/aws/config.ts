import type { CloudConfigError, CloudConfigFile } from '../cloud.ts';
import { type GcfgFile, parseGcfg, readSection } from '../gcfg.ts';
import { undocumented } from './config-section.ts';
import { healthProbeOf, idOf, managedSecurityGroupsOf, topologyTypesOf } from './config-values.ts';
import { overridable, overriddenServices } from './overridden-services.ts';
import type { ServiceId } from './service-id.ts';

export type IpFamily = 'ipv4' | 'ipv6';

/** One `[ServiceOverride "n"]`: another endpoint for one service of one region. */
export interface ServiceOverride {
  readonly service: ServiceId;
  readonly region: string;
  readonly url: string;
  readonly signingRegion: string;
  readonly signingName: string | undefined;
}

/** The cloud config of the classic AWS controller, complete with its defaults. */
export type AwsConfig = Readonly<ReturnType<typeof parseAwsConfig>>;

const arn = /^arn:aws[\w-]*:iam::(\d{12}):role\/.+$/;

/**
 * Reads the INI cloud config of the classic AWS controller. Without a file everything has its default.
 *
 * @throws CloudConfigError
 */
export function parseAwsConfig(file: CloudConfigFile | undefined) {
  const gcfg: GcfgFile = file === undefined ? { path: '', sections: [] } : parseGcfg(file.text, file.path);
  const global = readSection(gcfg, 'Global');
  const roleArn = global.text('RoleARN');
  if (roleArn !== undefined && !arn.test(roleArn)) {
    throw global.error('RoleARN', `${JSON.stringify(roleArn)}, expected arn:aws:iam::<account>:role/<name>`);
  }
  const sourceArn = global.text('SourceARN');
  if (sourceArn !== undefined && roleArn === undefined)
    throw global.error('SourceARN', `${JSON.stringify(sourceArn)} has no meaning alone, expected RoleARN beside it`);
  const legacyTag = global.text('KubernetesClusterTag');
  const clusterId = global.text('KubernetesClusterID') ?? legacyTag;
  if (legacyTag !== undefined && clusterId !== legacyTag) {
    throw global.error(
      'KubernetesClusterTag',
      `${JSON.stringify(legacyTag)}, expected KubernetesClusterID ${clusterId}`,
    );
  }
  return {
    /** Where load balancers stand, with `subnetId`; undefined = where this machine stands. */
    vpc: idOf(global, 'VPC', 'vpc'),
    subnetId: idOf(global, 'SubnetID', 'subnet'),
    /** The one table for pod routes; undefined = the one with the cluster's tag. */
    routeTableId: idOf(global, 'RouteTableID', 'rtb'),
    /** Of the tag `kubernetes.io/cluster/<id>`; undefined = as this machine's own instance carries it. */
    clusterId,
    /** The legacy tag `KubernetesCluster=<id>` is written beside it. */
    legacyClusterTag: legacyTag !== undefined,
    /** The nodes' security groups are left alone. */
    disableSecurityGroupIngress: global.boolean('DisableSecurityGroupIngress') ?? false,
    /** One security group that all classic load balancers share; never edited, never deleted. */
    elbSecurityGroup: idOf(global, 'ElbSecurityGroup', 'sg'),
    /** Each network load balancer gets a security group of its own. */
    managedNlbSecurityGroups: managedSecurityGroupsOf(global),
    healthProbe: healthProbeOf(global),
    /** Types of which the place in the network becomes labels. */
    topologyTypes: topologyTypesOf(global),
    region: regionOf(global.text('Zone'), global.text('Region'), (problem) => global.error('Zone', problem)),
    roleArn,
    sourceArn,
    /** In the order in which their addresses stand on the Node. */
    nodeIpFamilies: families(global.list('NodeIPFamilies'), (problem) => global.error('NodeIPFamilies', problem)),
    serviceOverrides: serviceOverrides(gcfg),
    /** `[section] key` of unknown keys; for a warning. */
    unknown: undocumented(gcfg, file?.text ?? ''),
  };
}

/** The account a role belongs to. */
export function accountOfRole(roleArn: string): string | undefined {
  return arn.exec(roleArn)?.[1];
}

/** The region a zone lies in: `us-west-2` for `us-west-2a` and for the local zone `us-west-2-lax-1a`. */
export function regionOfZone(zone: string): string | undefined {
  return /^(?:[a-z]+-)+\d+/.exec(zone)?.[0];
}

function regionOf(
  zone: string | undefined,
  region: string | undefined,
  error: (problem: string) => CloudConfigError,
): { readonly name: string; readonly from: string } | undefined {
  if (zone !== undefined) {
    const name = regionOfZone(zone);
    if (name === undefined) throw error(`${JSON.stringify(zone)}, expected an availability zone such as eu-west-1a`);
    return { name, from: 'Zone of the cloud config' };
  }
  return region === undefined ? undefined : { name: region, from: 'Region of the cloud config' };
}

function families(values: readonly string[], error: (problem: string) => CloudConfigError): readonly IpFamily[] {
  if (values.length === 0) return ['ipv4'];
  return values.map((value) => {
    if (value !== 'ipv4' && value !== 'ipv6') throw error(`${JSON.stringify(value)}, expected ipv4 or ipv6`);
    return value;
  });
}

function serviceOverrides(gcfg: GcfgFile): readonly ServiceOverride[] {
  const overrides: ServiceOverride[] = [];
  for (const { name: title, subsection } of gcfg.sections) {
    if (title !== 'serviceoverride') continue;
    const section = readSection(gcfg, 'ServiceOverride', subsection);
    const needed = (key: string) => {
      const value = section.text(key);
      if (value === undefined) throw section.error(key, 'is missing, expected Service, Region, URL and SigningRegion');
      return value;
    };
    const name = needed('Service');
    const services = overriddenServices(name);
    if (services === undefined) throw section.error('Service', `${JSON.stringify(name)}, expected ${overridable}`);
    const common = {
      region: needed('Region'),
      url: needed('URL'),
      signingRegion: needed('SigningRegion'),
      signingName: section.text('SigningName'),
    };
    if (!/^https?:$/.test(URL.parse(common.url)?.protocol ?? '')) {
      throw section.error('URL', `${JSON.stringify(common.url)}, expected an http or https URL`);
    }
    if (overrides.some(({ service, region }) => services.includes(service) && region === common.region)) {
      throw section.error('Service', `${JSON.stringify(name)} has two overrides for ${common.region}, expected one`);
    }
    overrides.push(...services.map((service) => ({ service, ...common })));
  }
  return overrides;
}
