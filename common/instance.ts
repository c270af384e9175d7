/** The address types Kubernetes knows on a Node. */
export const nodeAddressTypes = ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'] as const;
export type NodeAddressType = (typeof nodeAddressTypes)[number];

export interface NodeAddress {
  readonly type: NodeAddressType;
  readonly address: string;
}

/**
 * One VM, as its metadata service or its cloud's API describes it. An absent field is unknown, never empty:
 * nothing is written from it and nothing written earlier is taken away for it.
 */
export interface Instance {
  /** The cloud's name in `--cloud-provider`. */
  readonly cloud: string;
  /** The cloud's own id of the VM, as its API takes it. */
  readonly id: string;
  /** What `spec.providerID` of its Node must be. */
  readonly providerID: string;
  /**
   * What changes when a VM is rebuilt under the same name or id: GCE numeric id, Azure vmId, EC2 id, Nova uuid.
   * Unknown where the source does not tell.
   */
  readonly incarnation?: string;
  /** The VM's name in the cloud. */
  readonly name?: string;
  readonly zone?: string;
  readonly region?: string;
  /** Machine type, flavour or size: becomes `node.kubernetes.io/instance-type`. */
  readonly type?: string;
  /** In the order in which they should stand in the Node's status; no duplicates of (type, address). */
  readonly addresses: readonly NodeAddress[];
  /**
   * The cloud does not know the internal addresses of its machines: those that the kubelet wrote stay on the Node.
   * Default: it does.
   */
  readonly keepsInternalIPs?: boolean;
  /** Labels of the cloud's own, beyond type, zone and region. Reserved namespaces are dropped when written. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The SMBIOS UUID the guest sees, lower case, where the cloud's API tells it. */
  readonly smbiosUuid?: string;
}

/** What a cloud says about a VM's power; `changing` covers every state on the way between the others. */
export type PowerState = 'running' | 'stopped' | 'changing';

/** A cloud's announcement that it will interrupt a VM. */
export interface Notice {
  readonly kind: 'preemption' | 'maintenance' | 'termination' | 'rebalance';
  /** ISO 8601; when the interruption comes, where the cloud says so. */
  readonly deadline?: string;
  readonly message?: string;
}
