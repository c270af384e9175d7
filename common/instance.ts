/** The address types Kubernetes knows on a Node. */
export const nodeAddressTypes = ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'] as const;
export type NodeAddressType = (typeof nodeAddressTypes)[number];

export interface NodeAddress {
  readonly type: NodeAddressType;
  readonly address: string;
}

/**
 * One VM, as described by its metadata service or its cloud's API. An absent field is unknown, not empty: it writes
 * nothing, and removes nothing that was written earlier.
 */
export interface Instance {
  /** The cloud's name in `--cloud-provider`. */
  readonly cloud: string;
  /** The cloud's own id of the VM, as its API takes it. */
  readonly id: string;
  /** What `spec.providerID` of its Node must be. */
  readonly providerID: string;
  /**
   * A value that changes when a VM is rebuilt under the same name or id: GCE numeric id, Azure vmId, EC2 id, Nova uuid.
   * Unknown where the source does not contain it.
   */
  readonly incarnation?: string;
  /** The VM's name in the cloud. */
  readonly name?: string;
  readonly zone?: string;
  readonly region?: string;
  /**
   * Why the cloud could not tell zone and region, as text for people: a Node that waits for initialisation waits for
   * them, and an initialised one keeps its own. Undefined: what is absent does not exist.
   */
  readonly placeUnknown?: string;
  /**
   * Of a lookup by name: why other machines of that name could not be excluded, as text for people. It is believed only
   * where the UUIDs of machine and Node agree.
   */
  readonly namesakesUnknown?: string;
  /** Machine type, flavour or size: becomes `node.kubernetes.io/instance-type`. */
  readonly type?: string;
  /** In the order for the Node's status; no duplicates of (type, address). */
  readonly addresses: readonly NodeAddress[];
  /**
   * The cloud does not know the internal addresses of its machines: those that the kubelet wrote stay on the Node.
   * Default: it does.
   */
  readonly keepsInternalIPs?: boolean;
  /**
   * Ranges of pod addresses that the cloud delivers to this VM without routes (GCE: alias ranges), as the cloud spells
   * them. Undefined: the source does not show any, empty: the VM has none.
   */
  readonly podRanges?: readonly string[];
  /**
   * Maintenance that the cloud's API announces for this VM; none of it ends the VM. Undefined: the source does not show
   * any, empty: none is announced.
   */
  readonly maintenance?: readonly Maintenance[];
  /** Labels of the cloud's own, beyond type, zone and region. Reserved namespaces are dropped when written. */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * What the cloud calls tags, labels or metadata of the VM, as its API has them. Undefined: the source does not show
   * any, empty: there are none.
   */
  readonly tags?: Readonly<Record<string, string>>;
  /** The SMBIOS UUID in the guest, lower case, where the cloud's API has it. */
  readonly smbiosUuid?: string;
}

/** Maintenance of a VM or its host, as the cloud's API shows it. */
export interface Maintenance {
  /** When it begins, in ISO 8601, where the cloud says so. */
  readonly deadline?: string;
  readonly message: string;
}

/**
 * A VM's power state, as the cloud reports it; `changing` covers all transitions. `suspended`: off, and its memory is
 * kept, so that its processes go on when it is resumed.
 */
export type PowerState = 'running' | 'stopped' | 'suspended' | 'changing';

/** A cloud's announcement that it will interrupt a VM. */
export interface Notice {
  readonly kind: 'preemption' | 'maintenance' | 'termination' | 'rebalance';
  /** The time of the interruption in ISO 8601, where the cloud announces it. */
  readonly deadline?: string;
  readonly message?: string;
}
