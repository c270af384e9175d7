import type { compute_v1 } from '@googleapis/compute';
import type { Maintenance, NodeAddress, PowerState } from '../../../common/instance.ts';
import { gceRegion, gce as providerId } from '../../../common/provider-id/gce.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { addressIn } from '../answer-values.ts';
import { distinctAddresses, type Seen } from '../machines.ts';
import { fieldsOf, lastSegment } from './client.ts';
import type { GceConfig } from './config.ts';
import { cloud } from './fault.ts';

export interface InstanceView {
  /** The project's id. */
  readonly project: string;
  readonly ipv6First: boolean;
}

const interfaceFields = fieldsOf<Interface>('network', 'networkIP', 'ipv6Address', 'ipv6AccessType', 'aliasIpRanges');
const upcomingFields = fieldsOf<Upcoming>('type', 'maintenanceStatus', 'windowStartTime', 'windowEndTime');
/** What is asked for: metadata alone may have 512 KiB a VM. */
export const instanceFields = [
  fieldsOf<Vm>('id', 'name', 'zone', 'status', 'machineType', 'hostname', 'canIpForward', 'labels'),
  `networkInterfaces(${interfaceFields},accessConfigs/natIP,ipv6AccessConfigs/externalIpv6)`,
  'resourceStatus/effectiveInstanceMetadata/vmDnsSettingMetadataValue',
  `resourceStatus/upcomingMaintenance(${upcomingFields})`,
].join();
type Vm = compute_v1.Schema$Instance;
type Interface = compute_v1.Schema$NetworkInterface;
type Upcoming = compute_v1.Schema$UpcomingMaintenance;

/** PENDING_STOP, STOPPING, SUSPENDING, STAGING, ... change. A preempted VM is TERMINATED. */
const powers: Readonly<Record<string, PowerState>> = {
  RUNNING: 'running',
  STOPPED: 'stopped',
  SUSPENDED: 'suspended',
  TERMINATED: 'stopped',
};

/** The VM's id here: names are unique within project and zone. Throws a CloudError `Invalid`. */
export function idOf(vm: AnswerFields, { project }: Pick<InstanceView, 'project'>): string {
  return `${project}/${lastSegment(vm.text('zone'))}/${vm.text('name')}`;
}

/** A VM as the API shows it. Throws a CloudError `Invalid` that names the field. */
export function readInstance(vm: AnswerFields, request: 'list' | 'id', view: InstanceView): Seen {
  const id = idOf(vm, view);
  const zone = lastSegment(vm.text('zone'));
  return {
    state: 'found',
    power: powers[vm.text('status')] ?? 'changing',
    request,
    instance: {
      cloud,
      id,
      name: vm.text('name'),
      providerID: providerId.print({ instanceId: id }),
      // A VM that is created again under the same name has another number.
      incarnation: vm.text('id'),
      zone,
      region: gceRegion(zone),
      type: lastSegment(vm.text('machineType')),
      addresses: addressesOf(vm, view, zone),
      podRanges: podRangesOf(vm),
      maintenance: maintenanceOf(vm),
      tags: vm.labels('labels'),
    },
  };
}

/** In the order of the agent and of the classic controller; alias ranges are pods' and are left out. */
function addressesOf(vm: AnswerFields, { project, ipv6First }: InstanceView, zone: string): NodeAddress[] {
  const [v4, v6]: NodeAddress[][] = [[], []];
  for (const nic of vm.objects('networkInterfaces')) {
    const internal = addressOf(nic, 'networkIP');
    if (internal !== undefined) v4!.push({ type: 'InternalIP', address: internal });
    for (const access of nic.optionalObjects('accessConfigs')) {
      const external = addressOf(access, 'natIP');
      if (external !== undefined) v4!.push({ type: 'ExternalIP', address: external });
    }
    const ipv6 = ipv6Of(nic);
    if (ipv6 !== undefined) v6!.push({ type: 'InternalIP', address: ipv6 });
  }
  const hostname = hostnameOf(vm, project, zone);
  const names: NodeAddress[] = [
    { type: 'InternalDNS', address: hostname },
    { type: 'Hostname', address: hostname },
  ];
  return distinctAddresses(ipv6First ? [...v6!, ...v4!, ...names] : [...v4!, ...names, ...v6!]);
}

/**
 * The alias ranges of the first interface, and of its IPv6 range (a /96, whose first address is the VM's) the first
 * /112: as the classic allocator has it.
 */
function podRangesOf(vm: AnswerFields): string[] {
  const [nic] = vm.objects('networkInterfaces');
  const aliases = nic?.optionalObjects('aliasIpRanges').map((alias) => alias.text('ipCidrRange')) ?? [];
  const ipv6 = nic && ipv6Of(nic);
  return ipv6 === undefined ? aliases : [...aliases, `${ipv6}/112`];
}

/** Shown for VMs whose machine type lets maintenance be planned; live migration is announced to the VM alone. */
function maintenanceOf(vm: AnswerFields): Maintenance[] {
  const upcoming = vm.optionalObject('resourceStatus')?.optionalObject('upcomingMaintenance');
  if (upcoming === undefined) return [];
  const [start, end] = [upcoming.optionalText('windowStartTime'), upcoming.optionalText('windowEndTime')];
  const words = [upcoming.optionalText('type'), upcoming.optionalText('maintenanceStatus'), end && `until ${end}`];
  return [{ message: words.filter((word) => word !== undefined).join(', '), ...(start && { deadline: start }) }];
}

/** Both kinds of IPv6 address are the one that the VM has itself. */
function ipv6Of(nic: AnswerFields): string | undefined {
  if (nic.optionalText('ipv6AccessType') !== 'EXTERNAL') return addressOf(nic, 'ipv6Address');
  const access = nic.optionalObjects('ipv6AccessConfigs').at(-1);
  return access && addressOf(access, 'externalIpv6');
}

/**
 * The internal DNS name, as the metadata service tells it: the VM's own host name, or one in the zone or, in old
 * projects, in the project (cloud.google.com/compute/docs/internal-dns).
 */
function hostnameOf(vm: AnswerFields, project: string, zone: string): string {
  const own = vm.optionalText('hostname');
  if (own !== undefined) return own;
  const setting = vm
    .optionalObject('resourceStatus')
    ?.optionalObject('effectiveInstanceMetadata')
    ?.optionalText('vmDnsSettingMetadataValue');
  const [id = '', domain] = project.split(':').reverse();
  const inProject = `c.${domain === undefined ? id : `${id}.${domain}`}.internal`;
  const isGlobal = setting?.replaceAll('_', '').toLowerCase() === 'globaldefault';
  return `${vm.text('name')}.${isGlobal ? '' : `${zone}.`}${inProject}`;
}

function addressOf(fields: AnswerFields, name: string): string | undefined {
  return fields.optionalText(name) === undefined ? undefined : addressIn(fields, name);
}

/** Whether a name may mean a VM in this zone. */
export function isNamed(named: GceConfig['named'], zone: string): boolean {
  if (named === undefined) return true;
  return 'zone' in named ? named.zone === zone : named.region === gceRegion(zone);
}
