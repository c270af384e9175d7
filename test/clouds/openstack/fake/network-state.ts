/** A port; what is undefined is as a server's port has it. */
export interface FakePort {
  readonly id: string;
  readonly deviceId: string;
  readonly networkId: string;
  readonly status?: string;
  readonly ips: readonly string[];
  readonly subports?: readonly string[];
  /** `compute:nova`. */
  readonly deviceOwner?: string;
  readonly name?: string;
  readonly subnetId?: string;
  readonly mac?: string;
  /** True. */
  readonly portSecurity?: boolean;
  pairs?: readonly { readonly ip_address: string; readonly mac_address?: string }[];
  securityGroups?: readonly string[];
  tags?: readonly string[];
  revision?: number;
}

export interface FakeSubnet {
  readonly id: string;
  readonly networkId: string;
  readonly cidr: string;
  readonly name?: string;
  readonly tags?: readonly string[];
}

export interface FakeRoute {
  readonly destination: string;
  readonly nexthop: string;
}

/** A router; its interfaces are the ports whose device it is. */
export interface FakeRouter {
  readonly id: string;
  routes: readonly FakeRoute[];
  revision: number;
}
