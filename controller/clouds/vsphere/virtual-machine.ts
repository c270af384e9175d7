import type { PowerState } from '../../../common/instance.ts';
import { childrenOf, childText, type Xml } from '../../../common/xml.ts';
import { chooseAddresses } from './addresses.ts';
import type { Family, Role } from './config.ts';
import { configuredAddresses } from './guest-metadata.ts';
import { type Row, refOf } from './soap.ts';

export type VirtualMachine = NonNullable<ReturnType<typeof readVirtualMachine>>;

const metadata = 'config.extraConfig["guestinfo.metadata"]';
const encoding = 'config.extraConfig["guestinfo.metadata.encoding"]';
/** What `readVirtualMachine` reads. */
export const vmPaths: readonly string[] = [
  ...['uuid', 'name', 'guestId', 'numCpu', 'memorySizeMB'].map((name) => `summary.config.${name}`),
  'runtime.powerState',
  'runtime.host',
  'resourcePool',
  'parent',
  'guest.hostName',
  'guest.net',
  metadata,
  encoding,
];

/** One VM for a Node. Undefined for a row that lacks what every VM has: it is being made, or may not be read. */
export function readVirtualMachine(
  { values }: Row,
  rules: { readonly families: readonly Family[]; readonly roles: readonly Role[] },
) {
  const text = (path: string) => values.get(path)?.text || undefined;
  const option = (path: string) => childText(values.get(path), 'value') ?? text(path);
  const uuid = text('summary.config.uuid')?.toLowerCase();
  const state = text('runtime.powerState');
  if (uuid === undefined || state === undefined) return undefined;
  const power: PowerState = state === 'poweredOn' ? 'running' : state === 'suspended' ? 'suspended' : 'stopped';
  const order = configuredAddresses(option(metadata), option(encoding));
  const hostname = text('guest.hostName');
  const ips = chooseAddresses(guestAddresses(values.get('guest.net')), { ...rules, order });
  const addresses =
    hostname === undefined || ips === undefined
      ? undefined
      : [{ type: 'Hostname', address: hostname } as const, ...ips];
  const memory = Math.floor(Number(text('summary.config.memorySizeMB') ?? 0) / 1024);
  const os = guestOs(text('summary.config.guestId') ?? '');
  return {
    uuid,
    name: text('summary.config.name') ?? '',
    power,
    type: `vsphere-vm.cpu-${text('summary.config.numCpu') ?? 0}.mem-${memory}gb.os-${os}`,
    /** Undefined while it runs and VMware Tools tell no usable ones; none while it does not run. */
    addresses: power === 'running' ? addresses : [],
    /** Where to look for tags, the nearest first: its host, its resource pool, its folder. */
    places: ['runtime.host', 'resourcePool', 'parent'].flatMap((path) => refOf(values.get(path)) ?? []),
  };
}

/** Of interfaces of the VM's own hardware; what the guest has made itself, bridges and the like, has the key -1. */
function guestAddresses(net: Xml | undefined) {
  return childrenOf(net, 'GuestNicInfo').flatMap((nic) => {
    if (childText(nic, 'deviceConfigId') === '-1') return [];
    const network = childText(nic, 'network') ?? '';
    return childrenOf(nic, 'ipAddress').map(({ text }) => ({ address: text.trim(), network }));
  });
}

const systems = new Set([
  ...'asianux3 asianux4 asianux5 asianux7 centos centos6 centos7 coreos debian4 debian5 debian6 debian7'.split(' '),
  ...'debian8 debian9 debian10 fedora freebsd mandrake mandriva nld9 oes opensuse oracleLinux oracleLinux6'.split(' '),
  ...'oracleLinux7 other rhel2 rhel3 rhel4 rhel5 rhel6 rhel7 sjds sles sles10 sles11 sles12 solaris6'.split(' '),
  ...'solaris7 solaris8 solaris9 solaris10 solaris11 suse ubuntu'.split(' '),
]);
const renamed: ReadonlyMap<string, string> = new Map([
  ['redhat', 'rhel'],
  ['turboLinux', 'turbolinux'],
  ['vmwarePhoton', 'photon'],
  ['windows7Server', 'win7server'],
  ['windows8Server', 'win8server'],
  ['windows9Server', 'win10server'],
]);

/**
 * The short name that the classic controller has for a guest id; `unknown` for all that it does not know,
 * `rhel8_64Guest` among them.
 */
function guestOs(guestId: string): string {
  // Two that it does not cut.
  if (guestId === 'centos64Guest' || guestId === 'sles64Guest') return guestId.replace('Guest', '');
  const name = guestId.replace(/(_?64)?Guest(64)?$/, '');
  if (/^(generic|other(2[46]x|3x)?)Linux$/.test(name)) return 'linux';
  return renamed.get(name) ?? (systems.has(name) ? name : 'unknown');
}
