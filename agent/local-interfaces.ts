import { networkInterfaces } from 'node:os';
import type { LocalInterface } from './metadata/source.ts';

/**
 * Names that container networks give to their ends of pod links, bridges and tunnels. On a busy node these come and go every few seconds and say nothing about
 * the VM. (`eni` is the Amazon VPC CNI's, `azv` Azure's, `gke` Google's; a VM's own interfaces are `eth…` or `en[osp]…`.)
 */
const podNetwork =
  /^(lo$|veth|cali|cilium|lxc|docker|br-|cni|flannel|tunl|vxlan|kube-|nodelocaldns|virbr|tap|eni[0-9a-f]|azv|gke|dummy|ovs-|ovn|genev|antrea|weave|wg)/;

/** The interfaces that belong to the machine rather than to its pods, as the kernel knows them now. */
export function readLocalInterfaces(read: typeof networkInterfaces = networkInterfaces): LocalInterface[] {
  const interfaces: LocalInterface[] = [];
  for (const [name, entries] of Object.entries(read())) {
    if (entries === undefined || entries.length === 0 || podNetwork.test(name) || entries[0]!.internal) continue;
    interfaces.push({
      name,
      mac: entries[0]!.mac.toLowerCase(),
      addresses: entries.map(({ address }) => address.split('%')[0]!),
    });
  }
  return interfaces;
}
