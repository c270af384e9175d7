import { randomUUID } from 'node:crypto';

/** A VM as the engine keeps it. */
export interface FakeVm {
  readonly id: string;
  name: string;
  /** As the guest agent reports it. */
  fqdn: string | undefined;
  status: string;
  host: string | undefined;
  /** Of its one NIC, as the guest agent reports them. */
  addresses: string[];
}

export interface FakeInventory {
  readonly vms: Map<string, FakeVm>;
  addVm(name: string, more?: Partial<FakeVm>): FakeVm;
}

export const hostId = '6f1c9d0e-2b7a-4a55-9c3e-0d1f2a3b4c5d';
export const clusterId = '1b2c3d4e-5f60-4711-8a9b-0c1d2e3f4051';
export const dataCenterId = '9a8b7c6d-5e4f-4321-8765-43210fedcba9';
const base = '/ovirt-engine/api';

export type Wire = Record<string, unknown>;

export function createInventory(): FakeInventory {
  const vms = new Map<string, FakeVm>();
  return {
    vms,
    addVm(name, more = {}) {
      const id = more.id ?? randomUUID();
      const addresses = [`10.1.0.${vms.size + 1}`, 'fe80::1'];
      const vm = { id, name, fqdn: undefined, status: 'up', host: hostId, addresses, ...more };
      vms.set(id, vm);
      return vm;
    },
  };
}

/** Numbers are texts, as the engine writes them. @param withNics it was asked to follow them */
export function vmOf({ id, name, fqdn, status, host, addresses }: FakeVm, withNics: boolean): Wire {
  const href = `${base}/vms/${id}`;
  const isUp = status === 'up';
  return {
    id,
    href,
    name,
    status,
    memory: String(4 * 1024 ** 3),
    ...(fqdn === undefined ? {} : { fqdn }),
    cpu: { topology: { cores: '1', sockets: '2', threads: '1' } },
    cluster: { id: clusterId, href: `${base}/clusters/${clusterId}` },
    ...(host !== undefined && isUp ? { host: { id: host, href: `${base}/hosts/${host}` } } : {}),
    ...(withNics ? { nics: { nic: [nicOf(id, isUp ? addresses : [])] } } : {}),
    link: withNics ? [] : [{ rel: 'nics', href: `${href}/nics` }],
  };
}

export function nicOf(vm: string, addresses: readonly string[]): Wire {
  const mac = { address: '56:6f:1a:2b:00:01' };
  const id = vm.replace(/^.{8}/, '00000001');
  const ip = addresses.map((address) => ({ address, version: address.includes(':') ? 'v6' : 'v4' }));
  const device = { id, name: 'eth0', mac, type: 'network', ips: { ip } };
  return {
    id,
    href: `${base}/vms/${vm}/nics/${id}`,
    name: 'nic1',
    mac,
    interface: 'virtio',
    plugged: 'true',
    ...(addresses.length === 0 ? {} : { reported_devices: { reported_device: [device] } }),
  };
}

export const placesOf: Readonly<Record<string, Wire>> = {
  '/hosts': { host: [{ id: hostId, href: `${base}/hosts/${hostId}`, name: 'host-1', status: 'up' }] },
  '/clusters': {
    cluster: [
      {
        id: clusterId,
        href: `${base}/clusters/${clusterId}`,
        name: 'rack-1',
        data_center: { id: dataCenterId, href: `${base}/datacenters/${dataCenterId}` },
      },
    ],
  },
  '/datacenters': {
    data_center: [{ id: dataCenterId, href: `${base}/datacenters/${dataCenterId}`, name: 'helsinki' }],
  },
};
