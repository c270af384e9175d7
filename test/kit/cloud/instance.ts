import type { Notice } from '../../../common/instance.ts';

/** The states a simulated VM goes through. After `terminated` it is still shown for a while, then forgotten. */
export type PowerState = 'pending' | 'running' | 'stopping' | 'stopped' | 'shutting-down' | 'terminated';

/** One network interface. The one with the lowest `index` is the primary one. */
export interface NetworkInterface {
  readonly index: number;
  /** Lower case, colon form. */
  readonly mac: string;
  /** IPv4 and IPv6, the preferred one first. */
  readonly internal: readonly string[];
  readonly external: readonly string[];
}

/** One VM at one moment. Records are never changed in place: each change makes a new one. */
export interface SimulatedInstance {
  readonly id: string;
  readonly name: string;
  /** Changes when the VM is rebuilt, even under the same id or name. */
  readonly incarnation: string;
  readonly project: string;
  readonly region: string;
  readonly zone: string;
  readonly type: string;
  readonly power: PowerState;
  readonly hostname: string;
  readonly internalDns: readonly string[];
  readonly externalDns: readonly string[];
  readonly interfaces: readonly NetworkInterface[];
  /** Absent where the cloud does not tell it. */
  readonly smbiosUuid?: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly notices: readonly Notice[];
  /** RFC 3339. */
  readonly createdAt: string;
  /** Position in lists: the order of creation, kept for life. */
  readonly serial: number;
}

/** What a VM is created from; everything left out is chosen by the cloud. */
export interface InstanceSpec {
  readonly project?: string;
  readonly region?: string;
  readonly zone?: string;
  readonly id?: string;
  readonly name?: string;
  readonly type?: string;
  readonly power?: PowerState;
  readonly hostname?: string;
  readonly internalDns?: readonly string[];
  readonly externalDns?: readonly string[];
  readonly interfaces?: readonly Partial<NetworkInterface>[];
  /** How many interfaces to allocate when `interfaces` is not given. */
  readonly interfaceCount?: number;
  /** Allocate an external IPv4 address on the primary interface. */
  readonly external?: boolean;
  /** Allocate an IPv6 address beside each IPv4 one. */
  readonly dualStack?: boolean;
  /** null = this cloud does not tell it, for agents that run on another machine than their VM. */
  readonly smbiosUuid?: string | null;
  readonly tags?: Readonly<Record<string, string>>;
  readonly notices?: readonly Notice[];
}

/** The address part of an instance, as `setAddresses` takes it. What is left out stays as it is. */
export interface AddressChange {
  readonly hostname?: string;
  readonly internalDns?: readonly string[];
  readonly externalDns?: readonly string[];
  readonly interfaces?: readonly Partial<NetworkInterface>[];
}

export type ModelErrorKind = 'not-found' | 'conflict' | 'invalid';

/** What the model refuses. `kind` decides the HTTP status; the message names the field and the value. */
export class ModelError extends Error {
  readonly kind: ModelErrorKind;

  constructor(kind: ModelErrorKind, message: string) {
    super(message);
    this.name = 'ModelError';
    this.kind = kind;
  }
}
