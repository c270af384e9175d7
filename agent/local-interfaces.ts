import { networkInterfaces } from 'node:os';
import type { LocalInterface } from './metadata/source.ts';

/**
 * Interface names of container networks: pod links, bridges and tunnels. On a busy node they change every few seconds
 * and say nothing about the VM. (`eni` is the Amazon VPC CNI's, `azv` Azure's, `gke` Google's; a VM's own interfaces
 * are `eth…` or `en[osp]…`, and bridges that people name, such as `br-ex`. On Windows the machine's own one may become
 * `vEthernet (Ethernet)`, beside those of the container networks.)
 */
const podNetwork = new RegExp(
  '^(lo$|veth|cali|cilium|lxc|docker|br-([0-9a-f]{12}|int)$|cni|flannel|tunl|vxlan|kube-|nodelocaldns|virbr|tap|' +
    'eni[0-9a-f]|azv|gke|dummy|ovs-|ovn|genev|antrea|weave|wg-v6\\.cali|wireguard\\.cali|' +
    'vEthernet \\((nat|HNS Internal NIC|[^)]*_ep)\\))',
);

/** The current interfaces of the machine itself, without those of its pods. */
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
