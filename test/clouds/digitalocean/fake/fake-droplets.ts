import type { Json } from '../../fake-http.ts';

export interface FakeDroplet {
  readonly id: number;
  name: string;
  status: 'new' | 'active' | 'off' | 'archive';
  readonly createdAt: string;
  readonly region: string;
  readonly vpc: string;
  readonly isGpu: boolean;
  readonly size: string;
  readonly networks: { readonly v4: readonly Json[]; readonly v6: readonly Json[] };
}

/** With every field that the API requires of its answers. */
export function showDroplet({ id, name, status, createdAt, region, vpc, size, networks }: FakeDroplet): Json {
  return {
    id,
    name,
    status,
    memory: 2048,
    vcpus: 2,
    disk: 60,
    locked: false,
    created_at: createdAt,
    kernel: null,
    features: ['private_networking', 'ipv6'],
    backup_ids: [],
    snapshot_ids: [],
    volume_ids: [],
    tags: ['k8s'],
    next_backup_window: null,
    vpc_uuid: vpc,
    networks,
    region: showRegion(region),
    size_slug: size,
    size: {
      slug: size,
      memory: 2048,
      vcpus: 2,
      disk: 60,
      transfer: 3,
      price_monthly: 18,
      price_hourly: 0.02679,
      regions: [region],
      available: true,
      description: 'Basic',
    },
    image: {
      id: 63_663_980,
      name: '22.04 (LTS) x64',
      type: 'base',
      distribution: 'Ubuntu',
      slug: 'ubuntu-22-04-x64',
      public: true,
      regions: [region],
      created_at: createdAt,
      min_disk_size: 20,
      size_gigabytes: 2.36,
      description: '',
      tags: [],
      status: 'available',
      error_message: '',
    },
  };
}

export function showRegion(slug: string): Json {
  return { name: slug.toUpperCase(), slug, features: ['metadata'], available: true, sizes: ['s-2vcpu-2gb'] };
}

/** Addresses of the networks of one droplet: private and public IPv4, public IPv6. */
export function networksOf(id: number): FakeDroplet['networks'] {
  const [high, low] = [(id >> 8) % 250, id % 250];
  return {
    v4: [
      { ip_address: `198.51.${high}.${low}`, netmask: '255.255.240.0', gateway: '198.51.100.1', type: 'public' },
      { ip_address: `10.108.${high}.${low}`, netmask: '255.255.240.0', gateway: '10.108.0.1', type: 'private' },
    ],
    v6: [
      {
        ip_address: `2001:db8:0:1010::${high.toString(16)}:${low.toString(16)}`,
        netmask: 64,
        gateway: '2001:db8:0:1010::1',
        type: 'public',
      },
    ],
  };
}
