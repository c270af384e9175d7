import { isIP } from 'node:net';
import type { Instance } from '../common/instance.ts';

export const kubeletExtras = ['hostname-override', 'node-ip'] as const;
export type KubeletExtra = (typeof kubeletExtras)[number];

/**
 * Arguments for the kubelet of this instance. Throws a RangeError when the value of a requested one is unknown. Pure.
 */
export function kubeletArgs(instance: Instance, extras: readonly KubeletExtra[]): string[] {
  const args = [`--provider-id=${instance.providerID}`];
  if (extras.includes('hostname-override')) args.push(`--hostname-override=${nodeName(instance)}`);
  if (extras.includes('node-ip')) args.push(`--node-ip=${nodeIPs(instance).join(',')}`);
  return args;
}

/**
 * The name by which the cloud's controller would look up the Node: the VM's name, or, where VMs have none, its host
 * name.
 */
function nodeName({ name, addresses }: Instance): string {
  const found = (name ?? addresses.find(({ type }) => type === 'Hostname')?.address)?.toLowerCase();
  if (found === undefined) throw new RangeError('hostname-override: the metadata holds neither a name nor a host name');
  // The API server requires an RFC 1123 subdomain as the name of a Node.
  if (found.length > 253 || !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(found)) {
    throw new RangeError(`hostname-override: ${JSON.stringify(found)} cannot name a Node`);
  }
  return found;
}

/** The first internal address of each family, in the order in which the families appear. */
function nodeIPs({ addresses }: Instance): string[] {
  const internal = addresses.filter(({ type }) => type === 'InternalIP').map(({ address }) => address);
  const first = (family: number) => internal.find((address) => isIP(address) === family);
  const found = [...new Set(internal.map((address) => isIP(address)))].flatMap((family) => first(family) ?? []);
  if (found.length === 0) throw new RangeError('node-ip: the metadata holds no internal address');
  return found;
}
